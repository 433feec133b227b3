"""What controllers do with the dynamic client, leases and reviews of the Kubernetes client of PyPI; prints what it saw."""

import sys
import threading

from kubernetes import client, config, dynamic, utils
from kubernetes.client import api_client
from kubernetes.client.rest import ApiException
from kubernetes.dynamic.exceptions import DynamicApiError
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.configmaplock import ConfigMapLock

namespace = sys.argv[1]
config.load_kube_config()
core = client.CoreV1Api()


def show(title, value):
    print(f"{title}: {value}")


def refused(title, call, *arguments, **options):
    """What an error says, as the client shows it."""
    try:
        call(*arguments, **options)
        show(title, "no error")
    except (ApiException, DynamicApiError) as error:
        show(title, (error.status, error.reason, str(error.body)[:400]))


kinds = dynamic.DynamicClient(api_client.ApiClient())
maps = kinds.resources.get(api_version="v1", kind="ConfigMap")
deployments = kinds.resources.get(api_version="apps/v1", kind="Deployment")
show("found", (maps.name, maps.namespaced, sorted(maps.verbs), deployments.short_names, sorted(deployments.subresources)))
show("searched", sorted({kind.group_version for kind in kinds.resources.search(kind="Event")}))

made = maps.create(namespace=namespace, body={"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
show("created", (made.kind, made.metadata.name, made.data))
for content_type, body in (
    ("application/merge-patch+json", {"data": {"x": "1"}}),
    ("application/strategic-merge-patch+json", {"data": {"y": "2"}}),
    ("application/json-patch+json", [{"op": "add", "path": "/data/z", "value": "3"}]),
):
    patched = maps.patch(name="a", namespace=namespace, body=body, content_type=content_type)
    show(content_type, patched.data.to_dict())
applied = maps.server_side_apply(
    namespace=namespace,
    name="a",
    body={"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "4"}},
    field_manager="py",
    force_conflicts=True,
)
show("applied", (applied.data.to_dict(), sorted(entry.manager for entry in applied.metadata.managedFields)))
current = maps.get(name="a", namespace=namespace)
stale = current.to_dict()
stale["metadata"]["resourceVersion"] = "1"
refused("stale", maps.replace, namespace=namespace, body=stale)
refused("missing", maps.get, name="nobody", namespace=namespace)
refused("again", maps.create, namespace=namespace, body={"metadata": {"name": "a"}})
refused("wrong", maps.create, namespace=namespace, body={"metadata": {"name": "A_b"}})
refused("selector", maps.get, namespace=namespace, label_selector="a=b=c")

events = [
    (event["type"], event["object"].metadata.name)
    for event in maps.watch(namespace=namespace, name="a", timeout=1, resource_version="0")
]
show("watched", events)

scaled = deployments.create(
    namespace=namespace,
    body={
        "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
        },
    },
)
scale = deployments.scale.get(name="web", namespace=namespace)
show("scale", (scale.kind, scale.spec.replicas, scale.status.selector))
deployments.scale.patch(name="web", namespace=namespace, body={"spec": {"replicas": 3}})
status = deployments.status.patch(name="web", namespace=namespace, body={"status": {"replicas": 2}})
show("status", (status.spec.replicas, status.status.replicas, status.metadata.generation))

group = f"{namespace}.example.com"
definitions = client.ApiextensionsV1Api()
definitions.create_custom_resource_definition(
    {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"toys.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "toys", "kind": "Toy"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer", "maximum": 5}}}},
                        }
                    },
                }
            ],
        },
    }
)
custom = client.CustomObjectsApi()
while True:
    try:
        custom.list_namespaced_custom_object(group, "v1", namespace, "toys")
        break
    except ApiException as error:
        if error.status not in (404, 429, 503):
            raise
toy = {"apiVersion": f"{group}/v1", "kind": "Toy", "metadata": {"name": "t"}, "spec": {"size": 1}}
show("toy", custom.create_namespaced_custom_object(group, "v1", namespace, "toys", toy)["spec"])
refused("large", custom.patch_namespaced_custom_object, group, "v1", namespace, "toys", "t", {"spec": {"size": 9}})
show("status of the toy", custom.patch_namespaced_custom_object_status(group, "v1", namespace, "toys", "t", {"status": {"a": 1}}).get("status"))
show("gone", custom.delete_collection_namespaced_custom_object(group, "v1", namespace, "toys")["kind"])
definitions.delete_custom_resource_definition(f"toys.{group}")

led = threading.Event()
lock = ConfigMapLock("leader", namespace, "me")
election = electionconfig.Config(lock, lease_duration=4, renew_deadline=3, retry_period=1, onstarted_leading=led.set, onstopped_leading=None)
threading.Thread(target=leaderelection.LeaderElection(election).run, daemon=True).start()
show("led", led.wait(20))

utils.create_from_dict(api_client.ApiClient(), {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "b"}}, namespace=namespace)
show("secret", core.read_namespaced_secret("s", namespace).data)
review = client.AuthorizationV1Api().create_subject_access_review(
    {"spec": {"user": "nobody", "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": namespace}}}
)
show("review", (review.status.allowed, review.status.denied, review.status.reason))
token = core.create_namespaced_service_account_token("default", namespace, {"spec": {"audiences": ["x"], "expirationSeconds": 600}})
show("token", (token.status.token.count("."), token.spec.audiences, token.spec.expiration_seconds))
seen = client.AuthenticationV1Api().create_token_review({"spec": {"token": token.status.token, "audiences": ["x"]}})
show("seen", (seen.status.authenticated, seen.status.user.username, seen.status.audiences))
unseen = client.AuthenticationV1Api().create_token_review({"spec": {"token": token.status.token}})
show("unseen", (unseen.status.authenticated, unseen.status.error))
pod = core.create_namespaced_pod(namespace, {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
show("pod", (pod.status.phase, pod.spec.tolerations[0].toleration_seconds, pod.status.qos_class))
refused("log", core.read_namespaced_pod_log, "p", namespace, container="d")
refused("evicted", core.create_namespaced_pod_eviction, "p", namespace, {"metadata": {"name": "p"}, "deleteOptions": {"preconditions": {"uid": "x"}}})
show("deleted", core.delete_collection_namespaced_pod(namespace).kind)
show("versions", (client.CoreApi().get_api_versions().versions, client.VersionApi().get_code().major))
