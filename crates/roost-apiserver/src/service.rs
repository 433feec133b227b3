//! The way of a request: who, may they, wait your turn, answer, account.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::CONNECTION;
use http::{HeaderMap, HeaderValue, Method, Request, Response};
use http_body_util::BodyExt as _;
use jiff::Timestamp;
use parking_lot::Mutex;
use roost_access::User;
use roost_object::Status;

use crate::access::{self, InProcess};
use crate::body;
use crate::call::{Annotations, Call, Warnings};
use crate::classify::Class;
use crate::cluster::Cluster;
use crate::negotiate::{self, Format};
use crate::party::Party;
use crate::request::{Query, RequestInfo, escapes_are_whole};
use crate::respond::{self, Body};
use crate::{documents, handle, heavy, metrics, tunnel};

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
    let (parts, body) = request.into_parts();
    let query = Query::parse(parts.uri.query());
    let mut account = Account::open(&parts, &query);
    let gzip = respond::accepts_gzip(&parts.headers);
    let bodiless = parts.method == Method::HEAD;
    let closable = parts.version < http::Version::HTTP_2;
    let party = parts.extensions.get::<Arc<Party>>().cloned();
    let mut body = body::Unread::new(body);
    let outcome = serve(&cluster, parts, &mut body, query, &mut account).await;
    let mut response = outcome.unwrap_or_else(|status| respond::status(&status, &account.refusals));
    body.drain(party.clone());
    let headers = response.headers_mut();
    if let Some((schema, level)) = account.class.take() {
        headers.insert("x-kubernetes-pf-flowschema-uid", schema);
        headers.insert("x-kubernetes-pf-prioritylevel-uid", level);
    }
    if account.too_large && closable {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    for warning in &account.warnings {
        respond::warn(headers, warning);
    }
    headers.insert("audit-id", HeaderValue::from_str(&account.id).unwrap_or(HeaderValue::from_static("")));
    let refusals = account.refusals;
    account.close(&cluster, response.status().as_u16());
    if gzip && respond::is_compressible(&response) {
        // That takes longer than it took to make the answer.
        let compressed = heavy::run(party, async { Ok(respond::compress(response).await) }).await;
        response = compressed.unwrap_or_else(|status| respond::status(&status, &refusals));
    }
    if bodiless { respond::without_body(response) } else { response }
}

/// What is known of a request when it has been answered.
struct Account {
    id: String,
    received: Timestamp,
    started: Instant,
    uri: http::Uri,
    info: Arc<RequestInfo>,
    /// The form of refusals.
    refusals: Format,
    user: Option<Arc<User>>,
    impersonator: Option<Arc<User>>,
    annotations: BTreeMap<String, String>,
    /// What the caller is told about their credential.
    warnings: Vec<&'static str>,
    /// Whether the body was larger than any may be, after which stock ends the connection.
    too_large: bool,
    /// Under which flow schema and priority level the request falls.
    class: Option<Class>,
    /// What the request is counted under, once it is let through.
    labels: Option<String>,
}

impl Account {
    fn open(parts: &http::request::Parts, query: &Query) -> Self {
        Self {
            id: audit_id(&parts.headers),
            received: Timestamp::now(),
            started: Instant::now(),
            uri: parts.uri.clone(),
            info: Arc::new(RequestInfo::parse(&parts.method, parts.uri.path(), query)),
            refusals: negotiate::for_refusals(&parts.headers, query),
            user: None,
            impersonator: None,
            annotations: BTreeMap::new(),
            warnings: access::ignored_token(&parts.headers, &parts.extensions).into_iter().collect(),
            too_large: false,
            class: None,
            labels: None,
        }
    }

    /// Counts the answer, and tells the audit log of it.
    fn close(self, cluster: &Cluster, code: u16) {
        if let Some(labels) = self.labels {
            cluster.metrics.observe(labels, code, self.started.elapsed());
        }
        let (Some(audit), Some(user)) = (cluster.audit.read().clone(), &self.user) else { return };
        let (real, impersonated) = match &self.impersonator {
            Some(real) => (real, Some(&**user)),
            None => (user, None),
        };
        audit.record(crate::audit::Entry {
            id: &self.id,
            user: real,
            impersonated,
            info: &self.info,
            uri: &self.uri,
            code,
            received: self.received,
            annotations: self.annotations,
        });
    }
}

async fn serve<B>(
    cluster: &Arc<Cluster>,
    mut parts: http::request::Parts,
    body: &mut body::Unread<B>,
    query: Query,
    account: &mut Account,
) -> Result<Response<Body>, Status>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let info = Arc::clone(&account.info);
    if !escapes_are_whole(parts.uri.path()) {
        return Ok(respond::bare_text(400, "400 Bad Request"));
    }
    if info.is_cut_off {
        return Ok(cut_off(&parts.uri));
    }
    let patience = patience(&info, &query)?;
    let access::Found { user, secret } = match parts.extensions.get::<InProcess>() {
        Some(InProcess(user)) => access::Found::new(user.clone()),
        None => access::authenticate(cluster, &parts.headers, &parts.extensions)?,
    };
    if let Some((namespace, name)) = secret {
        account.warnings.extend(crate::inside::note_token_use(cluster, &namespace, &name).await);
    }
    let user = match access::impersonate(cluster, &user, &parts.headers, &info) {
        Ok(None) => Arc::new(user),
        Ok(Some(other)) => {
            account.impersonator = Some(Arc::new(user));
            Arc::new(other)
        }
        Err(status) => return Ok(refused(&status, &account.refusals)),
    };
    account.user = Some(Arc::clone(&user));
    if !info.is_connection() {
        account.class = cluster.flows.read(&cluster.store, |flows| flows.class(&user, &info));
    }
    let is_tunnel = account.impersonator.is_none() && tunnel::is_of_node(&user, &info.path);
    if !is_tunnel && let Err(status) = access::authorize(cluster, &user, &info, &query) {
        return Ok(refused(&status, &account.refusals));
    }
    account.labels = metrics::labels(cluster, &info, &parts.method, &parts.headers, &query);
    let permit = cluster.flow.enter(&user).await?;
    let party = parts.extensions.remove();
    let call = Arc::new(Call {
        cluster: Arc::clone(cluster),
        user,
        info,
        query,
        headers: parts.headers,
        method: parts.method,
        upgrade: Mutex::new(parts.extensions.remove()),
        warnings: Warnings::default(),
        annotations: Annotations::default(),
    });
    let work = async {
        if is_tunnel { tunnel::answer(&call) } else { perform(&call, party, body, &mut account.too_large).await }
    };
    let left = patience.saturating_sub(account.started.elapsed());
    let outcome = if left.is_zero() { None } else { tokio::time::timeout(left, work).await.ok() };
    let Some(outcome) = outcome else {
        account.class = None;
        return Ok(out_of_time());
    };
    let mut response = outcome.unwrap_or_else(|status| respond::status(&status, &account.refusals));
    drop(permit);
    account.annotations = call.annotations.take();
    for warning in call.warnings.take() {
        respond::warn(response.headers_mut(), &warning);
    }
    if call.info.verb == "watch" && response.status().is_success() {
        return count_watch(&call, response);
    }
    Ok(response)
}

/// Does what is asked for, beside the others or, where it is heavy, behind them.
async fn perform<B>(
    call: &Arc<Call>,
    party: Option<Arc<Party>>,
    body: &mut body::Unread<B>,
    too_large: &mut bool,
) -> Result<Response<Body>, Status>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let document = ["/version", "/api", "/.well-known/openid-configuration", "/openid/v1/jwks"];
    let is_document = document.contains(&call.info.path.as_str());
    if call.method == Method::HEAD && is_document {
        let why = "the server does not allow this method on the requested resource";
        return Err(Status::failure(405, "MethodNotAllowed", why));
    }
    if !call.info.is_resource {
        return documents::answer(call);
    }
    let bytes = if call.method == Method::GET {
        Bytes::new()
    } else {
        body.read(party.as_deref()).await.inspect_err(|status| *too_large = status.code == 413)?
    };
    if !heavy::is_heavy(call, &bytes) {
        return handle::resource(call, bytes).await;
    }
    let _turn = call.cluster.flow.enter_heavy(&call.user, party.as_deref()).await?;
    let (call, length) = (Arc::clone(call), bytes.len());
    let work = Box::pin(async move { handle::resource(&call, bytes).await });
    let outcome = heavy::run(party.clone(), work).await;
    if let Some(party) = party {
        match &outcome {
            Ok(_) => party.accept_bytes(length),
            Err(status) if heavy::is_refusal(status) => party.refuse_bytes(length),
            Err(_) => {}
        }
    }
    outcome
}

/// How long the caller wants to wait, which may be less than the server would.
fn patience(info: &RequestInfo, query: &Query) -> Result<Duration, Status> {
    let asked = query.get("timeout").unwrap_or_default();
    if asked.is_empty() || info.verb == "watch" || info.is_connection() {
        return Ok(REQUEST_TIMEOUT);
    }
    let (negative, asked) = roost_object::duration::parse(asked)
        .map_err(|words| Status::bad_request(format!("invalid timeout specified in the request URL - {words}")))?;
    Ok(if negative || asked.is_zero() { REQUEST_TIMEOUT } else { asked.min(REQUEST_TIMEOUT) })
}

/// The answer to a request that took too long: stock gives up on it outside of all that knows types.
fn out_of_time() -> Response<Body> {
    let status = Status::timeout("request did not complete within the allotted timeout");
    let mut value = respond::status_value(&status);
    value["metadata"] = serde_json::json!({});
    let mut text = Vec::new();
    if let Some(ty) = roost_kinds::type_of("v1", "Status") {
        roost_kinds::json::write(&mut text, &value, ty);
    }
    text.push(b'\n');
    respond::bytes(status.code, "text/plain; charset=utf-8", text)
}

/// The answer to a path that ends too early, before anybody asks who sent it.
fn cut_off(uri: &http::Uri) -> Response<Body> {
    let shown = uri.path_and_query().map_or("/", |path| path.as_str());
    let why = format!("failed to create RequestInfo: unable to determine kind and namespace from url, {shown}");
    let text = format!("Internal Server Error: \"{shown}\": {why}\n");
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mut response = respond::bare_text(500, text);
    response.headers_mut().insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    response
}

/// The answer to someone who may not: browsers must not take it for a page.
fn refused(status: &Status, format: &Format) -> Response<Body> {
    let mut response = respond::status(status, format);
    response.headers_mut().insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    response
}

/// Holds a place among the client's watches for as long as the stream lives.
fn count_watch(call: &Call, response: Response<Body>) -> Result<Response<Body>, Status> {
    struct Open {
        cluster: Arc<Cluster>,
        labels: String,
        _place: tokio::sync::OwnedSemaphorePermit,
    }
    impl Drop for Open {
        fn drop(&mut self) {
            self.cluster.metrics.watch_closed(&self.labels);
        }
    }
    let place = call.cluster.flow.open_watch(&call.user)?;
    let labels = metrics::watch_labels(&call.info);
    call.cluster.metrics.watch_opened(&labels);
    let open = Open { cluster: Arc::clone(&call.cluster), labels, _place: place };
    Ok(response.map(|body| {
        body.map_frame(move |frame| {
            let _held = &open;
            frame
        })
        .boxed_unsync()
    }))
}

fn audit_id(headers: &HeaderMap) -> String {
    let given =
        headers.get("audit-id").and_then(|value| value.to_str().ok()).filter(|id| !id.is_empty() && id.len() <= 64);
    given.map_or_else(|| uuid::Uuid::new_v4().to_string(), str::to_owned)
}
