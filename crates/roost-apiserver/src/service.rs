//! The way of a request: who, may they, wait your turn, answer, account.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method, Request, Response};
use http_body_util::BodyExt as _;
use jiff::Timestamp;
use parking_lot::Mutex;
use roost_access::{Attributes, ResourceAttributes, User, impersonation};
use roost_object::Status;

use crate::access::{self, InProcess};
use crate::body;
use crate::call::{Annotations, Call, Warnings};
use crate::cluster::Cluster;
use crate::negotiate::{self, BUILT_IN, Format};
use crate::request::{Query, RequestInfo};
use crate::respond::{self, Body};
use crate::{documents, handle, heavy, tunnel};

/// How long a request that is not a watch may take.
const REQUEST_TIMEOUT: Duration = Duration::from_mins(1);

/// A tenant's API as a `tower` service.
#[derive(Clone)]
pub struct ApiService {
    cluster: Arc<Cluster>,
}

impl ApiService {
    /// The service of a tenant.
    pub fn new(cluster: Arc<Cluster>) -> ApiService {
        ApiService { cluster }
    }
}

impl<B> tower::Service<Request<B>> for ApiService
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let cluster = Arc::clone(&self.cluster);
        Box::pin(async move { Ok(answer(cluster, request).await) })
    }
}

/// Answers a request, whatever it is.
async fn answer<B>(cluster: Arc<Cluster>, request: Request<B>) -> Response<Body>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let started = Instant::now();
    let received = Timestamp::now();
    let (parts, body) = request.into_parts();
    let query = Query::parse(parts.uri.query());
    let info = RequestInfo::parse(&parts.method, parts.uri.path(), &query);
    let id = audit_id(&parts.headers);
    let encoding = negotiate::negotiate(&parts.headers, &query, BUILT_IN).unwrap_or(Format::JSON);
    let format = Format { view: negotiate::View::Object, ..encoding };
    let uri = parts.uri.clone();
    let mut account = Account::default();
    let headers = parts.headers.clone();
    let mut body = body::Unread::new(body);
    let closable = parts.version < http::Version::HTTP_2;
    account.warnings.extend(access::ignored_token(&headers, &parts.extensions));
    let bodiless = parts.method == Method::HEAD;
    let outcome = serve(&cluster, parts, &mut body, query, &info, &mut account).await;
    let mut response = outcome.unwrap_or_else(|status| respond::status(&status, &format));
    let code = response.status().as_u16();
    if account.too_large && closable {
        response.headers_mut().insert(http::header::CONNECTION, HeaderValue::from_static("close"));
    }
    body.drain();
    for value in account.warnings.iter().filter_map(|warning| warning_value(warning)) {
        response.headers_mut().append("warning", value);
    }
    response.headers_mut().insert("audit-id", HeaderValue::from_str(&id).unwrap_or(HeaderValue::from_static("")));
    let known = info.is_resource && code != 404;
    let (group, resource) = if known { (info.group.as_str(), info.resource.as_str()) } else { ("", "") };
    cluster.metrics.observe(&info.verb, group, resource, code, started.elapsed());
    let audit = cluster.audit.read().clone();
    if let (Some(audit), Some(user)) = (audit, &account.user) {
        let (real, impersonated) = match &account.impersonator {
            Some(real) => (real, Some(user)),
            None => (user, None),
        };
        let annotations = std::mem::take(&mut account.annotations);
        audit.record(crate::audit::Entry {
            id: &id,
            user: real,
            impersonated,
            info: &info,
            uri: &uri,
            code,
            received,
            annotations,
        });
    }
    let response = compress(&headers, response).await;
    if bodiless { without_body(response) } else { response }
}

/// The answer to a HEAD: all headers, and no body, which over HTTP/2 nobody else would take away.
fn without_body(response: Response<Body>) -> Response<Body> {
    use http_body::Body as _;
    let (mut parts, body) = response.into_parts();
    if let Some(length) = body.size_hint().exact().filter(|length| *length > 0) {
        parts.headers.entry(http::header::CONTENT_LENGTH).or_insert_with(|| HeaderValue::from(length));
    }
    Response::from_parts(parts, respond::full(Bytes::new()))
}

/// Who made a request, and what is to be said about it, for the audit log.
#[derive(Default)]
struct Account {
    user: Option<User>,
    impersonator: Option<User>,
    annotations: BTreeMap<String, String>,
    /// What the caller is told about their credential.
    warnings: Vec<&'static str>,
    /// Whether the body was larger than any may be, after which stock ends the connection.
    too_large: bool,
}

async fn serve<B>(
    cluster: &Arc<Cluster>,
    mut parts: http::request::Parts,
    body: &mut body::Unread<B>,
    query: Query,
    info: &RequestInfo,
    account: &mut Account,
) -> Result<Response<Body>, Status>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let access::Found { user, secret } = match parts.extensions.get::<InProcess>() {
        Some(InProcess(user)) => access::Found::new(user.clone()),
        None => access::authenticate(cluster, &parts.headers, &parts.extensions)?,
    };
    if let Some((namespace, name)) = secret {
        account.warnings.extend(crate::inside::note_token_use(cluster, &namespace, &name).await);
    }
    let user = match impersonate(cluster, user, &parts.headers, info, account) {
        Ok(user) => user,
        Err(status) => return Ok(refused(&status, &parts.headers, &query)),
    };
    account.user = Some(user.clone());
    let is_tunnel = account.impersonator.is_none() && tunnel::is_of_node(&user, &info.path);
    if !is_tunnel && let Err(status) = authorize(cluster, &user, info, &query) {
        return Ok(refused(&status, &parts.headers, &query));
    }
    let permit = cluster.flow.enter(&user).await?;
    let call = Arc::new(Call {
        cluster: Arc::clone(cluster),
        user,
        info: info.clone(),
        query,
        headers: parts.headers,
        method: parts.method.clone(),
        upgrade: Mutex::new(parts.extensions.remove()),
        warnings: Warnings::default(),
        annotations: Annotations::default(),
    });
    let is_watch = call.info.verb == "watch";
    let work = async {
        let is_document = matches!(call.info.path.as_str(), "/version" | "/api" | "/apis");
        if parts.method == Method::HEAD && is_document {
            return Err(Status::failure(
                405,
                "MethodNotAllowed",
                "the server does not allow this method on the requested resource",
            ));
        }
        if is_tunnel {
            return tunnel::answer(&call);
        }
        if !call.info.is_resource {
            return documents::answer(&call);
        }
        let reads = parts.method == Method::GET;
        let bytes = if reads {
            Bytes::new()
        } else {
            body.read().await.inspect_err(|status| account.too_large = status.code == 413)?
        };
        if !heavy::is_heavy(&call, &bytes) {
            return handle::resource(&call, bytes).await;
        }
        let _turn = cluster.flow.enter_heavy(&call.user).await?;
        let call = Arc::clone(&call);
        heavy::run(Box::pin(async move { handle::resource(&call, bytes).await })).await
    };
    let mut response = match tokio::time::timeout(REQUEST_TIMEOUT, work).await {
        Ok(outcome) => outcome.or_else(|status| {
            let encoding = negotiate::negotiate(&call.headers, &call.query, BUILT_IN).unwrap_or(Format::JSON);
            Ok(respond::status(&status, &Format { view: negotiate::View::Object, ..encoding }))
        })?,
        Err(_) => return Err(Status::timeout("request did not complete within the allotted timeout")),
    };
    drop(permit);
    account.annotations = call.annotations.take();
    for warning in call.warnings.take() {
        if let Some(value) = warning_value(&warning) {
            response.headers_mut().append("warning", value);
        }
    }
    if is_watch && response.status().is_success() {
        return count_watch(&call, response);
    }
    Ok(response)
}

/// The answer to someone who may not: browsers must not take it for a page.
fn refused(status: &Status, headers: &HeaderMap, query: &Query) -> Response<Body> {
    let encoding = negotiate::negotiate(headers, query, BUILT_IN).unwrap_or(Format::JSON);
    let mut response = respond::status(status, &Format { view: negotiate::View::Object, ..encoding });
    response.headers_mut().insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    response
}

/// Holds a place among the client's watches for as long as the stream lives.
fn count_watch(call: &Call, response: Response<Body>) -> Result<Response<Body>, Status> {
    struct Open {
        cluster: Arc<Cluster>,
        _place: tokio::sync::OwnedSemaphorePermit,
    }
    impl Drop for Open {
        fn drop(&mut self) {
            self.cluster.metrics.watch_closed();
        }
    }
    let place = call.cluster.flow.open_watch(&call.user)?;
    call.cluster.metrics.watch_opened();
    let open = Open { cluster: Arc::clone(&call.cluster), _place: place };
    Ok(response.map(|body| {
        body.map_frame(move |frame| {
            let _held = &open;
            frame
        })
        .boxed_unsync()
    }))
}

/// A warning as the value of its header.
fn warning_value(text: &str) -> Option<HeaderValue> {
    HeaderValue::from_str(&format!("299 - {}", warning_text(text))).ok()
}

/// A warning as header text: quoted, on one line.
fn warning_text(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|character| match character {
            '"' => "\\\"".to_owned(),
            '\\' => "\\\\".to_owned(),
            character if character.is_control() => " ".to_owned(),
            character => character.to_string(),
        })
        .collect();
    format!("\"{escaped}\"")
}

fn audit_id(headers: &HeaderMap) -> String {
    let given =
        headers.get("audit-id").and_then(|value| value.to_str().ok()).filter(|id| !id.is_empty() && id.len() <= 64);
    given.map_or_else(|| uuid::Uuid::new_v4().to_string(), str::to_owned)
}

/// Takes on another identity, where the caller asks for it and may.
fn impersonate(
    cluster: &Arc<Cluster>,
    user: User,
    headers: &HeaderMap,
    info: &RequestInfo,
    account: &mut Account,
) -> Result<User, Status> {
    let pairs = headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    let Some(wanted) = impersonation::wanted_user(pairs)? else { return Ok(user) };
    let request = attributes(&user, info);
    let preferred = cluster.impersonation.lock().get(&user.name).copied();
    let impersonated = cluster
        .authorizer
        .with(cluster, |_, authorizer| impersonation::impersonate(authorizer, &request, &wanted, preferred))?;
    remember_mode(cluster, &user.name, impersonated.mode);
    account.impersonator = Some(user);
    Ok(impersonated.user)
}

/// How many users' ways of impersonating are remembered.
const MAX_REMEMBERED_MODES: usize = 1024;

fn remember_mode(cluster: &Cluster, user: &str, mode: impersonation::Mode) {
    let mut modes = cluster.impersonation.lock();
    if modes.len() >= MAX_REMEMBERED_MODES {
        modes.clear();
    }
    modes.insert(user.to_owned(), mode);
}

fn attributes<'a>(user: &'a User, info: &'a RequestInfo) -> Attributes<'a> {
    if !info.is_resource {
        return Attributes::path(user, &info.verb, &info.path);
    }
    let resource = ResourceAttributes {
        group: &info.group,
        version: &info.version,
        resource: &info.resource,
        subresource: &info.subresource,
        namespace: &info.namespace,
        name: &info.name,
    };
    Attributes { path: &info.path, ..Attributes::resource(user, &info.verb, resource) }
}

/// Refuses what the caller may not do.
fn authorize(cluster: &Arc<Cluster>, user: &User, info: &RequestInfo, query: &Query) -> Result<(), Status> {
    if !info.is_resource && matches!(info.path.split('/').nth(1), Some("healthz" | "livez" | "readyz")) {
        return Ok(());
    }
    let limited = matches!(info.verb.as_str(), "list" | "watch" | "deletecollection");
    let fields = query
        .get("fieldSelector")
        .filter(|_| limited)
        .and_then(|text| roost_object::selector::FieldSelector::parse(text).ok());
    let labels = query
        .get("labelSelector")
        .filter(|_| limited)
        .and_then(|text| roost_object::selector::Selector::parse(text).ok());
    let mut wanted = attributes(user, info);
    wanted.field_selector = fields.as_ref();
    wanted.label_selector = labels.as_ref();
    let decision = cluster.authorizer.decide(cluster, &wanted);
    if decision.is_allowed() {
        return Ok(());
    }
    Err(wanted.forbidden(&decision.reason().to_string()))
}

/// Compresses a complete body; streams and small bodies pass.
async fn compress(request: &HeaderMap, response: Response<Body>) -> Response<Body> {
    use http_body::Body as _;
    let wanted = respond::wants_gzip(request, response.body().size_hint().exact());
    let compressible = response.headers().get(CONTENT_TYPE).is_some();
    if !wanted || !compressible {
        return response;
    }
    let (parts, body) = response.into_parts();
    match body.collect().await {
        Ok(collected) => respond::compress(Response::from_parts(parts, collected.to_bytes())),
        Err(never) => match never {},
    }
}
