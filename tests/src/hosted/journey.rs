//! The life of a hosted cluster: the same steps on every management plane.

use kube::api::{DeleteParams, Patch, PatchParams};
use roost_runtime::Runtime as _;
use serde_json::{Value, json};

use super::objects::{
    NAMESPACE, api, condition, connect, create, decode, hosted_clusters, refused, secrets, until, wait_until_gone,
    wait_until_ready, write_into,
};
use super::{HostedCluster, HostedError, Management};

/// A part of the journey, told as it is reached.
pub type Step<'a> = &'a mut dyn FnMut(&str);

/// Runs all steps.
pub async fn run(management: &Management, tell: Step<'_>) -> Result<(), HostedError> {
    let client = &management.client;
    let one = HostedCluster::new("one", management.address);
    let two = HostedCluster::new("two", management.address);
    create(client, &one).await?;
    create(client, &two).await?;
    let guest = wait_until_ready(client, &one).await?;
    let other = wait_until_ready(client, &two).await?;
    tell("two clusters are available");
    write_into(&guest, "written").await?;
    write_into(&other, "written").await?;
    tell("both take writes");
    versions_tell_the_truth(client, &guest).await?;
    tell("versions are told on both sides");
    copies_are_equal(client, &one).await?;
    tell("the kubeconfig is the same in all places");
    clusters_are_strangers(client, &one, &two).await?;
    tell("one cluster's credentials are nothing to the other");
    upgrade(client, &one).await?;
    tell("another release is in the history");
    children_come_back(management, &one).await?;
    write_into(&wait_until_ready(client, &one).await?, "after").await?;
    tell("what is removed by hand comes back, with its data");
    sleep_and_wake(client, &one).await?;
    tell("a sleeping cluster wakes at the first request");
    hosted_clusters(client).delete("one", &DeleteParams::default()).await.map_err(refused("one was not deleted"))?;
    wait_until_gone(client, &one).await?;
    write_into(&other, "still").await?;
    hosted_clusters(client).delete("two", &DeleteParams::default()).await.map_err(refused("two was not deleted"))?;
    wait_until_gone(client, &two).await?;
    if !management.runtime.planes().is_empty() {
        return Err(HostedError::Wrong("data of hosted clusters are left".to_owned()));
    }
    tell("both are gone, and nothing is left");
    Ok(())
}

/// The HostedCluster and the ClusterVersion inside say the same.
async fn versions_tell_the_truth(client: &kube::Client, guest: &kube::Client) -> Result<(), HostedError> {
    let inside = api(guest, "config.openshift.io/v1", "ClusterVersion", "clusterversions", "");
    let inside = until("the hosted cluster had a version", async || {
        let object = inside.get("version").await.map_err(|error| error.to_string())?;
        let state = object.data["status"]["history"][0]["state"].clone();
        if state == "Completed" { Ok(object) } else { Err(state.to_string()) }
    })
    .await?;
    let outside = hosted_clusters(client).get("one").await.map_err(refused("one was not read"))?;
    let version = |value: &Value| value["history"][0]["version"].as_str().unwrap_or_default().to_owned();
    let (inside, outside) = (version(&inside.data["status"]), version(&outside.data["status"]["version"]));
    let served = guest.apiserver_version().await.map_err(refused("the hosted API has no version"))?.git_version;
    if inside != outside || format!("v{inside}") != served {
        return Err(HostedError::Wrong(format!("inside {inside}, outside {outside}, served {served}")));
    }
    Ok(())
}

/// Beside the HostedCluster and beside the control plane.
async fn copies_are_equal(client: &kube::Client, cluster: &HostedCluster) -> Result<(), HostedError> {
    let name = format!("{}-admin-kubeconfig", cluster.name);
    let copy = secrets(client, NAMESPACE).get(&name).await.map_err(refused(name))?;
    let original = secrets(client, &cluster.control_plane_namespace()).get("admin-kubeconfig").await;
    let original = original.map_err(refused("the control plane has no kubeconfig"))?;
    if copy.data["data"] == original.data["data"] {
        Ok(())
    } else {
        Err(HostedError::Wrong("the copy of the kubeconfig differs from the original".to_owned()))
    }
}

/// A certificate that one cluster signed is refused by the other.
async fn clusters_are_strangers(
    client: &kube::Client,
    one: &HostedCluster,
    two: &HostedCluster,
) -> Result<(), HostedError> {
    let kubeconfig = async |cluster: &HostedCluster| {
        let name = format!("{}-admin-kubeconfig", cluster.name);
        let secret = secrets(client, NAMESPACE).get(&name).await.map_err(refused(name))?;
        decode(secret.data["data"]["kubeconfig"].as_str().unwrap_or_default())
            .ok_or_else(|| HostedError::Wrong("the kubeconfig is not text".to_owned()))
    };
    let (mine, theirs) = (kubeconfig(one).await?, kubeconfig(two).await?);
    let mixed = mix(&mine, &theirs)?;
    let stranger = connect(&mixed).await?;
    let request = http::Request::get("/api/v1/namespaces").body(Vec::new());
    let request = request.map_err(|error| HostedError::Wrong(error.to_string()))?;
    match stranger.request::<Value>(request).await {
        Err(kube::Error::Api(status)) if status.code == 401 => Ok(()),
        Err(error) => Err(HostedError::Wrong(format!("a stranger was refused with {error}"))),
        Ok(_) => Err(HostedError::Wrong("a certificate of another cluster was believed".to_owned())),
    }
}

/// One cluster's user at the other cluster's address.
fn mix(mine: &str, theirs: &str) -> Result<String, HostedError> {
    let read = |text: &str| -> Result<Value, HostedError> {
        serde_saphyr::from_str(text).map_err(|error| HostedError::Wrong(error.to_string()))
    };
    let mut mixed = read(theirs)?;
    mixed["users"] = read(mine)?["users"].clone();
    Ok(mixed.to_string())
}

/// Another release completes, and both histories say so.
async fn upgrade(client: &kube::Client, cluster: &HostedCluster) -> Result<(), HostedError> {
    let change = json!({"spec": {"release": {"image": "example.test/release:2"}}});
    let clusters = hosted_clusters(client);
    clusters
        .patch(&cluster.name, &PatchParams::default(), &Patch::Merge(change))
        .await
        .map_err(refused("the release was not changed"))?;
    until("the other release was in the histories", async || {
        let object = clusters.get(&cluster.name).await.map_err(|error| error.to_string())?;
        for field in ["version", "controlPlaneVersion"] {
            let history = &object.data["status"][field]["history"];
            if history[0]["image"] != "example.test/release:2" || history[0]["state"] != "Completed" {
                return Err(history.to_string());
            }
        }
        Ok(())
    })
    .await
}

/// A control plane, a Service and a key that are removed by hand.
async fn children_come_back(management: &Management, cluster: &HostedCluster) -> Result<(), HostedError> {
    let client = &management.client;
    let inside = cluster.control_plane_namespace();
    let planes = api(client, "hypershift.openshift.io/v1beta1", "HostedControlPlane", "hostedcontrolplanes", &inside);
    let before = planes.get(&cluster.name).await.map_err(refused("the control plane was not read"))?;
    planes.delete(&cluster.name, &DeleteParams::default()).await.map_err(refused("it was not deleted"))?;
    until("the control plane came back", async || {
        let object = planes.get(&cluster.name).await.map_err(|error| error.to_string())?;
        let is_new = object.metadata.uid != before.metadata.uid;
        let (available, message) = condition(&object, "Available");
        if is_new && available == "True" { Ok(()) } else { Err(message) }
    })
    .await?;
    let key = secrets(client, &inside);
    key.delete("system-admin-client", &DeleteParams::default()).await.map_err(refused("a key was not deleted"))?;
    until("the key came back", async || key.get("system-admin-client").await.map_err(|error| error.to_string()))
        .await?;
    let guest = wait_until_ready(client, cluster).await?;
    let maps = api(&guest, "v1", "ConfigMap", "configmaps", "default");
    maps.get("written").await.map_err(refused("what was written before is lost"))?;
    Ok(())
}

async fn sleep_and_wake(client: &kube::Client, cluster: &HostedCluster) -> Result<(), HostedError> {
    let guest = wait_until_ready(client, cluster).await?;
    let clusters = hosted_clusters(client);
    let change = json!({"metadata": {"annotations": {"roost.dev/hibernate": "true"}}});
    clusters
        .patch(&cluster.name, &PatchParams::default(), &Patch::Merge(change))
        .await
        .map_err(refused("the cluster was not put to sleep"))?;
    until("the cluster slept", async || {
        let object = clusters.get(&cluster.name).await.map_err(|error| error.to_string())?;
        let (status, message) = condition(&object, "Hibernating");
        if status == "True" { Ok(()) } else { Err(message) }
    })
    .await?;
    let maps = api(&guest, "v1", "ConfigMap", "configmaps", "default");
    until("the sleeping cluster answered", async || maps.get("written").await.map_err(|error| error.to_string()))
        .await?;
    until("the cluster was awake", async || {
        let object = clusters.get(&cluster.name).await.map_err(|error| error.to_string())?;
        let (status, _) = condition(&object, "Hibernating");
        if status == "missing" { Ok(()) } else { Err(status) }
    })
    .await
}
