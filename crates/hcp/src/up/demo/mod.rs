//! `hcp up --demo`: a hosted cluster whose simulated nodes join before the user's eyes.
//!
//! Nothing is made up: the cluster and its NodePool are made as `hcp create cluster` makes them, and the hosts fetch
//! their configuration, ask for certificates and register over the same sockets as real ones. A second start on the
//! same data finds the cluster and the hosts' disks, and goes on.

mod hosts;

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use roost_sim::{Node, Simulator};
use serde_json::Value;
use tokio::sync::mpsc;

use super::keys::{KeysError, write_private};
use crate::arguments::{Arguments, Command, Create, CreateCluster, CreateWhat};
use crate::commands::{self, CommandError, Verdict, newest_user_data};
use crate::flavour::Flavour;
use crate::high::{self, Files, HighArguments, UsageError};
use crate::plane::{HOSTED_CLUSTERS, Plane, PlaneError, SECRETS};
use crate::progress::{Progress, State, Step, TICK, seconds};

/// The cluster and its pool.
const CLUSTER: &str = "demo";
/// Where people look for hosted clusters.
const NAMESPACE: &str = "clusters";
/// Where the pool's user-data are.
const CONTROL_PLANE_NAMESPACE: &str = "clusters-demo";
/// Enough to see pods spread, and few enough to read.
const HOSTS: u8 = 3;
/// How often what many watches would tell is asked for instead: for a few seconds of a demonstration.
const LOOK: Duration = Duration::from_millis(50);
/// What the simulated hosts would pull images with.
const PULL_SECRET: &[u8] = br#"{"auths":{"registry.invalid":{"auth":"ZGVtbzpkZW1v"}}}"#;

/// Why there is nothing to show.
#[derive(Debug, thiserror::Error)]
pub(super) enum DemoError {
    #[error("the command line of the demonstration is wrong")]
    Words(#[from] clap::Error),
    #[error("the demonstration asks for what cannot be")]
    Usage(#[from] UsageError),
    #[error("the hosted cluster could not be made")]
    Command(#[from] Box<CommandError>),
    #[error("the plane does not answer as it should")]
    Plane(#[from] PlaneError),
    #[error("the hosted cluster cannot be used: {0}")]
    Blocked(String),
    #[error("the hosted cluster was removed")]
    Gone,
    #[error(transparent)]
    Keys(#[from] KeysError),
    #[error("the hosts have no place for their disks")]
    Disk(#[from] io::Error),
}

/// Shows it, and keeps the hosts alive until the future is dropped.
pub(super) async fn run(kubeconfig: PathBuf, data_dir: PathBuf) {
    let mut progress = Progress::start();
    match show(&kubeconfig, &data_dir, &mut progress).await {
        Ok(nodes) => {
            std::future::pending::<()>().await;
            drop(nodes);
        }
        Err(error) => {
            crate::explain(&error);
            eprintln!("hint: the management plane goes on; look with: hcp describe cluster {CLUSTER} -n {NAMESPACE}");
        }
    }
}

async fn show(kubeconfig: &Path, data_dir: &Path, progress: &mut Progress) -> Result<Vec<Node>, DemoError> {
    let plane = Plane::connect(Some(kubeconfig)).await?;
    let cluster = commands::ensure_cluster(&plane, &request()?).await.map_err(Box::new)?;
    let (mut steps, cluster) = watched(&plane, &cluster, progress).await?;
    let folder = data_dir.join("demo");
    std::fs::create_dir_all(&folder)?;
    let own = commands::kubeconfig_of(&plane, &cluster).await.map_err(Box::new)?;
    let own_path = folder.join("kubeconfig");
    write_private(&own_path, &own)?;
    let hosted = Plane::connect(Some(&own_path)).await?;
    answering(&hosted, &mut steps, progress).await;
    let user_data = user_data(&plane, &mut steps, progress).await?;
    // A cluster of the same name that is made later is another one, and so are its hosts.
    let id = cluster["spec"]["clusterID"].as_str().unwrap_or(CLUSTER);
    let simulator = Simulator::new();
    let hosts = hosts::start(&simulator, &user_data, &folder.join(id));
    hosts::follow(&hosts, &hosted, steps, progress).await;
    eprintln!(
        "\n{HOSTS} simulated nodes of the hosted cluster {NAMESPACE}/{CLUSTER} are Ready after {}\n\n{}",
        seconds(progress.elapsed()),
        next(&own_path, kubeconfig)
    );
    Ok(hosts)
}

/// What `hcp create cluster` would be asked for.
fn request() -> Result<HighArguments, DemoError> {
    let replicas = HOSTS.to_string();
    let words = [
        "hcp",
        "create",
        "cluster",
        "none",
        "--name",
        CLUSTER,
        "--namespace",
        NAMESPACE,
        "--pull-secret",
        "none",
        "--node-pool-replicas",
        &replicas,
    ];
    let Command::Create(Create { what: CreateWhat::Cluster(low) }) = Arguments::read_from(&words)?.command else {
        return Err(not_a_cluster());
    };
    let low: &CreateCluster = &low;
    let files = Files { pull_secret: PULL_SECRET.to_vec(), ..Files::default() };
    Ok(high::resolve_cluster(low, files, Flavour::Product)?)
}

fn not_a_cluster() -> DemoError {
    DemoError::Words(clap::Error::new(clap::error::ErrorKind::InvalidSubcommand))
}

/// Shows the control plane coming up, and returns its steps and the cluster as it is then.
async fn watched(plane: &Plane, cluster: &Value, progress: &mut Progress) -> Result<(Vec<Step>, Value), DemoError> {
    let (shown, mut showing) = mpsc::unbounded_channel();
    let following = plane.follow(&HOSTED_CLUSTERS, (NAMESPACE, CLUSTER), Some(cluster), |object| {
        let judgement = commands::usable(object);
        let _ = shown.send(judgement.steps);
        match judgement.verdict {
            Verdict::Waiting => ControlFlow::Continue(()),
            Verdict::Done => ControlFlow::Break(Ok(object.cloned().unwrap_or_default())),
            Verdict::Blocked(cause) => ControlFlow::Break(Err(DemoError::Blocked(cause))),
            Verdict::Gone => ControlFlow::Break(Err(DemoError::Gone)),
        }
    });
    let mut following = std::pin::pin!(following);
    let mut tick = tokio::time::interval(TICK);
    let mut steps = Vec::new();
    let outcome = loop {
        tokio::select! {
            biased;
            Some(now) = showing.recv() => {
                steps.clone_from(&now);
                progress.show(now);
            }
            outcome = &mut following => break outcome?,
            _ = tick.tick(), if progress.is_live() => progress.redraw(),
        }
    };
    while let Ok(now) = showing.try_recv() {
        steps.clone_from(&now);
        progress.show(now);
    }
    Ok((steps, outcome?))
}

/// Waits until the hosted API listens: after a restart its objects say that it is available a moment before it is.
async fn answering(hosted: &Plane, steps: &mut Vec<Step>, progress: &mut Progress) {
    const NAME: &str = "published API";
    steps.push(Step::new(NAME, State::Waiting, "waiting until it listens"));
    progress.show(steps.clone());
    while !hosted.is_listening().await {
        tokio::time::sleep(LOOK).await;
        progress.redraw();
    }
    steps.pop();
    steps.push(Step::new(NAME, State::Done, ""));
    progress.show(steps.clone());
}

/// Waits for the pool's user-data.
async fn user_data(plane: &Plane, steps: &mut Vec<Step>, progress: &mut Progress) -> Result<Vec<u8>, DemoError> {
    const NAME: &str = "node pool";
    steps.push(Step::new(NAME, State::Waiting, "waiting for its user-data"));
    progress.show(steps.clone());
    loop {
        let secrets = plane.list(&SECRETS, CONTROL_PLANE_NAMESPACE, "").await?;
        if let Some(found) = newest_user_data(&secrets, NAMESPACE, CLUSTER) {
            steps.pop();
            steps.push(Step::new(NAME, State::Done, "hosts can boot"));
            progress.show(steps.clone());
            return Ok(found);
        }
        tokio::time::sleep(LOOK).await;
        progress.redraw();
    }
}

/// What to type next.
fn next(own: &Path, management: &Path) -> String {
    let (own, management) = (own.display(), management.display());
    format!(
        "In another terminal:\n  \
         kubectl --kubeconfig {own} get nodes -o wide\n  \
         kubectl --kubeconfig {own} create deployment web --image=example.com/web --replicas=3\n  \
         kubectl --kubeconfig {own} get pods -o wide --watch\n  \
         kubectl --kubeconfig {management} get hostedclusters,nodepools,machines -A\n  \
         hcp describe cluster {CLUSTER} -n {NAMESPACE}\n\n\
         Ctrl-C ends it; hcp up --demo on the same data goes on where it was."
    )
}

#[cfg(test)]
mod tests {
    use super::{next, request};

    #[test]
    fn the_demonstration_is_a_cluster_like_any_other() {
        let request = request().unwrap();
        assert_eq!((request.namespace.as_str(), request.name.as_str()), ("clusters", "demo"));
        assert_eq!(request.node_pool.unwrap().replicas, 3);
    }

    #[test]
    fn it_says_what_to_type() {
        let text = next("/data/demo/kubeconfig".as_ref(), "/data/admin.kubeconfig".as_ref());
        assert!(text.contains("kubectl --kubeconfig /data/demo/kubeconfig get nodes"), "{text}");
        assert!(text.lines().all(|line| line.trim_end() == line), "{text}");
    }
}
