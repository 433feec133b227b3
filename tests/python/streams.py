"""Watches that resume and expire, files of objects, typed models and errors with the client of PyPI; prints what it saw."""

import json
import sys

import yaml
from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client import api_client
from kubernetes.client.rest import ApiException
from kubernetes.stream import stream

namespace = sys.argv[1]
config.load_kube_config()
core, apps, batch = client.CoreV1Api(), client.AppsV1Api(), client.BatchV1Api()
maps = dynamic.DynamicClient(api_client.ApiClient()).resources.get(api_version="v1", kind="ConfigMap")


def show(title, value):
    print(f"{title}: {value}")


def refused(title, call, *arguments, **options):
    """What an error says: its code, its reason and the causes that the server names."""
    try:
        call(*arguments, **options)
        show(title, "no error")
    except (ApiException, dynamic.exceptions.DynamicApiError) as error:
        if error.status == 0:
            # A refused handshake: what the client saw of it is one text, with the headers in the middle.
            first, _, body = error.reason.split("-+-+-")
            show(title, (first.strip(), body.strip().removeprefix("b").strip("'")))
            return
        try:
            status = json.loads(error.body)
            causes = sorted((cause.get("field"), cause.get("reason")) for cause in status.get("details", {}).get("causes", []))
            show(title, (error.status, status["reason"] if "reason" in status else None, status["message"].replace(namespace, "ns"), causes))
        except ValueError:
            show(title, (error.status, error.reason, str(error.body)[:200]))


def events(count, call, *arguments, **options):
    """The first events of a watch."""
    seen, stream_of_events = [], watch.Watch()
    for event in stream_of_events.stream(call, *arguments, **options):
        found = event["raw_object"]
        seen.append((event["type"], found["metadata"].get("name"), found.get("data")))
        if len(seen) == count:
            stream_of_events.stop()
    return seen


# Objects from a file of many, as people keep them.
objects = yaml.safe_load_all(
    """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: one, labels: {app: x}}, data: {a: "1"}}
- {apiVersion: v1, kind: Secret, metadata: {name: hidden}, stringData: {a: b}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec: {schedule: "0 3 * * *", suspend: true, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: closed}
spec: {podSelector: {}}
"""
)
made = utils.create_from_yaml(api_client.ApiClient(), yaml_objects=objects, namespace=namespace)
show("made", [sorted({part.kind for part in group}) for group in made])
try:
    again = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "Bad_"}}]
    utils.create_from_yaml(api_client.ApiClient(), yaml_objects=again, namespace=namespace)
except utils.FailToCreateError as error:
    show("not made", [(part.status, part.reason) for part in error.api_exceptions])

# A watch from a list, one that goes on where another stopped, one of a version that is gone, one of names, one that sees all first.
listed = core.list_namespaced_config_map(namespace, label_selector="app=x")
core.patch_namespaced_config_map("one", namespace, {"data": {"a": "2"}})
core.patch_namespaced_config_map("one", namespace, {"metadata": {"labels": {"app": "y"}}})
core.patch_namespaced_config_map("one", namespace, {"metadata": {"labels": {"app": "x"}}, "data": {"a": "3"}})
start = listed.metadata.resource_version
show("selected", events(3, core.list_namespaced_config_map, namespace, label_selector="app=x", resource_version=start, timeout_seconds=20))
show("by name", events(1, core.list_namespaced_config_map, namespace, field_selector="metadata.name=one", timeout_seconds=20))
show("metadata only", events(1, core.list_namespaced_secret, namespace, field_selector="type=Opaque,metadata.name=hidden", timeout_seconds=20)[0][:2])
show("nothing", events(1, core.list_namespaced_config_map, namespace, label_selector="app=none", timeout_seconds=1))
refused("future", core.list_namespaced_config_map, namespace, resource_version="99999999999")
refused("nonsense", core.list_namespaced_config_map, namespace, resource_version="x")
show("dynamic", [(event["type"], event["object"].data.a) for event in maps.watch(namespace=namespace, label_selector="app=x", timeout=1)])
initial = core.list_namespaced_config_map(
    namespace, watch=True, send_initial_events=True, resource_version_match="NotOlderThan", allow_watch_bookmarks=True,
    label_selector="app=x", timeout_seconds=1, _preload_content=False,
)
lines = [json.loads(line) for line in initial.data.decode().splitlines()]
show("initial", [(line["type"], line["object"]["metadata"].get("name"), line["object"]["metadata"].get("annotations")) for line in lines][:2])

# Pages, whose tokens end somewhere.
for name in "abcde":
    core.create_namespaced_config_map(namespace, {"metadata": {"name": name, "labels": {"page": "1"}}})
pages, token = [], None
while True:
    page = core.list_namespaced_config_map(namespace, label_selector="page=1", limit=2, _continue=token)
    pages.append(([item.metadata.name for item in page.items], page.metadata.remaining_item_count))
    token = page.metadata._continue
    if not token:
        break
show("pages", pages)
refused("bad token", core.list_namespaced_config_map, namespace, limit=2, _continue="bm9uc2Vuc2U")
show("collection", core.delete_collection_namespaced_config_map(namespace, label_selector="page=1", body=client.V1DeleteOptions(propagation_policy="Background")).kind)
show("left", [item.metadata.name for item in core.list_namespaced_config_map(namespace, label_selector="page=1").items])

# Typed models there and back.
nightly = batch.read_namespaced_cron_job("nightly", namespace)
nightly.spec.schedule = "*/5 * * * *"
nightly.spec.job_template.spec.template.spec.containers[0].resources = client.V1ResourceRequirements(requests={"cpu": "0.5", "memory": "1Gi"})
replaced = batch.replace_namespaced_cron_job("nightly", namespace, nightly)
show("replaced", (replaced.spec.schedule, replaced.spec.job_template.spec.template.spec.containers[0].resources.requests, replaced.metadata.generation))
stale = replaced
stale.metadata.resource_version = "1"
refused("stale", batch.replace_namespaced_cron_job, "nightly", namespace, stale)
refused("wrong schedule", batch.patch_namespaced_cron_job, "nightly", namespace, {"spec": {"schedule": "odd"}})
refused("wrong type", batch.patch_namespaced_cron_job, "nightly", namespace, {"spec": {"schedule": 5}})
refused("strict", batch.patch_namespaced_cron_job, "nightly", namespace, {"spec": {"odd": 5}}, field_validation="Strict")
pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": ""}, {"name": "c", "image": "i", "ports": [{"containerPort": 0}]}]}}
refused("invalid pod", core.create_namespaced_pod, namespace, pod)
refused("dry", core.create_namespaced_pod, namespace, {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}, dry_run="All")
refused("conflict", core.patch_namespaced_config_map, "one", namespace, {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "9"}}, field_manager="other", _content_type="application/apply-patch+yaml")
refused("apply without manager", core.patch_namespaced_config_map, "one", namespace, {"apiVersion": "v1", "kind": "ConfigMap"}, _content_type="application/apply-patch+yaml")
refused("no namespace", core.create_namespaced_config_map, "no-such", {"metadata": {"name": "x"}})

core.create_namespaced_pod(namespace, {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
refused("exec", stream, core.connect_get_namespaced_pod_exec, "p", namespace, command=["date"], stdout=True)
refused("logs", core.read_namespaced_pod_log, "p", namespace)
bound = client.V1Binding(metadata=client.V1ObjectMeta(name="p"), target=client.V1ObjectReference(kind="Node", name="somewhere"))
core.create_namespaced_pod_binding("p", namespace, bound, _preload_content=False)
show("bound", core.read_namespaced_pod("p", namespace).spec.node_name)
refused("bound again", core.create_namespaced_pod_binding, "p", namespace, bound, _preload_content=False)
status = core.patch_namespaced_pod_status("p", namespace, {"status": {"phase": "Running", "podIP": "192.0.2.1", "conditions": [{"type": "Ready", "status": "True"}]}})
show("status", (status.status.phase, status.status.pod_ips[0].ip, [condition.type for condition in status.status.conditions]))
deleted = core.delete_namespaced_pod("p", namespace, grace_period_seconds=5)
show("deleted", (deleted.metadata.deletion_grace_period_seconds, deleted.metadata.deletion_timestamp is not None))
show("gone", core.delete_namespaced_pod("p", namespace, grace_period_seconds=0).metadata.deletion_grace_period_seconds)
refused("gone", core.read_namespaced_pod, "p", namespace)
secret = core.read_namespaced_secret("hidden", namespace)
show("secret", (secret.data, secret.type, secret.immutable))
core.patch_namespaced_secret("hidden", namespace, {"immutable": True})
refused("immutable", core.patch_namespaced_secret, "hidden", namespace, {"stringData": {"a": "c"}})
service = core.create_namespaced_service(namespace, {"metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}})
show("service", (service.spec.ports[0].node_port is not None, service.spec.ip_families, service.spec.external_traffic_policy))
show("resources", len(core.get_api_resources().resources))
show("groups", [group.name for group in client.ApisApi().get_api_versions().groups if not group.name.endswith("example.com")])
