//! From a request to its answer.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::BoxStream;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Frame;
use hyper::upgrade::OnUpgrade;
use roost_pki::Certificate;

use super::enter::{self, Door, Entered};
use super::{Kubelet, logs, metrics, permission};

/// A body that is known, or one that goes on.
pub(super) type Body = UnsyncBoxBody<Bytes, Infallible>;

impl Kubelet {
    /// Answers a request, and says what goes on when it was one to enter a container.
    pub(super) async fn answer<B>(
        self: &Arc<Self>,
        request: &Request<B>,
        upgrade: Option<OnUpgrade>,
        certificate: Option<&Certificate>,
    ) -> (Response<Body>, Option<Entered>) {
        if let Some(refusal) = self.refuse(request, certificate).await {
            return (refusal, None);
        }
        let (path, query) = (request.uri().path(), request.uri().query().unwrap_or_default());
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let door = match parts.as_slice() {
            [action @ ("exec" | "attach"), namespace, pod, container] => {
                Door { action, namespace, pod, container, query }
            }
            [action @ "portForward", namespace, pod] => Door { action, namespace, pod, container: "", query },
            parts => return (self.route(request.method(), parts, query), None),
        };
        enter::answer(self, &door, request, upgrade)
    }

    /// The answer to somebody who may not ask; none when they may.
    async fn refuse<B>(&self, request: &Request<B>, certificate: Option<&Certificate>) -> Option<Response<Body>> {
        let path = request.uri().path();
        let caller = match permission::caller(&self.client, certificate, request.headers()).await {
            Ok(Some(caller)) => caller,
            Ok(None) => return Some(text(StatusCode::UNAUTHORIZED, "Unauthorized")),
            Err(error) => {
                return Some(text(StatusCode::INTERNAL_SERVER_ERROR, format!("nobody can tell who you are: {error}")));
            }
        };
        match permission::allowed(&self.client, &caller, &self.node, request.method(), path).await {
            Ok(true) => None,
            Ok(false) => {
                let words = format!("Forbidden (user={}, node={})", caller.name, self.node);
                Some(text(StatusCode::FORBIDDEN, words))
            }
            Err(error) => {
                let words = format!("nobody can tell what you may do: {error}");
                Some(text(StatusCode::INTERNAL_SERVER_ERROR, words))
            }
        }
    }

    fn route(&self, method: &Method, parts: &[&str], query: &str) -> Response<Body> {
        match parts {
            ["healthz"] => text(StatusCode::OK, "ok"),
            ["containerLogs", namespace, pod, container] if method == Method::GET => {
                logs::answer(&self.view, self.clock, (namespace, pod, container), query)
            }
            ["metrics", "resource"] if method == Method::GET => {
                let metrics = metrics::resource(&self.view.pods(), self.clock.now());
                typed(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", metrics)
            }
            ["stats", "summary"] if method == Method::GET => {
                let summary = metrics::summary(&self.node, &self.view.pods(), self.clock.now());
                typed(StatusCode::OK, "application/json", summary.to_string())
            }
            _ => text(StatusCode::NOT_FOUND, "404 page not found"),
        }
    }
}

pub(super) fn text(code: StatusCode, words: impl Into<Bytes>) -> Response<Body> {
    typed(code, "text/plain; charset=utf-8", words)
}

fn typed(code: StatusCode, kind: &'static str, words: impl Into<Bytes>) -> Response<Body> {
    respond(code, kind, Full::new(words.into()).boxed_unsync())
}

/// An answer that goes on for as long as the stream does.
pub(super) fn streamed(stream: BoxStream<'static, Bytes>) -> Response<Body> {
    let frames = stream.map(|bytes| Ok::<_, Infallible>(Frame::data(bytes)));
    respond(StatusCode::OK, "text/plain", StreamBody::new(frames).boxed_unsync())
}

fn respond(code: StatusCode, kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
