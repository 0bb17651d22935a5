// Writes each sample object twice, by Kubernetes' own code: as protobuf, and as JSON of what that code
// reads back from the protobuf. See README.md.
package main

import (
	"bytes"
	"encoding/json"
	"os"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func ptr[T any](value T) *T { return &value }

func check(err error) {
	if err != nil {
		panic(err)
	}
}

var moment = time.Date(2024, time.February, 29, 23, 59, 58, 123456789, time.UTC)

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{"app": name, "empty": ""}}
}

func template() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
	}
}

func pod() *corev1.Pod {
	object := &corev1.Pod{ObjectMeta: meta("rich")}
	object.Annotations = map[string]string{"text": "ä\n\"</script>\u2028"}
	object.CreationTimestamp = metav1.NewTime(moment)
	object.DeletionTimestamp = ptr(metav1.NewTime(time.Unix(-1, 0)))
	object.DeletionGracePeriodSeconds = ptr[int64](0)
	object.Finalizers = []string{"example.com/hold"}
	object.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "n", UID: "u", Controller: ptr(false)}}
	object.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: "kubectl", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", Time: ptr(metav1.NewTime(moment)),
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{".":{},"f:app":{}}}}`),
	}}
	object.Spec = corev1.PodSpec{
		TerminationGracePeriodSeconds: ptr[int64](0),
		ActiveDeadlineSeconds:         ptr[int64](1 << 40),
		NodeSelector:                  map[string]string{"zone": "a"},
		ServiceAccountName:            "builder",
		AutomountServiceAccountToken:  ptr(false),
		HostNetwork:                   true,
		SecurityContext: &corev1.PodSecurityContext{RunAsUser: ptr[int64](0), RunAsNonRoot: ptr(false),
			SupplementalGroups: []int64{0, 1, -1, 1 << 33}, Sysctls: []corev1.Sysctl{{Name: "a", Value: ""}}},
		Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: -3,
				PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{}}}}}},
		Tolerations:       []corev1.Toleration{{Operator: corev1.TolerationOpExists, TolerationSeconds: ptr[int64](-5)}},
		HostAliases:       []corev1.HostAlias{{IP: "10.0.0.1", Hostnames: []string{"a", ""}}},
		Overhead:          corev1.ResourceList{"cpu": resource.MustParse("250m")},
		ReadinessGates:    []corev1.PodReadinessGate{{ConditionType: "example.com/ready"}},
		RestartPolicy:     corev1.RestartPolicyNever,
		Priority:          ptr[int32](-2147483648),
		SetHostnameAsFQDN: ptr(true),
		OS:                &corev1.PodOS{Name: corev1.Linux},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone",
			WhenUnsatisfiable: corev1.DoNotSchedule, MinDomains: ptr[int32](0)}},
		Volumes: []corev1.Volume{
			{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: ptr(resource.MustParse("1.5Gi"))}}},
			{Name: "empty", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "none"},
			{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}, DefaultMode: ptr[int32](0o644),
				Items: []corev1.KeyToPath{{Key: "a", Path: "b", Mode: ptr[int32](0)}}}}},
			{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: ptr[int64](3607)}},
				{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{Path: "cpu",
					ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu"}}}}}}}}},
			{Name: "claim", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
				VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: ptr("")}}}}},
		},
		InitContainers: []corev1.Container{{Name: "prepare"}},
		Containers: []corev1.Container{{
			Name: "main", Image: "web:1", Command: []string{"sh", "-c", ""}, TTY: true,
			Ports: []corev1.ContainerPort{{ContainerPort: 80, Protocol: corev1.ProtocolTCP}},
			EnvFrom: []corev1.EnvFromSource{{Prefix: "P_", SecretRef: &corev1.SecretEnvSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: "s"}, Optional: ptr(false)}}},
			Env: []corev1.EnvVar{{Name: "PLAIN", Value: "1"}, {Name: "EMPTY"}, {Name: "KEY", ValueFrom: &corev1.EnvVarSource{
				SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}, Key: "k"}}},
				{Name: "CPU", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{
					Resource: "limits.cpu", Divisor: resource.MustParse("1m")}}}},
			Resources: corev1.ResourceRequirements{
				Limits:   corev1.ResourceList{"cpu": resource.MustParse("0.5"), "memory": resource.MustParse("1e3"), "x": resource.Quantity{}},
				Requests: corev1.ResourceList{"memory": resource.MustParse("128Mi")}},
			VolumeMounts: []corev1.VolumeMount{{Name: "scratch", MountPath: "/tmp", ReadOnly: true}},
			LivenessProbe: &corev1.Probe{InitialDelaySeconds: 5, TerminationGracePeriodSeconds: ptr[int64](1),
				ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromString("http"),
					HTTPHeaders: []corev1.HTTPHeader{{Name: "A", Value: "b"}}}}},
			ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(0)}}},
			StartupProbe:   &corev1.Probe{ProbeHandler: corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 1, Service: ptr("")}}},
			Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"true"}},
				Sleep: &corev1.SleepAction{}}},
			SecurityContext: &corev1.SecurityContext{Privileged: ptr(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
		}},
		EphemeralContainers: []corev1.EphemeralContainer{{TargetContainerName: "main",
			EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug", Stdin: true}}},
	}
	object.Status = corev1.PodStatus{
		Phase:      corev1.PodRunning,
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(moment)}},
		PodIPs:     []corev1.PodIP{{IP: "10.0.0.7"}},
		StartTime:  &metav1.Time{},
		ContainerStatuses: []corev1.ContainerStatus{{Name: "main", Started: ptr(false), State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: -1}}}},
	}
	return object
}

func definition() *apiextensionsv1.CustomResourceDefinition {
	text := apiextensionsv1.JSONSchemaProps{Type: "string", MinLength: ptr[int64](0), Pattern: "^a$",
		Enum: []apiextensionsv1.JSON{{Raw: []byte(`"a"`)}, {Raw: []byte(`null`)}, {}}}
	number := apiextensionsv1.JSONSchemaProps{Type: "number", Minimum: ptr(-0.5), Maximum: ptr(1e21), MultipleOf: ptr(5.0),
		ExclusiveMaximum: true, Default: &apiextensionsv1.JSON{Raw: []byte(`{"b":[1,2.50,{"a":null}]}`)}}
	root := &apiextensionsv1.JSONSchemaProps{
		Type: "object", Required: []string{"text"}, Description: "words",
		XPreserveUnknownFields: ptr(false), XMapType: ptr("atomic"), Nullable: true,
		Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"text": text, "number": number,
			"list":   {Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &text}, XListMapKeys: []string{"k"}, XListType: ptr("map")},
			"tuple":  {Items: &apiextensionsv1.JSONSchemaPropsOrArray{JSONSchemas: []apiextensionsv1.JSONSchemaProps{text, {}}}},
			"open":   {AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true}},
			"closed": {AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{}},
			"typed":  {AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &number}},
			"tied": {Dependencies: apiextensionsv1.JSONSchemaDependencies{
				"a": {Property: []string{"b"}}, "b": {Schema: &text}, "c": {}}},
			"ruled": {XValidations: apiextensionsv1.ValidationRules{{Rule: "self > 0", OptionalOldSelf: ptr(false),
				Reason: ptr(apiextensionsv1.FieldValueInvalid)}}},
			"not": {Not: &text, AllOf: []apiextensionsv1.JSONSchemaProps{text, number}},
		},
	}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "things.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "things", Kind: "Thing", ShortNames: []string{"th"}},
			Conversion: &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter,
				Webhook: &apiextensionsv1.WebhookConversion{ConversionReviewVersions: []string{"v1"},
					ClientConfig: &apiextensionsv1.WebhookClientConfig{CABundle: []byte{0, 255, 1}, URL: ptr("https://h/")}}},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true,
				Schema:                   &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: root},
				Subresources:             &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				AdditionalPrinterColumns: []apiextensionsv1.CustomResourceColumnDefinition{{Name: "Age", Type: "date", JSONPath: ".a", Priority: 1}}}},
		},
	}
}

// The objects, each under the version that a client would send it as.
func samples() map[string]struct {
	version string
	object  runtime.Object
} {
	type sample = struct {
		version string
		object  runtime.Object
	}
	deployment := &appsv1.Deployment{ObjectMeta: meta("web"), Spec: appsv1.DeploymentSpec{Replicas: ptr[int32](0), Template: template(),
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"},
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "k", Operator: metav1.LabelSelectorOpExists}}},
		Strategy: appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{
			MaxSurge: ptr(intstr.FromString("25%")), MaxUnavailable: ptr(intstr.FromInt32(0))}}}}
	service := &corev1.Service{ObjectMeta: meta("web"), Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"},
		Ports:      []corev1.ServicePort{{Port: 80}, {Name: "named", Port: 81, TargetPort: intstr.FromString("http"), AppProtocol: ptr("h2")}},
		ClusterIPs: []string{"None"}, ClusterIP: "None", IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
		AllocateLoadBalancerNodePorts: ptr(false)}}
	job := &batchv1.Job{ObjectMeta: meta("job"), Spec: batchv1.JobSpec{Template: template(), BackoffLimit: ptr[int32](0),
		CompletionMode: ptr(batchv1.IndexedCompletion), PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
			Action: batchv1.PodFailurePolicyActionIgnore, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
				Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: []int32{1, -2, 0}}}}}},
		Status: batchv1.JobStatus{CompletionTime: ptr(metav1.NewTime(moment)), Active: 3}}
	access := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: "u", Groups: []string{"g"},
		Extra: map[string]authorizationv1.ExtraValue{"scopes": {"a", "b"}, "none": nil},
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Resource: "pods",
			FieldSelector: &authorizationv1.FieldSelectorAttributes{RawSelector: "a=b"}}}}
	event := &eventsv1.Event{ObjectMeta: meta("e"), EventTime: metav1.NewMicroTime(moment), ReportingController: "c", Reason: "R",
		Series: &eventsv1.EventSeries{Count: 2, LastObservedTime: metav1.NewMicroTime(time.Unix(1, 0))}}
	lease := &coordinationv1.Lease{ObjectMeta: meta("lease"), Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr(""),
		LeaseDurationSeconds: ptr[int32](15), RenewTime: ptr(metav1.NewMicroTime(moment)), AcquireTime: &metav1.MicroTime{}}}
	ingress := &networkingv1.Ingress{ObjectMeta: meta("in"), Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{Host: "a.b",
		IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{
			Path: "/", PathType: ptr(networkingv1.PathTypePrefix), Backend: networkingv1.IngressBackend{
				Service: &networkingv1.IngressServiceBackend{Name: "s", Port: networkingv1.ServiceBackendPort{Number: 80}}}}}}}}}}}
	role := &rbacv1.Role{ObjectMeta: meta("reader"), Rules: []rbacv1.PolicyRule{{Verbs: []string{"get", "list"}, APIGroups: []string{""},
		Resources: []string{"pods"}, ResourceNames: []string{"a"}}, {}}}
	return map[string]sample{
		"configmap": {"v1", &corev1.ConfigMap{ObjectMeta: meta("settings"), Immutable: ptr(false),
			Data: map[string]string{"a": "1", "b": ""}, BinaryData: map[string][]byte{"raw": {0, 255}}}},
		"customresourcedefinition": {"apiextensions.k8s.io/v1", definition()},
		"deleteoptions": {"policy/v1", &metav1.DeleteOptions{GracePeriodSeconds: ptr[int64](0), DryRun: []string{"All"},
			PropagationPolicy: ptr(metav1.DeletePropagationForeground), Preconditions: &metav1.Preconditions{UID: ptr(types.UID("u"))}}},
		"deployment": {"apps/v1", deployment},
		"event":      {"events.k8s.io/v1", event},
		"eviction": {"policy/v1", &policyv1.Eviction{ObjectMeta: meta("web"),
			DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: ptr[int64](30)}}},
		"ingress": {"networking.k8s.io/v1", ingress},
		"job":     {"batch/v1", job},
		"lease":   {"coordination.k8s.io/v1", lease},
		"pod":     {"v1", pod()},
		"role":    {"rbac.authorization.k8s.io/v1", role},
		"scale":   {"autoscaling/v1", &autoscalingv1.Scale{ObjectMeta: meta("web"), Spec: autoscalingv1.ScaleSpec{Replicas: 3}}},
		"secret": {"v1", &corev1.Secret{ObjectMeta: meta("secret"), Type: corev1.SecretTypeOpaque,
			Data: map[string][]byte{"a": []byte("value"), "empty": {}, "none": nil}, StringData: map[string]string{"b": "c"}}},
		"service":             {"v1", service},
		"subjectaccessreview": {"authorization.k8s.io/v1", access},
		"tokenrequest": {"authentication.k8s.io/v1", &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
			ExpirationSeconds: ptr[int64](600), BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", Name: "p"}}}},
	}
}

func main() {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, authenticationv1.AddToScheme, authorizationv1.AddToScheme,
		autoscalingv1.AddToScheme, batchv1.AddToScheme, coordinationv1.AddToScheme, corev1.AddToScheme, eventsv1.AddToScheme,
		networkingv1.AddToScheme, policyv1.AddToScheme, rbacv1.AddToScheme, apiextensionsv1.AddToScheme} {
		check(add(scheme))
	}
	serializer := protobuf.NewSerializer(scheme, scheme)
	for name, sample := range samples() {
		version, err := schema.ParseGroupVersion(sample.version)
		check(err)
		kinds, _, err := scheme.ObjectKinds(sample.object)
		check(err)
		sample.object.GetObjectKind().SetGroupVersionKind(version.WithKind(kinds[0].Kind))
		var wire bytes.Buffer
		check(serializer.Encode(sample.object, &wire))
		check(os.WriteFile(name+".pb", wire.Bytes(), 0o644))
		read, kind, err := serializer.Decode(wire.Bytes(), nil, nil)
		check(err)
		read.GetObjectKind().SetGroupVersionKind(*kind)
		text, err := json.MarshalIndent(read, "", " ")
		check(err)
		check(os.WriteFile(name+".json", append(text, '\n'), 0o644))
	}
}
