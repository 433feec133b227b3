//! Conversion of custom resources by a webhook, for definitions that ask for it.
//!
//! Objects of such a resource are in the served version wherever callers and admission see them. They are brought there
//! when they are read, many in one call, and back to the storage version right before they are written.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use roost_admission::conversion::{ConversionVersion, conversion_review, converted};
use roost_admission::webhook::Client;
use roost_object::{Status, Value, group};

use crate::cluster::Cluster;
use crate::outgoing::{self, read_object};
use crate::resource::{Origin, Resource};

/// How long a conversion may take. Stock sets no limit but that of the request.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Brings decoded objects, each in the version that it is stored in, to the served version. As on stock, they get the
/// defaults of the stored version, not those of the served one.
pub(crate) async fn to_served(
    cluster: &Arc<Cluster>,
    resource: &Resource,
    objects: Vec<Value>,
) -> Result<Vec<Value>, Status> {
    if resource.webhook().is_none() {
        return Ok(objects);
    }
    let mut objects = objects;
    if let Origin::Custom(custom) = &resource.origin {
        for object in &mut objects {
            let stored =
                object["apiVersion"].as_str().and_then(|version| version.rsplit('/').next()).unwrap_or_default();
            let version = custom.definition.version_named(stored);
            if let Some(schema) = version.and_then(|version| version.schema.as_ref()) {
                schema.apply_defaults(object);
            }
        }
    }
    let mut objects = convert(cluster, resource, objects, &resource.api_version).await?;
    if let Origin::Custom(custom) = &resource.origin
        && let Some(schema) = &custom.version().schema
    {
        for object in &mut objects {
            schema.prune(object);
        }
    }
    Ok(objects)
}

/// The same for one object.
pub(crate) async fn one_to_served(cluster: &Arc<Cluster>, resource: &Resource, object: Value) -> Result<Value, Status> {
    if resource.webhook().is_none() {
        return Ok(object);
    }
    Ok(to_served(cluster, resource, vec![object]).await?.pop().unwrap_or_default())
}

/// Brings an object from the served version to the one it is stored in.
pub(crate) async fn to_storage<'a>(
    cluster: &Arc<Cluster>,
    resource: &Resource,
    object: &'a Value,
) -> Result<Cow<'a, Value>, Status> {
    let wanted = resource.storage_api_version();
    if resource.webhook().is_none() || object["apiVersion"] == *wanted {
        return Ok(Cow::Borrowed(object));
    }
    let converted = convert(cluster, resource, vec![object.clone()], &wanted).await?.pop();
    let mut converted = converted.unwrap_or_default();
    if let Origin::Custom(custom) = &resource.origin
        && let Some(version) = custom.definition.version_named(resource.storage_version())
        && let Some(schema) = &version.schema
    {
        schema.prune(&mut converted);
    }
    Ok(Cow::Owned(converted))
}

/// Brings an object of a custom resource to any of its versions.
pub(crate) async fn to_version(
    cluster: &Arc<Cluster>,
    resource: &Resource,
    mut object: Value,
    wanted: &str,
) -> Result<Value, Status> {
    if resource.webhook().is_none() {
        object["apiVersion"] = wanted.into();
        return Ok(object);
    }
    Ok(convert(cluster, resource, vec![object], wanted).await?.pop().unwrap_or_default())
}

/// Asks the webhook for those objects that are not in a version yet.
async fn convert(
    cluster: &Arc<Cluster>,
    resource: &Resource,
    mut objects: Vec<Value>,
    wanted: &str,
) -> Result<Vec<Value>, Status> {
    let Some((client_config, review_versions)) = resource.webhook() else { return Ok(objects) };
    let places: Vec<usize> = (0..objects.len()).filter(|place| objects[*place]["apiVersion"] != *wanted).collect();
    if places.is_empty() {
        return Ok(objects);
    }
    let originals: Vec<&Value> = places.iter().map(|place| &objects[*place]).collect();
    let answers = ask(cluster, client_config, review_versions, wanted, &originals)
        .await
        .map_err(|why| Status::failure(500, "", why))?;
    for (place, object) in places.into_iter().zip(answers) {
        objects[place] = object;
    }
    Ok(objects)
}

async fn ask(
    cluster: &Arc<Cluster>,
    client_config: &Value,
    review_versions: &[String],
    wanted: &str,
    originals: &[&Value],
) -> Result<Vec<Value>, String> {
    let version = ConversionVersion::first_known(review_versions)?;
    let uid = uuid::Uuid::new_v4().to_string();
    let body = conversion_review(version, &uid, wanted, originals);
    let bytes = serde_json::to_vec(&body).map_err(|error| error.to_string())?;
    let client = Client::read(client_config, decode_base64);
    let kind = shown_kind(originals);
    let failed = |why: String| format!("conversion webhook for {kind} failed: {why}");
    let answer =
        outgoing::post(cluster, &client, TIMEOUT, bytes.into()).await.map_err(|error| failed(error.reason()))?;
    let versions = ["v1", "v1beta1"];
    let body = read_object(&answer, "apiextensions.k8s.io", &versions, "ConversionReview").map_err(failed)?;
    converted(&body, version, &uid, wanted, originals)
}

/// Group, version and kind of the first object, as Go prints them.
fn shown_kind(originals: &[&Value]) -> String {
    let text = |name: &str| originals.first().and_then(|object| object[name].as_str()).unwrap_or_default();
    let (group, version) = text("apiVersion").split_once('/').unwrap_or_default();
    format!("{}, Kind={}", group::api_version(group, version), text("kind"))
}

fn decode_base64(text: &str) -> Vec<u8> {
    base64::engine::general_purpose::STANDARD.decode(text).unwrap_or_default()
}
