//! Manifests of our own kinds: what the server must accept whole, and what it must refuse.
//!
//! Accepted are the files of `examples/` and what the four contracts call valid
//! (`manifests/contracts.yaml`). Refused is a valid example with one thing changed, so that nothing
//! but that change can be the cause.

use std::{path::Path, sync::Arc};

use anneal_harness::Needs;
use anneal_types::{crd, elide::v1::*, kapsa::v1alpha1::*, kco::v1alpha1::*, krkn::v1alpha1::*};
use anyhow::{Context, Result, bail, ensure};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::{Case, Cx, Kind, Objects};

/// A fault: the example it starts from, what it is called, the change as a merge patch, and the
/// field and reason the server must name.
struct Fault(&'static str, &'static str, &'static str, &'static str, &'static str);

const REQUIRED: &str = "FieldValueRequired";
const INVALID: &str = "FieldValueInvalid";
const UNSUPPORTED: &str = "FieldValueNotSupported";
const WRONG_TYPE: &str = "FieldValueTypeInvalid";
const DUPLICATE: &str = "FieldValueDuplicate";

#[rustfmt::skip]
const FAULTS: &[Fault] = &[
    Fault("application", "without_an_image", r#"{"spec":{"image":null}}"#, "spec.image", REQUIRED),
    Fault("application", "with_an_empty_image", r#"{"spec":{"image":""}}"#, "spec.image", INVALID),
    Fault("application", "without_replicas", r#"{"spec":{"replicas":null}}"#, "spec.replicas", REQUIRED),
    Fault("application", "with_negative_replicas", r#"{"spec":{"replicas":-1}}"#, "spec.replicas", INVALID),
    Fault("application", "with_replicas_as_text", r#"{"spec":{"replicas":"3"}}"#, "spec.replicas", WRONG_TYPE),
    Fault("application", "with_an_unknown_strategy", r#"{"spec":{"strategy":"BlueGreen"}}"#, "spec.strategy", UNSUPPORTED),
    Fault("application", "with_config_that_is_not_text", r#"{"spec":{"config":{"a":1}}}"#, "spec.config.a", WRONG_TYPE),
    Fault("application", "without_a_spec", r#"{"spec":null}"#, "spec", REQUIRED),

    Fault("project", "without_a_repository", r#"{"spec":{"repository":null}}"#, "spec.repository", REQUIRED),
    Fault("project", "without_a_repository_url", r#"{"spec":{"repository":{"url":null}}}"#, "spec.repository.url", REQUIRED),
    Fault("project", "without_a_build", r#"{"spec":{"build":null}}"#, "spec.build", REQUIRED),
    Fault("project", "without_a_registry", r#"{"spec":{"registry":null}}"#, "spec.registry", REQUIRED),
    Fault("project", "without_a_domain", r#"{"spec":{"domain":null}}"#, "spec.domain", REQUIRED),
    Fault("project", "polled_more_often_than_once_a_minute", r#"{"spec":{"repository":{"pollInterval":59}}}"#, "spec.repository.pollInterval", INVALID),
    Fault("project", "with_an_unknown_build_strategy", r#"{"spec":{"build":{"strategy":"nix"}}}"#, "spec.build.strategy", UNSUPPORTED),
    Fault("project", "with_a_subdomain_of_two_labels", r#"{"spec":{"domain":{"subdomain":"a.b"}}}"#, "spec.domain.subdomain", INVALID),
    Fault("project", "with_a_subdomain_in_capitals", r#"{"spec":{"domain":{"subdomain":"Api"}}}"#, "spec.domain.subdomain", INVALID),
    Fault("project", "with_a_subdomain_too_long_for_dns", r#"{"spec":{"domain":{"subdomain":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}}}"#, "spec.domain.subdomain", "FieldValueTooLong"),
    Fault("project", "with_an_environment_name_in_capitals", r#"{"spec":{"environments":[{"name":"Dev"}]}}"#, "spec.environments[0].name", INVALID),
    Fault("project", "with_an_environment_without_a_name", r#"{"spec":{"environments":[{"branch":"main"}]}}"#, "spec.environments[0].name", REQUIRED),
    Fault("project", "with_two_environments_of_one_name", r#"{"spec":{"environments":[{"name":"a"},{"name":"a"}]}}"#, "spec.environments[1]", DUPLICATE),
    Fault("project", "with_previews_as_a_switch", r#"{"spec":{"previewEnvironments":true}}"#, "spec.previewEnvironments", WRONG_TYPE),
    Fault("project", "with_a_secret_value_in_its_build", r#"{"spec":{"build":{"env":[{"name":"A","valueFrom":{}}]}}}"#, "spec.build.env[0].value", REQUIRED),

    Fault("environment", "without_a_project", r#"{"spec":{"projectRef":null}}"#, "spec.projectRef", REQUIRED),
    Fault("environment", "without_a_type", r#"{"spec":{"type":null}}"#, "spec.type", REQUIRED),
    Fault("environment", "of_an_unknown_type", r#"{"spec":{"type":"temporary"}}"#, "spec.type", UNSUPPORTED),
    Fault("environment", "with_negative_replicas", r#"{"spec":{"runtime":{"replicas":-1}}}"#, "spec.runtime.replicas", INVALID),
    Fault("environment", "scaled_down_to_nothing", r#"{"spec":{"runtime":{"autoscaling":{"minReplicas":0}}}}"#, "spec.runtime.autoscaling.minReplicas", INVALID),
    Fault("environment", "aiming_above_all_of_the_cpu", r#"{"spec":{"runtime":{"autoscaling":{"targetCPUUtilization":101}}}}"#, "spec.runtime.autoscaling.targetCPUUtilization", INVALID),
    Fault("environment", "aiming_at_no_memory", r#"{"spec":{"runtime":{"autoscaling":{"targetMemoryUtilization":0}}}}"#, "spec.runtime.autoscaling.targetMemoryUtilization", INVALID),
    Fault("environment", "with_port_0", r#"{"spec":{"runtime":{"ports":[{"containerPort":0}]}}}"#, "spec.runtime.ports[0].containerPort", INVALID),
    Fault("environment", "with_a_port_above_65535", r#"{"spec":{"runtime":{"ports":[{"containerPort":65536}]}}}"#, "spec.runtime.ports[0].containerPort", INVALID),
    Fault("environment", "with_an_unknown_protocol", r#"{"spec":{"runtime":{"ports":[{"containerPort":1,"protocol":"SCTP"}]}}}"#, "spec.runtime.ports[0].protocol", UNSUPPORTED),
    Fault("environment", "with_an_unnamed_config_map", r#"{"spec":{"configRefs":[{"configMapRef":{}}]}}"#, "spec.configRefs[0].configMapRef.name", REQUIRED),

    Fault("domain-pool", "without_a_base_domain", r#"{"spec":{"baseDomains":[]}}"#, "spec.baseDomains", INVALID),
    Fault("domain-pool", "with_a_base_domain_that_is_none", r#"{"spec":{"baseDomains":["*.example.com"]}}"#, "spec.baseDomains[0]", INVALID),
    Fault("domain-pool", "with_overlapping_base_domains", r#"{"spec":{"baseDomains":["example.com","apps.example.com"]}}"#, "spec.baseDomains", INVALID),
    Fault("domain-pool", "with_a_base_domain_twice", r#"{"spec":{"baseDomains":["example.com","example.com"]}}"#, "spec.baseDomains[1]", DUPLICATE),
    Fault("domain-pool", "without_an_issuer", r#"{"spec":{"certManager":{"issuerRef":null}}}"#, "spec.certManager.issuerRef", REQUIRED),
    Fault("domain-pool", "with_an_unknown_kind_of_issuer", r#"{"spec":{"certManager":{"issuerRef":{"kind":"Vault"}}}}"#, "spec.certManager.issuerRef.kind", UNSUPPORTED),
    Fault("domain-pool", "with_an_unknown_strategy", r#"{"spec":{"allocationPolicy":{"strategy":"first"}}}"#, "spec.allocationPolicy.strategy", UNSUPPORTED),

    Fault("registry", "of_an_unknown_type", r#"{"spec":{"type":"quay"}}"#, "spec.type", UNSUPPORTED),
    Fault("registry", "without_an_endpoint", r#"{"spec":{"endpoint":null}}"#, "spec.endpoint", REQUIRED),
    Fault("registry", "without_credentials", r#"{"spec":{"auth":null}}"#, "spec.auth", REQUIRED),
    Fault("registry", "with_an_unnamed_secret", r#"{"spec":{"auth":{"secretRef":{"name":null}}}}"#, "spec.auth.secretRef.name", REQUIRED),

    Fault("target-app", "without_a_selector", r#"{"spec":{"selector":null}}"#, "spec.selector", REQUIRED),
    Fault("target-app", "without_a_query", r#"{"spec":{"stateQuery":null}}"#, "spec.stateQuery", REQUIRED),
    Fault("target-app", "polled_every_second", r#"{"spec":{"pollingInterval":1}}"#, "spec.pollingInterval", INVALID),
    Fault("target-app", "polled_less_than_once_an_hour", r#"{"spec":{"pollingInterval":5000}}"#, "spec.pollingInterval", INVALID),
    Fault("target-app", "with_no_time_to_answer", r#"{"spec":{"timeout":0}}"#, "spec.timeout", INVALID),
    Fault("target-app", "with_too_much_time_to_answer", r#"{"spec":{"timeout":100}}"#, "spec.timeout", INVALID),
    Fault("target-app", "with_negative_retries", r#"{"spec":{"maxRetries":-1}}"#, "spec.maxRetries", INVALID),
    Fault("target-app", "with_too_many_retries", r#"{"spec":{"maxRetries":20}}"#, "spec.maxRetries", INVALID),
    Fault("target-app", "with_an_unknown_condition", r#"{"spec":{"actions":[{"trigger":{"field":"a","condition":"like","value":1},"action":"webhook"}]}}"#, "spec.actions[0].trigger.condition", UNSUPPORTED),
    Fault("target-app", "comparing_with_nothing", r#"{"spec":{"actions":[{"trigger":{"field":"a","condition":"equals"},"action":"webhook"}]}}"#, "spec.actions[0].trigger.value", REQUIRED),
    Fault("target-app", "acting_without_a_trigger", r#"{"spec":{"actions":[{"action":"webhook"}]}}"#, "spec.actions[0].trigger", REQUIRED),
    Fault("target-app", "triggered_without_an_action", r#"{"spec":{"actions":[{"trigger":{"field":"a","condition":"exists"}}]}}"#, "spec.actions[0].action", REQUIRED),
    Fault("target-app", "triggered_without_a_field", r#"{"spec":{"actions":[{"trigger":{"condition":"exists"},"action":"webhook"}]}}"#, "spec.actions[0].trigger.field", REQUIRED),

    Fault("target-request", "without_an_id", r#"{"spec":{"uuid":null}}"#, "spec.uuid", REQUIRED),
    Fault("target-provider", "without_a_name", r#"{"spec":{"operator-name":null}}"#, "spec.operator-name", REQUIRED),
    Fault("target-provider", "active_as_text", r#"{"spec":{"active":"yes"}}"#, "spec.active", WRONG_TYPE),
    Fault("target", "with_an_unknown_type_of_secret", r#"{"spec":{"secretType":"password"}}"#, "spec.secretType", UNSUPPORTED),
    Fault("target", "without_a_secret", r#"{"spec":{"secretUUID":null}}"#, "spec.secretUUID", REQUIRED),
    Fault("target", "without_a_cluster", r#"{"spec":{"clusterName":null}}"#, "spec.clusterName", REQUIRED),

    Fault("scenario-run", "without_targets", r#"{"spec":{"targetClusters":null}}"#, "spec.targetClusters", REQUIRED),
    Fault("scenario-run", "with_no_target_at_all", r#"{"spec":{"targetClusters":{"krkn-operator":null}}}"#, "spec.targetClusters", INVALID),
    Fault("scenario-run", "with_a_provider_without_clusters", r#"{"spec":{"targetClusters":{"krkn-operator":[]}}}"#, "spec.targetClusters.krkn-operator", INVALID),
    Fault("scenario-run", "without_the_name_of_a_scenario", r#"{"spec":{"scenarioName":""}}"#, "spec.scenarioName", INVALID),
    Fault("scenario-run", "with_negative_retries", r#"{"spec":{"maxRetries":-1}}"#, "spec.maxRetries", INVALID),
    Fault("scenario-run", "with_a_delay_that_is_no_duration", r#"{"spec":{"retryDelay":"soon"}}"#, "spec.retryDelay", INVALID),
    Fault("scenario-run", "with_credentials_in_its_registry", r#"{"spec":{"registryURL":"me:s3cret@registry.example.com"}}"#, "spec", INVALID),
    Fault("scenario-run", "with_an_unknown_backoff", r#"{"spec":{"retryBackoff":"linear"}}"#, "spec.retryBackoff", UNSUPPORTED),
    Fault("scenario-run", "with_a_file_mounted_nowhere", r#"{"spec":{"files":[{"name":"a","content":""}]}}"#, "spec.files[0].mountPath", REQUIRED),
    Fault("scenario-run", "with_a_token_in_clear_text", r#"{"spec":{"token":"s3cret"}}"#, "spec", INVALID),
    Fault("scenario-run", "with_a_user_name_in_clear_text", r#"{"spec":{"username":"s3cret"}}"#, "spec", INVALID),
    Fault("scenario-run", "with_a_password_in_clear_text", r#"{"spec":{"password":"s3cret"}}"#, "spec", INVALID),
];

/// Every manifest as a case.
pub fn cases() -> Vec<Case> {
    let installed = Arc::new(OnceCell::new());
    let mut cases = Vec::new();
    for (source, manifest) in accepted() {
        let installed = installed.clone();
        let kind = manifest["kind"].as_str().unwrap_or_default();
        let name = manifest["metadata"]["name"].as_str().unwrap_or_default();
        cases.push(Case::new(
            format!("manifests::accepts_{kind}_{name}_of_{source}"),
            Needs::API,
            move |cx| accepts(cx, installed.clone(), manifest.clone()),
        ));
    }
    for fault in FAULTS {
        let installed = installed.clone();
        let Fault(example, fault_name, ..) = fault;
        let name = format!("manifests::refuses_a_{}_{fault_name}", example.replace('-', "_"));
        cases.push(Case::new(name, Needs::API, move |cx| refuses(cx, installed.clone(), fault)));
    }
    for example in examples_with_conditions() {
        let installed = installed.clone();
        let kind = example["kind"].as_str().unwrap_or_default().to_owned();
        let name = format!("manifests::foreign_condition_of_{kind}_survives_our_type");
        cases.push(Case::new(name, Needs::API, move |cx| {
            foreign_condition_survives(cx, installed.clone(), example.clone())
        }));
    }
    cases.push(Case::new("manifests::crds_install_without_a_warning", Needs::API, move |cx| {
        install_without_warning(cx)
    }));
    cases
}

async fn install_without_warning(cx: Cx) -> Result<()> {
    for crd in crd::all() {
        let mut crd = serde_json::to_value(crd)?;
        let name = crd["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        crd["apiVersion"] = Kind::CRD.api_version.into();
        crd["kind"] = Kind::CRD.kind.into();
        let reply = cx.objects(&Kind::CRD).apply_with(&name, "fieldManager=warnings&force=true", crd).await?;
        reply.ok()?;
        ensure!(reply.header("warning").is_empty(), "{name}: {}", reply.header("warning"));
    }
    Ok(())
}

async fn accepts(cx: Cx, installed: Arc<OnceCell<()>>, manifest: Value) -> Result<()> {
    install(&cx, &installed).await?;
    let (objects, mut manifest) = place(&cx, manifest)?;
    let reply = objects.create_with("?fieldValidation=Strict", manifest.clone()).await?;
    let stored = reply.is(201)?;
    contains("spec", &stored["spec"], &manifest["spec"])?;
    // With a status subresource the server ignores what a creator says about the status.
    ensure!(manifest["status"].take().is_null() || stored["status"].is_null(), "{stored}");
    let spec = typed(stored.clone())?["spec"].take();
    // A list that is empty and one that is absent say the same.
    contains("spec", &without_empty(&spec), &without_empty(&stored["spec"])).context("lost by our type")?;
    contains("spec", &without_empty(&stored["spec"]), &without_empty(&spec)).context("added by our type")
}

/// A condition with no more than the contracts ask for goes through our Rust type and back unchanged.
async fn foreign_condition_survives(cx: Cx, installed: Arc<OnceCell<()>>, manifest: Value) -> Result<()> {
    install(&cx, &installed).await?;
    let (objects, manifest) = place(&cx, manifest)?;
    let name = manifest["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    objects.create(manifest).await?.is(201)?;
    let condition = json!([{ "type": "example.com/Blessed", "status": "Unknown" }]);
    let status = format!("{name}/status");
    let stored = objects.merge(&status, json!({ "status": { "conditions": condition } })).await?.is(200)?;
    let typed = typed(stored)?;
    ensure!(typed["status"]["conditions"] == condition, "{typed}");
    objects.update(&status, &typed).await?.is(200)?;
    Ok(())
}

async fn refuses(cx: Cx, installed: Arc<OnceCell<()>>, fault: &'static Fault) -> Result<()> {
    let Fault(example, _, change, field, reason) = fault;
    install(&cx, &installed).await?;
    let (objects, mut manifest) = place(&cx, read_one(&examples().join(format!("{example}.yaml")))?)?;
    json_patch::merge(&mut manifest, &serde_json::from_str(change)?);
    let status = objects.create(manifest).await?.refused(422, "Invalid")?;
    let causes = status["details"]["causes"].as_array().cloned().unwrap_or_default();
    let named = causes.iter().any(|cause| cause["field"] == *field && cause["reason"] == *reason);
    ensure!(named, "no cause {reason} for {field}: {status}");
    ensure!(!status.to_string().contains("s3cret"), "the answer repeats a secret: {status}");
    Ok(())
}

/// Installs our CRDs once for all cases.
async fn install(cx: &Cx, installed: &OnceCell<()>) -> Result<()> {
    installed.get_or_try_init(|| install_all(cx.clone())).await.copied()
}

/// Installs our CRDs and waits until they are served.
async fn install_all(cx: Cx) -> Result<()> {
    for crd in crd::all() {
        let name = crd.metadata.name.clone().unwrap_or_default();
        let crd = serde_json::to_value(crd)?;
        cx.objects(&Kind::CRD).apply_by_force(&name, "manifests", crd).await?.ok()?;
    }
    for (_, kind) in KINDS {
        let objects = cx.objects(kind);
        anneal_harness::eventually(format!("{} to be served", kind.plural), || async {
            Ok((objects.list("").await?.status == 200).then_some(()))
        })
        .await?;
    }
    Ok(())
}

/// Puts a manifest where this case may: into its namespace, or under a name of its own.
fn place(cx: &Cx, mut manifest: Value) -> Result<(Objects, Value)> {
    let kind = manifest["kind"].as_str().unwrap_or_default();
    let (_, kind) = KINDS.iter().find(|(_, known)| known.kind == kind).context("a kind of ours")?;
    let objects = cx.objects(kind);
    if kind.namespaced {
        manifest["metadata"]["namespace"] = cx.namespace.clone().into();
    } else {
        let name = cx.unique(manifest["metadata"]["name"].as_str().unwrap_or_default());
        cx.delete_later(format!("{}/{name}", objects.path()));
        manifest["metadata"]["name"] = name.into();
    }
    Ok((objects, manifest))
}

type ThroughType = fn(Value) -> Result<Value>;

const fn kind(api_version: &'static str, kind: &'static str, plural: &'static str, namespaced: bool) -> Kind {
    Kind { api_version, kind, plural, namespaced }
}

const KAPSA: &str = "kapsa-project.io/v1alpha1";
const KRKN: &str = "krkn.krkn-chaos.dev/v1alpha1";

#[rustfmt::skip]
const KINDS: &[(ThroughType, Kind)] = &[
    (through::<Application>, kind("cloudnative.elide.dev/v1", "Application", "applications", true)),
    (through::<Project>, kind(KAPSA, "Project", "projects", true)),
    (through::<Environment>, kind(KAPSA, "Environment", "environments", true)),
    (through::<DomainPool>, kind(KAPSA, "DomainPool", "domainpools", false)),
    (through::<Registry>, kind(KAPSA, "Registry", "registries", false)),
    (through::<TargetApp>, kind("operator.kco.local/v1alpha1", "TargetApp", "targetapps", true)),
    (through::<KrknTargetRequest>, kind(KRKN, "KrknTargetRequest", "krkntargetrequests", true)),
    (through::<KrknOperatorTargetProvider>, kind(KRKN, "KrknOperatorTargetProvider", "krknoperatortargetproviders", true)),
    (through::<KrknOperatorTarget>, kind(KRKN, "KrknOperatorTarget", "krknoperatortargets", true)),
    (through::<KrknScenarioRun>, kind(KRKN, "KrknScenarioRun", "krknscenarioruns", true)),
];

/// An object after a trip through our Rust type.
fn typed(object: Value) -> Result<Value> {
    let kind = object["kind"].as_str().unwrap_or_default();
    let (typed, _) = KINDS.iter().find(|(_, known)| known.kind == kind).context("a kind of ours")?;
    typed(object)
}

fn through<K: Serialize + DeserializeOwned>(object: Value) -> Result<Value> {
    let typed: K = serde_json::from_value(object).context("the stored object does not fit its type")?;
    Ok(serde_json::to_value(typed)?)
}

/// The examples of kinds whose status has conditions.
fn examples_with_conditions() -> Vec<Value> {
    let has_conditions = |kind: &Value| {
        let crd = crd::all().into_iter().find(|crd| *kind == crd.spec.names.kind);
        let schema = serde_json::to_value(crd).unwrap_or_default();
        let status = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/conditions";
        schema.pointer(status).is_some()
    };
    let examples = accepted().into_iter().filter(|(source, _)| source == "examples");
    examples.map(|(_, manifest)| manifest).filter(|manifest| has_conditions(&manifest["kind"])).collect()
}

fn accepted() -> Vec<(String, Value)> {
    let contracts = Path::new(env!("CARGO_MANIFEST_DIR")).join("manifests/contracts.yaml");
    let mut files: Vec<_> = std::fs::read_dir(examples())
        .expect("examples/ must be there")
        .map(|entry| entry.expect("examples/ must be readable").path())
        .collect();
    files.sort();
    files.push(contracts);
    let documents = |path: &std::path::PathBuf| {
        let source = if path.starts_with(examples()) { "examples" } else { "the_contracts" };
        let manifests = read(path).unwrap_or_else(|error| panic!("{}: {error:#}", path.display()));
        manifests.into_iter().map(move |manifest| (source.to_owned(), manifest))
    };
    files.iter().flat_map(documents).collect()
}

fn examples() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

fn read(path: &Path) -> Result<Vec<Value>> {
    Ok(serde_saphyr::from_multiple(&std::fs::read_to_string(path)?)?)
}

fn read_one(path: &Path) -> Result<Value> {
    match read(path)?.as_mut_slice() {
        [one] => Ok(one.take()),
        several => bail!("{} holds {} documents", path.display(), several.len()),
    }
}

fn without_empty(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let empty = |value: &Value| *value == json!([]) || *value == json!({});
            let kept = fields.iter().map(|(name, value)| (name.clone(), without_empty(value)));
            Value::Object(kept.filter(|(_, value)| !empty(value)).collect())
        }
        Value::Array(items) => items.iter().map(without_empty).collect(),
        other => other.clone(),
    }
}

/// Whether `whole` has all that `part` has.
fn contains(path: &str, whole: &Value, part: &Value) -> Result<()> {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => part.iter().try_for_each(|(name, part)| {
            contains(&format!("{path}.{name}"), whole.get(name).unwrap_or(&Value::Null), part)
        }),
        (Value::Array(whole), Value::Array(part)) if whole.len() == part.len() => whole
            .iter()
            .zip(part)
            .enumerate()
            .try_for_each(|(i, (whole, part))| contains(&format!("{path}[{i}]"), whole, part)),
        (whole, part) => {
            ensure!(whole == part, "{path}: {part} became {whole}");
            Ok(())
        }
    }
}
