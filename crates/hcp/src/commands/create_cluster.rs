//! `hcp create cluster`: everything is checked before the first write, and said plainly when a later one fails.

use std::io::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::arguments::CreateCluster;
use crate::flavour::Flavour;
use crate::high::{self, HighArguments, Mode, Patience, Publishing};
use crate::manifests::{self, Circumstances, applied, infra_id, is_sensitive, to_yaml};
use crate::plane::{
    HOSTED_CLUSTERS, NAMESPACES, NODES, OPERATOR_NAMESPACE, Plane, PlaneError, Resource, SECRETS, Write,
};
use crate::progress::{Progress, State, Step, seconds};

use super::error::CommandError;
use super::release::Releases;
use super::wait::{Judgement, Purpose, Verdict, wait};
use super::{files, judge, random};

/// Where objects are tried when their own namespace is not there yet.
const TRIAL_NAMESPACE: &str = "default";

pub(super) async fn run(low: &CreateCluster, flavour: Flavour) -> Result<(), CommandError> {
    let request = high::resolve_cluster(low, files::read(low)?, flavour)?;
    let kubeconfig = low.flags.naming.kubeconfig.as_deref();
    match &request.mode {
        Mode::Render { into, sensitive } => render(&request, kubeconfig, into.as_deref(), *sensitive).await,
        Mode::DryRun => try_out(&request, kubeconfig).await,
        Mode::Create { wait } => create(&request, kubeconfig, *wait).await,
    }
}

/// What the management plane knows that the objects depend on.
struct Surroundings {
    release: Option<String>,
    address: Option<String>,
}

async fn surroundings(plane: &Plane, request: &HighArguments) -> Result<Surroundings, CommandError> {
    let address = async {
        match request.network.publishing {
            Publishing::NodePortOfPlane => plane_address(plane).await.map(Some),
            _ => Ok(None),
        }
    };
    let (releases, address) = tokio::try_join!(Releases::ask(plane, OPERATOR_NAMESPACE), address)?;
    let releases = releases.unwrap_or_default();
    if request.version_check {
        super::version::check(&releases)?;
    }
    Ok(Surroundings { release: releases.choose(request.release.image.as_deref())?, address })
}

/// The address that a node of the management plane has outside; without nodes, the one that its API has.
async fn plane_address(plane: &Plane) -> Result<String, PlaneError> {
    let nodes = plane.list(&NODES, "", "limit=1").await?;
    let addresses = nodes.first().and_then(|node| node["status"]["addresses"].as_array());
    let of_type = |kind: &str| {
        addresses.into_iter().flatten().find(|address| address["type"] == kind)?["address"].as_str().map(str::to_owned)
    };
    let found = ["ExternalDNS", "ExternalIP", "InternalIP"].into_iter().find_map(of_type);
    Ok(found.unwrap_or_else(|| plane.host.clone()))
}

fn circumstances(request: &HighArguments, surroundings: Surroundings) -> Result<Circumstances, CommandError> {
    let infra_id = match &request.infra_id {
        Some(id) => id.clone(),
        None => infra_id(&request.name, &random::infra_id_suffix()?),
    };
    Ok(Circumstances {
        release_image: surroundings.release.unwrap_or_default(),
        plane_address: surroundings.address,
        infra_id,
        encryption_key: random::key()?,
        ssh_key: if request.generate_ssh { Some(random::ssh_key()?) } else { None },
    })
}

/// Prints the objects. A plane that can be asked names the release and the address; none is needed.
async fn render(
    request: &HighArguments,
    kubeconfig: Option<&Path>,
    into: Option<&Path>,
    sensitive: bool,
) -> Result<(), CommandError> {
    let given = || Surroundings { release: request.release.image.clone(), address: None };
    let complete = request.release.image.is_some() && request.network.publishing != Publishing::NodePortOfPlane;
    let surroundings = if complete {
        given()
    } else {
        match Plane::connect(kubeconfig).await {
            Ok(plane) => match surroundings(&plane, request).await {
                Err(CommandError::Plane(_)) if kubeconfig.is_none() => given(),
                found => found?,
            },
            Err(_) if kubeconfig.is_none() => given(),
            Err(error) => return Err(error.into()),
        }
    };
    let objects = manifests::cluster(request, &circumstances(request, surroundings)?);
    let text = to_yaml(objects.iter().filter(|object| sensitive || !is_sensitive(object)));
    match into {
        Some(path) => {
            write_privately(path, &text).map_err(|source| CommandError::Write { path: path.to_owned(), source })
        }
        None => Ok(std::io::stdout().lock().write_all(text.as_bytes())?),
    }
}

/// Rendered output may hold Secrets, which are for the owner's eyes.
fn write_privately(path: &Path, text: &str) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}

/// The objects of a cluster that is not there yet, ready to be sent.
struct Prepared {
    objects: Vec<Value>,
    image: String,
    /// Whether the namespace must be made.
    new_namespace: bool,
}

async fn prepare(plane: &Plane, request: &HighArguments) -> Result<Prepared, CommandError> {
    let (found, existing, namespace) = tokio::try_join!(
        surroundings(plane, request),
        async { Ok(plane.get(&HOSTED_CLUSTERS, &request.namespace, &request.name).await?) },
        async { Ok(plane.get(&NAMESPACES, "", &request.namespace).await?) },
    )?;
    if existing.is_some() {
        return Err(taken(request));
    }
    if found.release.is_none() {
        return Err(CommandError::NoRelease);
    }
    let circumstances = circumstances(request, found)?;
    let new_namespace = namespace.is_none();
    let objects = manifests::cluster(request, &circumstances)
        .into_iter()
        .filter(|object| new_namespace || object["kind"] != NAMESPACES.kind)
        .map(|object| applied(object, &circumstances.infra_id))
        .collect();
    Ok(Prepared { objects, image: circumstances.release_image, new_namespace })
}

/// Makes a cluster, or takes the one of its name that is there already.
pub(crate) async fn ensure(plane: &Plane, request: &HighArguments) -> Result<Value, CommandError> {
    if let Some(existing) = plane.get(&HOSTED_CLUSTERS, &request.namespace, &request.name).await? {
        return Ok(existing);
    }
    let prepared = prepare(plane, request).await?;
    write_all(plane, request, &prepared).await
}

fn taken(request: &HighArguments) -> CommandError {
    CommandError::Taken { namespace: request.namespace.clone(), name: request.name.clone() }
}

async fn try_out(request: &HighArguments, kubeconfig: Option<&Path>) -> Result<(), CommandError> {
    let plane = Plane::connect(kubeconfig).await?;
    let prepared = prepare(&plane, request).await?;
    let namespace = trial_namespace(request, &prepared);
    for object in &prepared.objects {
        try_object(&plane, object, namespace).await?;
        println!("{} would be created", described(object));
    }
    if prepared.new_namespace {
        eprintln!("namespace {} does not exist yet, so its objects were tried in {namespace}", request.namespace);
    }
    eprintln!("nothing was changed");
    Ok(())
}

fn trial_namespace<'a>(request: &'a HighArguments, prepared: &Prepared) -> &'a str {
    if prepared.new_namespace { TRIAL_NAMESPACE } else { &request.namespace }
}

/// Has the server check an object without keeping it.
async fn try_object(plane: &Plane, object: &Value, namespace: &str) -> Result<(), CommandError> {
    let mut object = object.clone();
    if object["kind"] != NAMESPACES.kind {
        object["metadata"]["namespace"] = Value::from(namespace);
    }
    match send(plane, &object, Write::DryRun).await {
        Ok(_) => Ok(()),
        // Somebody made it since it was looked for.
        Err(error) if error.is_taken() => {
            let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            Err(CommandError::Taken { namespace: namespace.to_owned(), name })
        }
        Err(error) => Err(CommandError::Invalid(described(&object), error)),
    }
}

/// HostedClusters are created, so that two of one name cannot both succeed; all else is applied, except that an
/// encryption key which exists is kept: somebody may just have encrypted something with it.
async fn send(plane: &Plane, object: &Value, write: Write) -> Result<Value, PlaneError> {
    let kind = object["kind"].as_str().unwrap_or_default();
    let resource = Resource::of_kind(kind).ok_or(PlaneError::NoSuchKind)?;
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
    if resource.kind == HOSTED_CLUSTERS.kind {
        return plane.create(resource, namespace, object, write).await;
    }
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    if write == Write::Real && resource.kind == SECRETS.kind && name.ends_with(manifests::ENCRYPTION_KEY) {
        return match plane.create(resource, namespace, object, write).await {
            Err(error) if error.is_taken() => {
                let labels = json!({"metadata": {"labels": object["metadata"]["labels"]}});
                plane.merge(resource, namespace, name, &labels, write).await
            }
            made => made,
        };
    }
    plane.apply(resource, namespace, object, write).await
}

fn described(object: &Value) -> String {
    let text = |field: &str| object["metadata"][field].as_str();
    let name = text("name").unwrap_or_default();
    let kind = object["kind"].as_str().unwrap_or_default();
    match text("namespace") {
        Some(namespace) => format!("{kind} {namespace}/{name}"),
        None => format!("{kind} {name}"),
    }
}

async fn create(
    request: &HighArguments,
    kubeconfig: Option<&Path>,
    patience: Option<Patience>,
) -> Result<(), CommandError> {
    let plane = Plane::connect(kubeconfig).await?;
    let mut progress = Progress::start();
    // From here on an interrupt waits until what was begun is whole.
    let mut interrupt = std::pin::pin!(tokio::signal::ctrl_c());
    let prepared = prepare(&plane, request).await?;
    let namespace = trial_namespace(request, &prepared);
    let by_operator = |object: &&Value| object["apiVersion"] == manifests::API_VERSION;
    let trials = prepared.objects.iter().filter(by_operator).map(|object| try_object(&plane, object, namespace));
    futures::future::try_join_all(trials).await?;
    let cluster = write_all(&plane, request, &prepared).await?;
    let what = format!("cluster {}/{}", request.namespace, request.name);
    let look = format!("hcp describe cluster {} -n {}", request.name, request.namespace);
    let Some(patience) = patience else {
        eprintln!("created {what} in {}; its control plane starts in the background", seconds(progress.elapsed()));
        eprintln!("hint: look with: {look}");
        return Ok(());
    };
    let purpose = Purpose { goes_on: format!("{what} is created and goes on starting in the background"), what, look };
    let interrupted = CommandError::Interrupted { goes_on: purpose.goes_on.clone(), look: purpose.look.clone() };
    progress.show(vec![Step::new("objects", State::Done, "")]);
    tokio::select! {
        biased;
        _ = &mut interrupt => return Err(interrupted),
        outcome = wait_until_usable(&plane, request, &prepared.image, &cluster, patience, &purpose, &mut progress) => {
            outcome?;
        }
    }
    eprintln!("{} is ready after {}", purpose.what, seconds(progress.elapsed()));
    eprintln!("hint: hcp create kubeconfig --name {} -n {} > kubeconfig", request.name, request.namespace);
    Ok(())
}

/// Writes the objects in order. Whatever stops it, the user is told what is there and how to remove it.
async fn write_all(plane: &Plane, request: &HighArguments, prepared: &Prepared) -> Result<Value, CommandError> {
    let mut made = Vec::new();
    let mut cluster = Value::Null;
    for object in &prepared.objects {
        match send(plane, object, Write::Real).await {
            Ok(stored) => {
                if object["kind"] == HOSTED_CLUSTERS.kind {
                    cluster = stored;
                }
                made.push(described(object));
            }
            // Somebody else was faster; the Secrets now belong to the other cluster, so they are left alone.
            Err(error) if error.is_taken() => return Err(taken(request)),
            Err(error) if made.is_empty() => return Err(CommandError::Invalid(described(object), error)),
            Err(source) => {
                let infra_id = object["metadata"]["labels"][manifests::INFRA_LABEL].as_str().unwrap_or_default();
                return Err(CommandError::HalfMade {
                    failed: described(object),
                    made,
                    remove: format!(
                        "hcp destroy cluster {} --name {} --namespace {} --infra-id {infra_id}",
                        request.platform.kind().command(),
                        request.name,
                        request.namespace
                    ),
                    source: Box::new(source),
                });
            }
        }
    }
    Ok(cluster)
}

async fn wait_until_usable(
    plane: &Plane,
    request: &HighArguments,
    image: &str,
    cluster: &Value,
    patience: Patience,
    purpose: &Purpose,
    progress: &mut Progress,
) -> Result<(), CommandError> {
    let with_nodes = request.node_pool.as_ref().is_some_and(|pool| pool.replicas > 0);
    let made = |judgement: Judgement| {
        let mut steps = vec![Step::new("objects", State::Done, "")];
        steps.extend(judgement.steps);
        Judgement { steps, verdict: judgement.verdict }
    };
    let place = (&HOSTED_CLUSTERS, request.namespace.as_str(), request.name.as_str());
    wait(plane, place, Some(cluster), patience, purpose, progress, |object| {
        made(if with_nodes { judge::rolled_out(object, image) } else { judge::usable(object) })
    })
    .await?;
    let secret = format!("{}-admin-kubeconfig", request.name);
    if plane.get(&SECRETS, &request.namespace, &secret).await?.is_some() {
        return Ok(());
    }
    let place = (&SECRETS, request.namespace.as_str(), secret.as_str());
    wait(plane, place, None, patience, purpose, progress, |found| {
        let (state, verdict) =
            if found.is_some() { (State::Done, Verdict::Done) } else { (State::Waiting, Verdict::Waiting) };
        Judgement { steps: vec![Step::new("kubeconfig", state, "")], verdict }
    })
    .await
}
