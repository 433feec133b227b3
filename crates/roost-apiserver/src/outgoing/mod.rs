//! Calls that the server makes: to the webhooks of a tenant, and on behalf of its users to kubelets, pods and services.
//!
//! A call to a webhook has a deadline and a largest answer, and its connection is kept for the next one, a few each.
//! What is done for users is handed on as it comes, on a connection of its own.

mod answer;
mod connect;
mod kubelet;
mod pool;
mod relay;
mod resolve;
mod trust;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HOST, USER_AGENT};
use http::response::Parts;
use http::{Method, Request};
use http_body_util::Full;
use roost_admission::webhook::{Address, Client};

use crate::cluster::Cluster;
pub(crate) use answer::read_object;
use connect::Endpoint;
pub(crate) use kubelet::Kubelets;
pub(crate) use pool::Pool;
pub(crate) use relay::{Backend, Hold, pass_on};
pub(crate) use trust::unverified;

/// The largest answer that is read: more than any object may have, patched or converted by the list.
const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;

/// Why a call brought nothing, in the words of stock's client.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// The caller's certificates cannot be read.
    #[error("could not get REST client: {0}")]
    Client(String),
    /// No answer came.
    #[error("failed to call webhook: Post \"{url}\": {why}")]
    Transport {
        /// The address that was called.
        url: String,
        /// What happened.
        why: String,
    },
    /// The answer is not a success.
    #[error("failed to call webhook: {0}")]
    Response(String),
}

impl CallError {
    /// The words without those that only admission puts in front.
    pub(crate) fn reason(&self) -> String {
        match self {
            CallError::Client(why) | CallError::Response(why) => why.clone(),
            CallError::Transport { url, why } => format!("Post \"{url}\": {why}"),
        }
    }
}

/// Who calls, as a webhook sees it, whatever it is asked.
const AGENT: &str = "kube-apiserver-admission";

/// Posts a body and returns the answer's.
pub(crate) async fn post(
    cluster: &Arc<Cluster>,
    client: &Client,
    timeout: Duration,
    body: Bytes,
) -> Result<Bytes, CallError> {
    let endpoint = Endpoint::of(client, timeout).map_err(CallError::Client)?;
    let transport = |why: String| CallError::Transport { url: endpoint.url.clone(), why };
    match tokio::time::timeout(timeout, exchange(cluster, client, &endpoint, body)).await {
        Ok(Ok((parts, bytes))) => answer::body_of(&parts, bytes).map_err(CallError::Response),
        Ok(Err(why)) => Err(transport(why)),
        Err(_) => Err(transport("context deadline exceeded".into())),
    }
}

async fn exchange(
    cluster: &Arc<Cluster>,
    client: &Client,
    endpoint: &Endpoint,
    body: Bytes,
) -> Result<(Parts, Bytes), String> {
    let pool = &cluster.policies.connections;
    // A kept connection may have been closed at the other end meanwhile: then the call is made on a new one.
    while let Some(mut connection) = pool.take(client) {
        match connection.send_request(request(endpoint, body.clone())).await {
            Ok(response) => {
                let answer = read(response).await?;
                pool.give_back(client, connection);
                return Ok(answer);
            }
            Err(error) if error.is_canceled() || error.is_closed() => {}
            Err(error) => return Err(connect::words(&error)),
        }
    }
    let mut connection = connect::connect(cluster, client, endpoint).await?;
    let response = connection.send_request(request(endpoint, body)).await.map_err(|error| connect::words(&error))?;
    let answer = read(response).await?;
    pool.give_back(client, connection);
    Ok(answer)
}

fn request(endpoint: &Endpoint, body: Bytes) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = Method::POST;
    if let Ok(uri) = endpoint.path_and_query.parse() {
        *request.uri_mut() = uri;
    }
    let headers = request.headers_mut();
    headers.insert(ACCEPT, http::HeaderValue::from_static("application/json, */*"));
    headers.insert(CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
    headers.insert(USER_AGENT, http::HeaderValue::from_static(AGENT));
    if let Ok(host) = http::HeaderValue::from_str(&endpoint.authority) {
        headers.insert(HOST, host);
    }
    request
}

async fn read(response: http::Response<hyper::body::Incoming>) -> Result<(Parts, Bytes), String> {
    let (parts, body) = response.into_parts();
    let read = roost_body::read(body, MAX_ANSWER_BYTES).await;
    read.map(|body| (parts, body)).map_err(|error| error.to_string())
}

/// The name that an address is known by to TLS.
fn host_of(address: &Address) -> Result<(String, u16, String), String> {
    match address {
        Address::Service { namespace, name, port, path } => {
            Ok((format!("{name}.{namespace}.svc"), *port, path.clone()))
        }
        Address::Url(url) => {
            let uri: http::Uri = url.parse().map_err(|_| format!("Unparsable URL: {url}"))?;
            let host = uri.host().unwrap_or_default().to_owned();
            Ok((host, uri.port_u16().unwrap_or(443), uri.path().to_owned()))
        }
    }
}
