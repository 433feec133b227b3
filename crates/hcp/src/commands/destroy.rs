//! `hcp destroy`: away with a cluster or a node pool, and with all that this program made for it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::arguments::{DestroyCluster, DestroyFlags, DestroyNodePool, DestroyPlatform};
use crate::flavour::Flavour;
use crate::high::{PlatformType, UsageError, patience};
use crate::manifests::{DELETE_WITH_CLUSTER_LABEL, INFRA_LABEL};
use crate::plane::{HOSTED_CLUSTERS, NODE_POOLS, Plane, SECRETS, Write};
use crate::progress::{Progress, State, Step, seconds};

use super::change::checked_name;
use super::error::CommandError;
use super::judge;
use super::wait::{Purpose, wait};

/// Asks the operator to remove what the cluster made outside itself.
const CLEANUP: &str = "hypershift.openshift.io/cleanup-cloud-resources";
/// What this program makes beside the HostedCluster, by the end of its name.
const SECRET_SUFFIXES: &[&str] = &["pull-secret", "ssh-key", "infra-credentials", "etcd-encryption-key"];

pub(super) async fn cluster(arguments: &DestroyCluster, flavour: Flavour) -> Result<(), CommandError> {
    let flags = &arguments.flags;
    let name = required_name(flags.name.as_deref())?;
    let namespace = checked_name(&flags.plane.namespace)?;
    let plane = Plane::connect(flags.plane.kubeconfig.as_deref()).await?;
    let mut progress = Progress::start();
    let found = plane.get(&HOSTED_CLUSTERS, namespace, name).await?;
    if let Some(cluster) = &found {
        check_platform(arguments.platform, cluster, namespace, name, flavour)?;
        remove(&plane, cluster, flags, (namespace, name), &mut progress).await?;
    }
    let infra_id = flags.infra_id.as_deref().filter(|id| !id.is_empty());
    let infra_id = infra_id.or_else(|| found.as_ref()?["spec"]["infraID"].as_str());
    let removed = remove_secrets(&plane, namespace, name, infra_id).await?;
    if found.is_none() && removed == 0 {
        return Err(CommandError::NothingToDestroy { namespace: namespace.to_owned(), name: name.to_owned() });
    }
    eprintln!("destroyed cluster {namespace}/{name} in {}", seconds(progress.elapsed()));
    Ok(())
}

fn required_name(name: Option<&str>) -> Result<&str, UsageError> {
    checked_name(name.filter(|name| !name.is_empty()).ok_or(UsageError::Required("name"))?)
}

fn check_platform(
    platform: DestroyPlatform,
    cluster: &Value,
    namespace: &str,
    name: &str,
    flavour: Flavour,
) -> Result<(), CommandError> {
    let expected = match platform {
        DestroyPlatform::Agent => PlatformType::Agent,
        DestroyPlatform::None => PlatformType::None,
        DestroyPlatform::Kubevirt => PlatformType::KubeVirt,
    };
    let found = cluster["spec"]["platform"]["type"].as_str().unwrap_or_default();
    if found == expected.as_str() {
        return Ok(());
    }
    Err(CommandError::Platform {
        what: format!("the platform of HostedCluster {namespace}/{name}"),
        found: found.to_owned(),
        expected: expected.as_str(),
        command: format!("{} destroy cluster {} --name {name}", flavour.name(), found.to_lowercase()),
    })
}

async fn remove(
    plane: &Plane,
    cluster: &Value,
    flags: &DestroyFlags,
    (namespace, name): (&str, &str),
    progress: &mut Progress,
) -> Result<(), CommandError> {
    let what = format!("cluster {namespace}/{name}");
    let deleting = cluster["metadata"]["deletionTimestamp"].is_string();
    progress.show(vec![Step::new("asked to go", if deleting { State::Done } else { State::Waiting }, "")]);
    if !deleting && flags.destroy_cloud_resources.unwrap_or(true) {
        let patch = json!({"metadata": {"annotations": {CLEANUP: "true"}}});
        plane.merge(&HOSTED_CLUSTERS, namespace, name, &patch, Write::Real).await?;
    }
    plane.delete(&HOSTED_CLUSTERS, namespace, name).await?;
    if flags.force && plane.get(&HOSTED_CLUSTERS, namespace, name).await?.is_some() {
        eprintln!("warning: the finalizers of {what} are taken away; what belongs to it may stay behind");
        let patch = json!({"metadata": {"finalizers": null}});
        plane.merge(&HOSTED_CLUSTERS, namespace, name, &patch, Write::Real).await?;
    }
    let uid = cluster["metadata"]["uid"].clone();
    let purpose = Purpose {
        goes_on: format!("{what} goes on being removed in the background"),
        look: format!("hcp describe cluster {name} -n {namespace}"),
        what,
    };
    let place = (&HOSTED_CLUSTERS, namespace, name);
    wait(plane, place, None, patience(flags.cluster_grace_period), &purpose, progress, |object| {
        // One of the same name that was made meanwhile is not the one that goes.
        let same = object.filter(|object| object["metadata"]["uid"] == uid);
        let mut judgement = judge::gone(same, "cluster");
        judgement.steps.insert(0, Step::new("asked to go", State::Done, ""));
        judgement
    })
    .await
}

/// Removes the Secrets that were made for the cluster, and says how many there were.
async fn remove_secrets(
    plane: &Plane,
    namespace: &str,
    name: &str,
    infra_id: Option<&str>,
) -> Result<usize, CommandError> {
    let mut names = BTreeSet::new();
    // What may go with a cluster is known by label and name, also when nobody knows its infrastructure any more.
    let query = format!("labelSelector={DELETE_WITH_CLUSTER_LABEL}%3Dtrue");
    let own = |secret: &str| SECRET_SUFFIXES.iter().any(|suffix| *secret == format!("{name}-{suffix}"));
    names.extend(plane.list(&SECRETS, namespace, &query).await?.iter().filter_map(name_of).filter(|name| own(name)));
    if let Some(id) = infra_id {
        let query = format!("labelSelector={INFRA_LABEL}%3D{}", checked_name(id)?);
        names.extend(plane.list(&SECRETS, namespace, &query).await?.iter().filter_map(name_of));
    }
    for secret in &names {
        plane.delete(&SECRETS, namespace, secret).await?;
    }
    Ok(names.len())
}

fn name_of(object: &Value) -> Option<String> {
    object["metadata"]["name"].as_str().map(str::to_owned)
}

pub(super) async fn node_pool(arguments: &DestroyNodePool) -> Result<(), CommandError> {
    let name = required_name(arguments.name.as_deref())?;
    let namespace = checked_name(&arguments.plane.namespace)?;
    let plane = Plane::connect(arguments.plane.kubeconfig.as_deref()).await?;
    let pool = plane.require(&NODE_POOLS, namespace, name).await?;
    let mut progress = Progress::start();
    plane.delete(&NODE_POOLS, namespace, name).await?;
    let cluster = pool["spec"]["clusterName"].as_str().unwrap_or_default();
    let what = format!("node pool {namespace}/{name}");
    let purpose = Purpose {
        goes_on: format!("{what} goes on being removed in the background"),
        look: format!("hcp describe cluster {cluster} -n {namespace}"),
        what,
    };
    let uid = pool["metadata"]["uid"].clone();
    let place = (&NODE_POOLS, namespace, name);
    wait(&plane, place, None, patience(arguments.timeout), &purpose, &mut progress, |object| {
        judge::gone(object.filter(|object| object["metadata"]["uid"] == uid), "node pool")
    })
    .await?;
    eprintln!("destroyed {} in {}", purpose.what, seconds(progress.elapsed()));
    Ok(())
}
