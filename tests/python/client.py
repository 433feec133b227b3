"""Lists, watches, patches and applies with the Kubernetes client of PyPI, and prints what it saw."""

import sys

from kubernetes import client, config, watch
from kubernetes.client.rest import ApiException

namespace = sys.argv[1]
config.load_kube_config()
core = client.CoreV1Api()
apps = client.AppsV1Api()


def show(title, value):
    print(f"{title}: {value}")


made = core.create_namespaced_config_map(
    namespace, client.V1ConfigMap(metadata=client.V1ObjectMeta(name="one", labels={"app": "x"}), data={"a": "1"})
)
show("created", (made.metadata.name, made.data, made.metadata.labels))

for name in ("two", "three"):
    core.create_namespaced_config_map(
        namespace, client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels={"app": "x"}))
    )
listed = core.list_namespaced_config_map(namespace, label_selector="app=x")
show("listed", [item.metadata.name for item in listed.items])

page = core.list_namespaced_config_map(namespace, label_selector="app=x", limit=2)
rest = core.list_namespaced_config_map(namespace, label_selector="app=x", limit=2, _continue=page.metadata._continue)
show("pages", ([item.metadata.name for item in page.items], [item.metadata.name for item in rest.items]))

core.patch_namespaced_config_map("one", namespace, {"data": {"b": "2"}})
core.delete_namespaced_config_map("two", namespace)
seen = []
stream = watch.Watch()
for event in stream.stream(
    core.list_namespaced_config_map,
    namespace,
    label_selector="app=x",
    resource_version=listed.metadata.resource_version,
    timeout_seconds=20,
):
    seen.append((event["type"], event["object"].metadata.name))
    if len(seen) == 2:
        stream.stop()
show("watched", seen)

applied = core.patch_namespaced_config_map(
    "applied",
    namespace,
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": {"a": "1"}},
    field_manager="python",
    force=True,
    _content_type="application/apply-patch+yaml",
)
show("applied", (applied.data, [entry.manager for entry in applied.metadata.managed_fields]))

deployment = apps.create_namespaced_deployment(
    namespace,
    client.V1Deployment(
        metadata=client.V1ObjectMeta(name="web"),
        spec=client.V1DeploymentSpec(
            replicas=2,
            selector=client.V1LabelSelector(match_labels={"app": "web"}),
            template=client.V1PodTemplateSpec(
                metadata=client.V1ObjectMeta(labels={"app": "web"}),
                spec=client.V1PodSpec(containers=[client.V1Container(name="c", image="image:1")]),
            ),
        ),
    ),
)
show("deployment", (deployment.spec.replicas, deployment.spec.strategy.type, deployment.spec.template.spec.dns_policy))
scaled = apps.patch_namespaced_deployment_scale("web", namespace, {"spec": {"replicas": 5}})
show("scaled", scaled.spec.replicas)

for action in (
    lambda: core.read_namespaced_config_map("nobody", namespace),
    lambda: core.create_namespaced_config_map(namespace, made),
    lambda: core.create_namespaced_config_map(
        namespace, client.V1ConfigMap(metadata=client.V1ObjectMeta(name="Bad_Name"))
    ),
):
    try:
        action()
    except ApiException as error:
        show("refused", (error.status, error.reason))

review = client.AuthorizationV1Api().create_self_subject_access_review(
    client.V1SelfSubjectAccessReview(
        spec=client.V1SelfSubjectAccessReviewSpec(
            resource_attributes=client.V1ResourceAttributes(verb="get", resource="pods", namespace=namespace)
        )
    )
)
show("allowed", review.status.allowed)
show("version", client.VersionApi().get_code().git_version)
