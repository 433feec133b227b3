//! What the server says about itself: discovery, version, health, OpenAPI and OpenID documents.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Response;
use roost_kinds::discovery::{self, DynamicResource};
use roost_object::status::Details;
use roost_object::{Status, Value};
use serde_json::json;

use crate::call::Call;
use crate::cluster::Cluster;
use crate::health;
use crate::negotiate::{self, BUILT_IN, Encoding, Format};
use crate::resource::Resource;
use crate::respond::{self, Body};
use crate::route::{not_found_page, unknown_path};

/// The Kubernetes version that the API is that of.
pub const KUBERNETES_VERSION: &str = "v1.36.3";

/// The version of Go that stock's parts of that version are built with.
pub(crate) const GO_VERSION: &str = "go1.26";

/// Answers a request on a path that is no resource.
pub(crate) fn answer(call: &Call) -> Result<Response<Body>, Status> {
    let cluster = &call.cluster;
    let path = call.info.path.trim_end_matches('/');
    if call.info.path.ends_with('/') && is_exact(path) {
        return Ok(not_found_page());
    }
    if !matches!(call.info.verb.as_str(), "get" | "head") && is_read_only(path) {
        return Err(method_not_allowed_here());
    }
    match path {
        "" | "/index.html" => Ok(respond::bytes(200, "application/json", pretty(&json!({"paths": paths(cluster)})))),
        "/version" => {
            negotiate::route(&call.headers, &[Encoding::Json])?;
            Ok(respond::bytes(200, "application/json", version()))
        }
        "/metrics" => Ok(crate::metrics::answer(call)),
        "/api" | "/apis"
            if let Some(encoding) = aggregated_encoding(call)
                && call.info.path != "/apis/" =>
        {
            Ok(aggregated(call, path, encoding))
        }
        "/api" => document(call, Some(discovery::core_versions(&server_address(call)))),
        "/apis" => {
            let format = negotiate::negotiate_plain(&call.headers, &call.query)?;
            Ok(respond::object(200, &format, &group_list(cluster)))
        }
        "/openid/v1/jwks" => {
            negotiate::route_to(&call.headers, &["application/jwk-set+json"])?;
            let keys = roost_pki::key_set(&cluster.identity().token_trust);
            Ok(public(respond::bytes(200, "application/jwk-set+json", keys)))
        }
        "/.well-known/openid-configuration" => {
            negotiate::route(&call.headers, &[Encoding::Json])?;
            let identity = cluster.identity();
            let issuer = identity.token_issuer.issuer();
            let uri = format!("https://{}/openid/v1/jwks", server_address(call));
            let text = roost_pki::openid_configuration(issuer, &uri, &identity.token_trust);
            Ok(public(respond::bytes(200, "application/json", text)))
        }
        _ => {
            if let Some(answer) = health::answer(call, path) {
                return Ok(answer);
            }
            if let Some(rest) = path.strip_prefix("/openapi/") {
                return Ok(crate::openapi::answer(call, rest));
            }
            let extra = further_resources(cluster);
            let document_at = match path.trim_start_matches('/').split('/').collect::<Vec<_>>().as_slice() {
                ["api", version] => discovery::resource_list("", version, &extra),
                ["apis", group] => discovery::group(group, &extra).or_else(|| foreign_group(cluster, group)),
                ["apis", group, version] => discovery::resource_list(group, version, &extra),
                _ => None,
            };
            document(call, document_at)
        }
    }
}

/// Paths that, with all below them, are not the same with a slash behind them.
fn is_exact(path: &str) -> bool {
    ["/flagz", "/healthz", "/index.html", "/livez", "/metrics", "/openapi/v2", "/readyz", "/statusz"]
        .iter()
        .any(|own| path.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// Documents that only reading makes sense for; health checks and the list of groups answer to any method, as on stock.
fn is_read_only(path: &str) -> bool {
    let own = ["/version", "/api", "/.well-known/openid-configuration", "/openid/v1/jwks"];
    own.contains(&path) || path.starts_with("/api/") || path.starts_with("/apis/")
}

fn method_not_allowed_here() -> Status {
    Status::failure(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
        .with_details(Details::default())
}

fn document(call: &Call, document: Option<Value>) -> Result<Response<Body>, Status> {
    let Some(document) = document else { return Ok(unknown_path(call)) };
    negotiate::route(&call.headers, BUILT_IN)?;
    let format = negotiate::negotiate_plain(&call.headers, &call.query)?;
    Ok(respond::object(200, &format, &document))
}

/// A group that only another server is meant to serve.
fn foreign_group(cluster: &Cluster, name: &str) -> Option<Value> {
    let mut group = crate::inside::foreign_groups(cluster, Some(name)).pop()?;
    group["apiVersion"] = "v1".into();
    group["kind"] = "APIGroup".into();
    Some(group)
}

/// The list of groups, those of other servers last.
fn group_list(cluster: &Cluster) -> Value {
    let mut list = discovery::group_list(&further_resources(cluster));
    if let Some(groups) = list["groups"].as_array_mut() {
        let known = |group: &Value| groups.iter().any(|known| known["name"] == group["name"]);
        let foreign: Vec<Value> =
            crate::inside::foreign_groups(cluster, None).into_iter().filter(|group| !known(group)).collect();
        groups.extend(foreign);
    }
    list
}

/// A document that caches may keep for an hour.
fn public(mut response: Response<Body>) -> Response<Body> {
    let hour = http::HeaderValue::from_static("public, max-age=3600");
    response.headers_mut().insert(http::header::CACHE_CONTROL, hour);
    response
}

/// What a tenant serves beside the built-in resources, as discovery wants it.
fn further_resources(cluster: &Cluster) -> Vec<DynamicResource> {
    let mut resources = custom_resources(cluster);
    resources.extend(crate::resource_metrics::resources(cluster));
    resources
}

/// The custom resources of a tenant, as discovery wants them.
pub(crate) fn custom_resources(cluster: &Cluster) -> Vec<DynamicResource> {
    let describe = |resource: &Resource| {
        let custom = resource.as_custom()?;
        let definition = &custom.definition;
        Some(DynamicResource {
            group: resource.group.clone(),
            version: resource.version.clone(),
            plural: resource.plural.clone(),
            singular: definition.singular.clone(),
            kind: resource.kind.clone(),
            list_kind: resource.list_kind.clone(),
            short_names: definition.short_names.clone(),
            categories: definition.categories.clone(),
            namespaced: resource.namespaced,
            terminating: custom.terminating,
            read_only: false,
            status: custom.version().status,
            scale: custom.version().scale.is_some(),
            storage_version_hash: storage_version_hash(&resource.group, &definition.storage_version, &resource.kind),
        })
    };
    cluster
        .definitions
        .read(&cluster.store, |table| table.all())
        .iter()
        .filter_map(|resource| describe(resource))
        .collect()
}

/// The mark by which clients see that a resource is stored in another version than before.
fn storage_version_hash(group: &str, version: &str, kind: &str) -> String {
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, format!("{group}/{version}/{kind}").as_bytes());
    STANDARD.encode(&digest.as_ref()[..8])
}

/// The parameters of the aggregated form, which lists every resource of every group at once.
const AGGREGATED: &str = ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// The encoding in which the caller wants the aggregated form; none where it wants the plain one.
fn aggregated_encoding(call: &Call) -> Option<Encoding> {
    negotiate::clauses(&call.headers).iter().find_map(|clause| {
        let wanted = [clause.parameter("as"), clause.parameter("g"), clause.parameter("v")];
        let is_aggregated = wanted == [Some("APIGroupDiscoveryList"), Some("apidiscovery.k8s.io"), Some("v2")];
        BUILT_IN.iter().copied().find(|encoding| is_aggregated && clause.allows(encoding.media_type()))
    })
}

fn aggregated(call: &Call, path: &str, encoding: Encoding) -> Response<Body> {
    let value = match path {
        "/api" => discovery::aggregated_core(),
        _ => discovery::aggregated(&further_resources(&call.cluster)),
    };
    let media_type = format!("{}{AGGREGATED}", encoding.media_type());
    let pretty = negotiate::wants_pretty(&call.headers, &call.query);
    let body = respond::encode(&value, &Format { encoding, pretty, ..Format::JSON });
    let etag = format!("\"{:016X}\"", fingerprint(&body));
    let known = call.headers.get(http::header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    if known == Some(etag.as_str()) {
        return respond::bytes(304, &media_type, "");
    }
    let mut response = respond::bytes(200, &media_type, body);
    if let Ok(value) = http::HeaderValue::from_str(&etag) {
        response.headers_mut().insert(http::header::ETAG, value);
    }
    response.headers_mut().insert(http::header::VARY, http::HeaderValue::from_static("Accept"));
    response.headers_mut().insert(http::header::CACHE_CONTROL, http::HeaderValue::from_static("public"));
    response
}

/// A short mark of a document's content, for `ETag`.
pub(crate) fn fingerprint(bytes: &[u8]) -> u64 {
    use std::hash::Hasher as _;
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

/// What clients learn of the version, in the order in which stock says it.
fn version() -> String {
    let number = KUBERNETES_VERSION.trim_start_matches('v');
    let mut parts = number.split('.');
    let fields = [
        ("major", parts.next().unwrap_or_default()),
        ("minor", parts.next().unwrap_or_default()),
        ("emulationMajor", "1"),
        ("emulationMinor", "36"),
        ("minCompatibilityMajor", "1"),
        ("minCompatibilityMinor", "35"),
        ("gitVersion", KUBERNETES_VERSION),
        ("gitCommit", ""),
        ("gitTreeState", ""),
        ("buildDate", "1970-01-01T00:00:00Z"),
        ("goVersion", GO_VERSION),
        ("compiler", "rustc"),
        ("platform", concat!("linux/", "amd64")),
    ];
    let lines: Vec<_> = fields.iter().map(|(name, value)| format!("  \"{name}\": \"{value}\"")).collect();
    format!("{{\n{}\n}}", lines.join(",\n"))
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// The paths that the root lists.
fn paths(cluster: &Cluster) -> Vec<String> {
    let mut paths: Vec<String> = [
        "/.well-known/openid-configuration",
        "/api",
        "/apis",
        "/apis/",
        "/flagz",
        "/metrics",
        "/metrics/slis",
        "/openapi/v2",
        "/openapi/v3",
        "/openapi/v3/",
        "/openid/v1/jwks",
        "/statusz",
        "/version",
    ]
    .map(str::to_owned)
    .into();
    paths.extend(health::paths());
    for resource in cluster.resources() {
        if resource.group.is_empty() {
            paths.push(format!("/api/{}", resource.version));
        } else {
            paths.push(format!("/apis/{}", resource.group));
            paths.push(format!("/apis/{}", resource.api_version));
        }
    }
    paths.sort();
    paths.dedup();
    paths
}

/// Where the caller reached the server.
fn server_address(call: &Call) -> String {
    let host = call.headers.get(http::header::HOST).and_then(|value| value.to_str().ok()).unwrap_or_default();
    match call.cluster.config.advertised {
        Some((address, port)) => std::net::SocketAddr::new(address, port).to_string(),
        None => host.to_owned(),
    }
}
