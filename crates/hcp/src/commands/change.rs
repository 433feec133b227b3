//! Changes to clusters and node pools that exist: upgrade, pause, resume, hibernate, wake, rotate.

use std::cell::Cell;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::arguments::{Pause, PauseWhat, Plane as Place, Resume, Rotate, RotateWhat, Sleep, Upgrade, UpgradeWhat};
use crate::conditions::condition;
use crate::high::{self, UsageError, patience};
use crate::plane::{HOSTED_CLUSTERS, NODE_POOLS, OPERATOR_NAMESPACE, Plane, Resource, Write};
use crate::progress::{Progress, State, Step};

use super::error::CommandError;
use super::judge;
use super::release::Releases;
use super::wait::{Judgement, Purpose, Verdict, wait};

/// Parks a cluster while it is "true".
const HIBERNATE: &str = "roost.dev/hibernate";
/// Asks for new authorities: which, and since when it was asked, so that asking again is something new.
const ROTATE_CA: &str = "roost.dev/rotate-ca";

/// A name that can stand in a path.
pub(super) fn checked_name(name: &str) -> Result<&str, UsageError> {
    if roost_object::metadata::name_is_label(name, false).is_empty() {
        return Ok(name);
    }
    Err(UsageError::Name { flag: "name", value: name.to_owned() })
}

async fn connect(place: &Place, name: &str) -> Result<Plane, CommandError> {
    checked_name(name)?;
    if !roost_object::metadata::name_is_label(&place.namespace, false).is_empty() {
        return Err(UsageError::Name { flag: "namespace", value: place.namespace.clone() }.into());
    }
    Ok(Plane::connect(place.kubeconfig.as_deref()).await?)
}

fn purpose(place: &Place, name: &str, goes_on: &str) -> Purpose {
    let what = format!("cluster {}/{name}", place.namespace);
    Purpose {
        goes_on: format!("{what} {goes_on} in the background"),
        look: format!("hcp describe cluster {name} -n {}", place.namespace),
        what,
    }
}

pub(super) async fn upgrade(arguments: &Upgrade) -> Result<(), CommandError> {
    let UpgradeWhat::Cluster {
        name,
        plane: place,
        release_image,
        node_pools,
        control_plane_only,
        dry_run,
        wait: waiting,
        timeout,
    } = &arguments.what;
    let image = high::release_image(release_image)?;
    let plane = connect(place, name).await?;
    let (cluster, releases) = tokio::try_join!(
        plane.require(&HOSTED_CLUSTERS, &place.namespace, name),
        Releases::ask(&plane, OPERATOR_NAMESPACE)
    )?;
    releases.unwrap_or_default().choose(Some(&image))?;
    let pools = if *node_pools { pools_of(&plane, place, name).await? } else { Vec::new() };
    let write = if *dry_run { Write::DryRun } else { Write::Real };
    let release = json!({"image": image});
    // A control plane that was moved alone follows the cluster again once both are moved together.
    let patch = if *control_plane_only {
        json!({"spec": {"controlPlaneRelease": release}})
    } else {
        json!({"spec": {"release": release, "controlPlaneRelease": null}})
    };
    let before = cluster["spec"]["release"]["image"].as_str().unwrap_or_default().to_owned();
    // All of it is tried before any of it is done.
    let cluster = plane.merge(&HOSTED_CLUSTERS, &place.namespace, name, &patch, Write::DryRun).await?;
    for pool in &pools {
        let patch = json!({"spec": {"release": release}});
        plane.merge(&NODE_POOLS, &place.namespace, pool, &patch, Write::DryRun).await?;
    }
    let cluster = match write {
        Write::DryRun => cluster,
        Write::Real => plane.merge(&HOSTED_CLUSTERS, &place.namespace, name, &patch, write).await?,
    };
    if write == Write::Real {
        for pool in &pools {
            let patch = json!({"spec": {"release": release}});
            plane.merge(&NODE_POOLS, &place.namespace, pool, &patch, write).await?;
        }
    }
    let moves = if *dry_run { "would move" } else { "moves" };
    if before == image && !*control_plane_only {
        eprintln!("cluster {}/{name} is at {image} already", place.namespace);
    } else {
        eprintln!("cluster {}/{name} {moves} from {before} to {image}", place.namespace);
    }
    for pool in &pools {
        eprintln!("node pool {}/{pool} {moves} to {image}", place.namespace);
    }
    if *dry_run || !*waiting {
        return Ok(());
    }
    let place_of = (&HOSTED_CLUSTERS, place.namespace.as_str(), name.as_str());
    let purpose = purpose(place, name, "goes on moving to the release");
    let mut progress = Progress::start();
    wait(&plane, place_of, Some(&cluster), patience(*timeout), &purpose, &mut progress, |object| {
        if *control_plane_only || !node_pools {
            judge::control_plane_rolled_out(object, &image)
        } else {
            judge::rolled_out(object, &image)
        }
    })
    .await
}

async fn pools_of(plane: &Plane, place: &Place, cluster: &str) -> Result<Vec<String>, CommandError> {
    let pools = plane.list(&NODE_POOLS, &place.namespace, "").await?;
    let of_cluster = pools.iter().filter(|pool| pool["spec"]["clusterName"] == cluster);
    Ok(of_cluster.filter_map(|pool| pool["metadata"]["name"].as_str().map(str::to_owned)).collect())
}

pub(super) async fn pause(arguments: &Pause) -> Result<(), CommandError> {
    let (kind, name, place, more) = match &arguments.what {
        PauseWhat::Cluster { name, plane, more } => (&HOSTED_CLUSTERS, name, plane, more),
        PauseWhat::NodePool { name, plane, more } => (&NODE_POOLS, name, plane, more),
    };
    let until = match &more.until {
        Some(until) => high::paused_until("until", until)?,
        None => "true".to_owned(),
    };
    set_pause(kind, name, place, &json!(until)).await?;
    let end = if until == "true" { "resumed" } else { &until };
    eprintln!("{} {}/{name} is paused until {end}", in_words(kind), place.namespace);
    Ok(())
}

pub(super) async fn resume(arguments: &Resume) -> Result<(), CommandError> {
    let (kind, name, place) = match &arguments.what {
        PauseWhat::Cluster { name, plane, .. } => (&HOSTED_CLUSTERS, name, plane),
        PauseWhat::NodePool { name, plane, .. } => (&NODE_POOLS, name, plane),
    };
    set_pause(kind, name, place, &Value::Null).await?;
    eprintln!("{} {}/{name} goes on", in_words(kind), place.namespace);
    Ok(())
}

fn in_words(kind: &Resource) -> &'static str {
    if kind.kind == NODE_POOLS.kind { "node pool" } else { "cluster" }
}

async fn set_pause(kind: &'static Resource, name: &str, place: &Place, until: &Value) -> Result<(), CommandError> {
    let plane = connect(place, name).await?;
    plane.require(kind, &place.namespace, name).await?;
    let patch = json!({"spec": {"pausedUntil": until}});
    plane.merge(kind, &place.namespace, name, &patch, Write::Real).await?;
    Ok(())
}

pub(super) async fn hibernate(arguments: &Sleep) -> Result<(), CommandError> {
    let (name, place) = (&arguments.name, &arguments.plane);
    let (plane, cluster) = annotate(place, name, HIBERNATE, &json!("true")).await?;
    if !arguments.wait {
        eprintln!("cluster {}/{name} goes to sleep: {}", place.namespace, sleep_state(&cluster));
        return Ok(());
    }
    let place_of = (&HOSTED_CLUSTERS, place.namespace.as_str(), name.as_str());
    let purpose = purpose(place, name, "goes to sleep");
    let mut progress = Progress::start();
    wait(&plane, place_of, None, patience(arguments.timeout), &purpose, &mut progress, |object| {
        judge::has_status(object, "Hibernating", "asleep", true)
    })
    .await
}

pub(super) async fn wake(arguments: &Sleep) -> Result<(), CommandError> {
    let (name, place) = (&arguments.name, &arguments.plane);
    let (plane, cluster) = annotate(place, name, HIBERNATE, &Value::Null).await?;
    if !arguments.wait {
        eprintln!("cluster {}/{name} wakes: {}", place.namespace, sleep_state(&cluster));
        return Ok(());
    }
    let place_of = (&HOSTED_CLUSTERS, place.namespace.as_str(), name.as_str());
    let purpose = purpose(place, name, "goes on waking");
    let mut progress = Progress::start();
    wait(&plane, place_of, None, patience(arguments.timeout), &purpose, &mut progress, |object| {
        let awake = judge::has_status(object, "Hibernating", "awake", false);
        let usable = judge::usable(object);
        let steps = awake.steps.into_iter().chain(usable.steps).collect();
        let verdict = if matches!(awake.verdict, Verdict::Done) { usable.verdict } else { awake.verdict };
        Judgement { steps, verdict }
    })
    .await
}

fn sleep_state(cluster: &Value) -> String {
    match condition(cluster, "Hibernating") {
        Some(found) if !found.message.is_empty() => found.message.to_owned(),
        Some(found) if found.is_true() => "it is asleep".to_owned(),
        Some(_) => "it is awake".to_owned(),
        None => "the operator has not said anything yet".to_owned(),
    }
}

async fn annotate(place: &Place, name: &str, annotation: &str, value: &Value) -> Result<(Plane, Value), CommandError> {
    let plane = connect(place, name).await?;
    plane.require(&HOSTED_CLUSTERS, &place.namespace, name).await?;
    let patch = json!({"metadata": {"annotations": {annotation: value}}});
    let cluster = plane.merge(&HOSTED_CLUSTERS, &place.namespace, name, &patch, Write::Real).await?;
    Ok((plane, cluster))
}

pub(super) async fn rotate(arguments: &Rotate) -> Result<(), CommandError> {
    let RotateWhat::Ca { name, plane: place, ca, wait: waiting, timeout } = &arguments.what;
    if ca != "all" {
        checked_name(ca)?;
    }
    // Whole seconds would make two requests within one second the same request.
    let asked = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string();
    let (plane, cluster) = annotate(place, name, ROTATE_CA, &json!(format!("{ca}@{asked}"))).await?;
    let which = if ca == "all" { "all authorities".to_owned() } else { format!("the authority {ca}") };
    if !*waiting {
        eprintln!("{which} of cluster {}/{name} will be replaced step by step", place.namespace);
        eprintln!("hint: look with: hcp describe cluster {name} -n {}", place.namespace);
        return Ok(());
    }
    let place_of = (&HOSTED_CLUSTERS, place.namespace.as_str(), name.as_str());
    let purpose = purpose(place, name, "goes on replacing its authorities");
    let mut progress = Progress::start();
    let begun = Cell::new(false);
    wait(&plane, place_of, Some(&cluster), patience(*timeout), &purpose, &mut progress, |object| {
        let rotating = judge::has_status(object, "CertificateRotation", "rotation", false);
        // The operator says that it rotates while it does; before it has begun, silence is not the end.
        begun.set(begun.get() || matches!(rotating.verdict, Verdict::Waiting));
        match rotating.verdict {
            Verdict::Done if !begun.get() => Judgement {
                steps: vec![Step::new("rotation", State::Waiting, "waiting for the operator to begin")],
                verdict: Verdict::Waiting,
            },
            verdict => Judgement { steps: rotating.steps, verdict },
        }
    })
    .await
}
