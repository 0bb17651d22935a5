"""What programs do with Python's kubernetes package, on the server of a kubeconfig, in a namespace of their own.

    client.py KUBECONFIG NAMESPACE

Each check asserts what the program sees; the first that does not hold ends with its name and a traceback.
"""

import sys
import threading

from kubernetes import client, config, dynamic, watch
from kubernetes.client.exceptions import ApiException


def config_map(name, data=None, labels=None):
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels=labels), data=data)


def deployment(name):
    labels = {"app": name}
    containers = [client.V1Container(name="main", image="registry.invalid/app:1")]
    template = client.V1PodTemplateSpec(
        metadata=client.V1ObjectMeta(labels=labels), spec=client.V1PodSpec(containers=containers)
    )
    selector = client.V1LabelSelector(match_labels=labels)
    spec = client.V1DeploymentSpec(replicas=0, selector=selector, template=template)
    return client.V1Deployment(metadata=client.V1ObjectMeta(name=name), spec=spec)


def refused(status, reason, call, *arguments, **options):
    """The call must be refused with this status and reason; returns the message for people."""
    try:
        call(*arguments, **options)
    except ApiException as refusal:
        assert refusal.status == status, (refusal.status, refusal.body)
        body = client.ApiClient().deserialize(Answer(refusal.body), "V1Status")
        assert body.reason == reason, refusal.body
        assert body.code == status and body.message, refusal.body
        return body
    raise AssertionError(f"expected {status} {reason}")


class Answer:
    """What the client's deserialiser expects of an answer."""

    def __init__(self, data):
        self.data = data


def lists_with_selectors_and_pages(namespace):
    core = client.CoreV1Api()
    for number in range(5):
        labels = {"ours": "yes", "odd": "yes" if number % 2 else "no"}
        core.create_namespaced_config_map(namespace, config_map(f"item-{number}", {"n": str(number)}, labels))
    odd = core.list_namespaced_config_map(namespace, label_selector="ours=yes,odd=yes")
    assert [item.metadata.name for item in odd.items] == ["item-1", "item-3"], odd
    assert odd.metadata.resource_version
    page = core.list_namespaced_config_map(namespace, label_selector="ours=yes", limit=2)
    assert len(page.items) == 2 and page.metadata._continue, page.metadata
    rest = core.list_namespaced_config_map(
        namespace, label_selector="ours=yes", limit=10, _continue=page.metadata._continue
    )
    assert [item.data["n"] for item in rest.items] == ["2", "3", "4"], rest
    one = core.list_namespaced_config_map(namespace, field_selector="metadata.name=item-3")
    assert len(one.items) == 1, one


def creates_reads_and_replaces(namespace):
    core = client.CoreV1Api()
    made = core.create_namespaced_config_map(namespace, config_map("colours", {"sky": "blue"}))
    assert made.metadata.uid and made.metadata.creation_timestamp.tzinfo, made
    read = core.read_namespaced_config_map("colours", namespace)
    assert read.data == {"sky": "blue"} and read.metadata.uid == made.metadata.uid
    read.data["sky"] = "grey"
    replaced = core.replace_namespaced_config_map("colours", namespace, read)
    assert replaced.data == {"sky": "grey"}
    assert replaced.metadata.resource_version != made.metadata.resource_version
    secret = client.V1Secret(metadata=client.V1ObjectMeta(name="words"), string_data={"pass": "word"})
    assert core.create_namespaced_secret(namespace, secret).data == {"pass": "d29yZA=="}


def patches_in_three_ways(namespace):
    apps = client.AppsV1Api()
    apps.create_namespaced_deployment(namespace, deployment("web"))
    # A dictionary is a strategic merge: the sidecar comes beside the container that is there.
    side = {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "registry.invalid/side:1"}]}}}}
    patched = apps.patch_namespaced_deployment("web", namespace, side)
    names = {container.name for container in patched.spec.template.spec.containers}
    assert names == {"main", "side"}, names
    # A list is a JSON patch.
    pause = [{"op": "add", "path": "/spec/paused", "value": True}]
    assert apps.patch_namespaced_deployment("web", namespace, pause).spec.paused is True
    # A merge patch has to be asked for.
    merge = {"spec": {"paused": None, "minReadySeconds": 7}}
    patched = apps.patch_namespaced_deployment(
        "web", namespace, merge, _content_type="application/merge-patch+json"
    )
    assert not patched.spec.paused and patched.spec.min_ready_seconds == 7, patched.spec


def applies_by_the_server(namespace):
    dynamic_client = dynamic.DynamicClient(client.ApiClient())
    maps = dynamic_client.resources.get(api_version="v1", kind="ConfigMap")
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": {"a": "1", "b": "2"}}

    def apply(body, manager, force=False):
        return maps.server_side_apply(body, namespace=namespace, field_manager=manager, force_conflicts=force)

    first = apply(manifest, "python")
    second = apply(manifest, "python")
    assert first.metadata.resourceVersion == second.metadata.resourceVersion
    manifest["data"] = {"a": "1"}
    assert apply(manifest, "python").data.to_dict() == {"a": "1"}
    manifest["data"] = {"a": "3"}
    try:
        apply(manifest, "somebody-else")
    except dynamic.exceptions.ConflictError as conflict:
        assert "python" in str(conflict.body), conflict.body
    else:
        raise AssertionError("expected a conflict")


def watches_from_a_list_on(namespace):
    core = client.CoreV1Api()
    version = core.list_namespaced_config_map(namespace).metadata.resource_version
    core.create_namespaced_config_map(namespace, config_map("seen", {"n": "0"}, {"watched": "yes"}))

    def change():
        core.patch_namespaced_config_map("seen", namespace, {"data": {"n": "1"}})
        core.delete_namespaced_config_map("seen", namespace)

    changer = threading.Thread(target=change)
    changer.start()
    seen = []
    stream = watch.Watch()
    for event in stream.stream(
        core.list_namespaced_config_map,
        namespace,
        label_selector="watched=yes",
        resource_version=version,
        timeout_seconds=30,
    ):
        seen.append((event["type"], event["object"].data["n"]))
        if event["type"] == "DELETED":
            stream.stop()
    changer.join()
    assert seen == [("ADDED", "0"), ("MODIFIED", "1"), ("DELETED", "1")], seen


def deletes_one_and_many(namespace):
    core = client.CoreV1Api()
    for name in ("one", "two", "three"):
        core.create_namespaced_config_map(namespace, config_map(name, labels={"doomed": "yes"}))
    assert core.delete_namespaced_config_map("one", namespace).status == "Success"
    core.delete_collection_namespaced_config_map(namespace, label_selector="doomed=yes")
    left = core.list_namespaced_config_map(namespace, label_selector="doomed=yes")
    assert left.items == [], left
    uid = core.create_namespaced_config_map(namespace, config_map("one")).metadata.uid
    wrong = client.V1DeleteOptions(preconditions=client.V1Preconditions(uid="00000000-0000-0000-0000-000000000000"))
    refused(409, "Conflict", core.delete_namespaced_config_map, "one", namespace, body=wrong)
    assert core.read_namespaced_config_map("one", namespace).metadata.uid == uid


def refusals_carry_their_reason(namespace):
    core = client.CoreV1Api()
    missing = refused(404, "NotFound", core.read_namespaced_config_map, "missing", namespace)
    assert missing.message == 'configmaps "missing" not found', missing
    assert (missing.details.name, missing.details.kind) == ("missing", "configmaps"), missing
    made = core.create_namespaced_config_map(namespace, config_map("twice"))
    refused(409, "AlreadyExists", core.create_namespaced_config_map, namespace, config_map("twice"))
    core.patch_namespaced_config_map("twice", namespace, {"data": {"a": "b"}})
    refused(409, "Conflict", core.replace_namespaced_config_map, "twice", namespace, made)
    invalid = refused(422, "Invalid", core.create_namespaced_config_map, namespace, config_map("Not_A_Name"))
    assert invalid.details.causes[0].field == "metadata.name", invalid
    # As a service account without rights.
    robot = client.V1ServiceAccount(metadata=client.V1ObjectMeta(name="robot"))
    core.create_namespaced_service_account(namespace, robot)
    request = client.AuthenticationV1TokenRequest(spec=client.V1TokenRequestSpec(audiences=[]))
    token = core.create_namespaced_service_account_token("robot", namespace, request).status.token
    settings = client.Configuration.get_default_copy()
    settings.api_key = {"authorization": f"Bearer {token}"}
    # Else the kubeconfig's own token would be put back before each request.
    settings.refresh_api_key_hook = None
    stranger = client.CoreV1Api(client.ApiClient(settings))
    refused(403, "Forbidden", stranger.list_namespaced_secret, namespace)


def discovers_versions_and_kinds(namespace):
    version = client.VersionApi().get_code()
    assert version.git_version.startswith("v1."), version
    groups = {group.name for group in client.ApisApi().get_api_versions().groups}
    assert {"apps", "batch", "rbac.authorization.k8s.io"} <= groups, groups
    kinds = {resource.kind for resource in client.CoreV1Api().get_api_resources().resources}
    assert {"ConfigMap", "Pod", "Secret"} <= kinds, kinds
    custom = client.CustomObjectsApi().list_cluster_custom_object(
        "apiextensions.k8s.io", "v1", "customresourcedefinitions"
    )
    assert custom["kind"] == "CustomResourceDefinitionList", custom["kind"]


CHECKS = [
    lists_with_selectors_and_pages,
    creates_reads_and_replaces,
    patches_in_three_ways,
    applies_by_the_server,
    watches_from_a_list_on,
    deletes_one_and_many,
    refusals_carry_their_reason,
    discovers_versions_and_kinds,
]


def main(kubeconfig, namespace):
    config.load_kube_config(kubeconfig)
    for check in CHECKS:
        print(f"python: {check.__name__}", flush=True)
        check(namespace)
    print(f"python: {len(CHECKS)} checks passed")


if __name__ == "__main__":
    main(*sys.argv[1:])
