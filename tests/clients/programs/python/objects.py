"""The Python client against the server that KUBECONFIG names. Exits 1 with the first thing that is not as it should be."""

from kubernetes import client, config, dynamic, watch
from kubernetes.client.rest import ApiException

NAMESPACE = "python"
GROUP, VERSION, PLURAL = "cluster.x-k8s.io", "v1beta2", "clusters"


def refused(call, *arguments, **options):
    """The code and reason of the refusal; an assertion when the call is not refused."""
    try:
        call(*arguments, **options)
    except ApiException as error:
        return error.status
    raise AssertionError(f"{call.__name__} was not refused")


def typed(core):
    core.create_namespace({"metadata": {"name": NAMESPACE}})
    body = client.V1ConfigMap(metadata=client.V1ObjectMeta(name="one", labels={"a": "b"}), data={"k": "v"})
    created = core.create_namespaced_config_map(NAMESPACE, body)
    assert created.metadata.uid and created.data == {"k": "v"}, created
    assert refused(core.create_namespaced_config_map, NAMESPACE, body) == 409
    patched = core.patch_namespaced_config_map("one", NAMESPACE, {"data": {"more": "w"}})
    assert patched.data == {"k": "v", "more": "w"}, patched.data
    stale = created
    stale.data = {"lost": "yes"}
    assert refused(core.replace_namespaced_config_map, "one", NAMESPACE, stale) == 409
    found = core.list_namespaced_config_map(NAMESPACE, label_selector="a=b", limit=1)
    assert [item.metadata.name for item in found.items] == ["one"], found
    assert core.read_namespaced_config_map("one", NAMESPACE).metadata.resource_version == patched.metadata.resource_version


def watched(core):
    seen = []
    start = core.list_namespaced_config_map(NAMESPACE).metadata.resource_version
    core.create_namespaced_config_map(NAMESPACE, {"metadata": {"name": "seen"}})
    core.patch_namespaced_config_map("seen", NAMESPACE, {"data": {"x": "y"}})
    core.delete_namespaced_config_map("seen", NAMESPACE)
    events = watch.Watch()
    for event in events.stream(core.list_namespaced_config_map, NAMESPACE, resource_version=start, timeout_seconds=30):
        seen.append((event["type"], event["object"].metadata.name))
        if event["type"] == "DELETED":
            events.stop()
    assert seen == [("ADDED", "seen"), ("MODIFIED", "seen"), ("DELETED", "seen")], seen


def custom(objects):
    reference = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevCluster", "name": "py"}
    body = {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "Cluster",
        "metadata": {"name": "py"},
        "spec": {"infrastructureRef": reference, "paused": True},
    }
    at = (GROUP, VERSION, NAMESPACE, PLURAL)
    objects.create_namespaced_custom_object(*at, body)
    status = objects.patch_namespaced_custom_object_status(*at, "py", {"status": {"phase": "Provisioning"}})
    assert status["status"]["phase"] == "Provisioning", status
    wrong = {**body, "metadata": {"name": "wrong"}, "spec": {**body["spec"], "paused": "often"}}
    assert refused(objects.create_namespaced_custom_object, *at, wrong) == 422
    assert [item["metadata"]["name"] for item in objects.list_namespaced_custom_object(*at)["items"]] == ["py"]
    objects.delete_namespaced_custom_object(*at, "py")


def discovered(api):
    clusters = dynamic.DynamicClient(api).resources.get(api_version=f"{GROUP}/{VERSION}", kind="Cluster")
    assert clusters.namespaced and "cl" in clusters.short_names, clusters
    assert clusters.get(namespace=NAMESPACE).items == []


def main():
    config.load_kube_config()
    api = client.ApiClient()
    core = client.CoreV1Api(api)
    assert client.VersionApi(api).get_code().major == "1"
    typed(core)
    watched(core)
    custom(client.CustomObjectsApi(api))
    discovered(api)
    core.delete_namespace(NAMESPACE)
    print("ok: python")


if __name__ == "__main__":
    main()
