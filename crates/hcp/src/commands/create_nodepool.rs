//! `hcp create nodepool`: checked against its cluster first.

use std::io::Write as _;

use serde_json::Value;

use crate::arguments::CreateNodePool;
use crate::flavour::Flavour;
use crate::high::{self, Mode, NodePoolRequest};
use crate::manifests::{self, applied, to_yaml};
use crate::plane::{HOSTED_CLUSTERS, NODE_POOLS, Plane, Write};

use super::error::CommandError;

pub(super) async fn run(low: &CreateNodePool, flavour: Flavour) -> Result<(), CommandError> {
    let request = high::resolve_node_pool(low, flavour)?;
    let plane = Plane::connect(low.flags.kubeconfig.as_deref()).await?;
    let cluster = plane.require(&HOSTED_CLUSTERS, &request.namespace, &request.cluster_name).await?;
    check_platform(&request, &cluster)?;
    let image = match &request.release_image {
        Some(image) => image.clone(),
        None => cluster["spec"]["release"]["image"].as_str().unwrap_or_default().to_owned(),
    };
    let object = manifests::node_pool(&request, &image);
    let what = format!("NodePool {}/{}", request.namespace, request.name);
    match request.mode {
        Mode::Render { .. } => Ok(std::io::stdout().lock().write_all(to_yaml([&object]).as_bytes())?),
        Mode::DryRun => {
            make(&plane, &request, object, &cluster, Write::DryRun, &what).await?;
            println!("{what} would be created");
            eprintln!("nothing was changed");
            Ok(())
        }
        Mode::Create { .. } => {
            make(&plane, &request, object, &cluster, Write::Real, &what).await?;
            eprintln!("created {what}");
            eprintln!("hint: look with: hcp describe cluster {} -n {}", request.cluster_name, request.namespace);
            Ok(())
        }
    }
}

fn check_platform(request: &NodePoolRequest, cluster: &Value) -> Result<(), CommandError> {
    let found = cluster["spec"]["platform"]["type"].as_str().unwrap_or_default();
    let expected = request.node_pool.platform.kind().as_str();
    if found == expected {
        return Ok(());
    }
    Err(CommandError::Platform {
        what: format!("the platform of HostedCluster {}/{}", request.namespace, request.cluster_name),
        found: found.to_owned(),
        expected,
        command: format!("hcp create nodepool {} --name {}", found.to_lowercase(), request.name),
    })
}

async fn make(
    plane: &Plane,
    request: &NodePoolRequest,
    object: Value,
    cluster: &Value,
    write: Write,
    what: &str,
) -> Result<(), CommandError> {
    let infra_id = cluster["spec"]["infraID"].as_str().unwrap_or_default();
    let object = applied(object, infra_id);
    let refused = |error| CommandError::Invalid(what.to_owned(), error);
    plane.create(&NODE_POOLS, &request.namespace, &object, write).await.map(|_| ()).map_err(refused)
}
