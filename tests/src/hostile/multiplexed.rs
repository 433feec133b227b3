//! Many requests at once on few connections.

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};

use super::Raw;
use crate::plane::{Plane, PlaneError};

/// An HTTP/2 connection that stays open as long as this lives.
pub struct Multiplexed {
    sender: SendRequest<Full<Bytes>>,
}

impl Multiplexed {
    /// Connects with the administrator's certificate.
    pub async fn connect(plane: &Plane) -> Result<Self, PlaneError> {
        let stream = Raw::connect(plane, "h2").await?.into_stream();
        let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .map_err(|error| std::io::Error::other(error.to_string()))?;
        tokio::spawn(async move {
            // A broken connection shows itself to whoever waits for its answer.
            let _ = connection.await;
        });
        Ok(Self { sender })
    }

    /// Asks for something and returns as soon as the answer begins.
    pub async fn get(&mut self, target: &str, impersonated: &str) -> Result<http::Response<Incoming>, hyper::Error> {
        let request = Request::get(format!("https://localhost{target}"))
            .header("impersonate-user", impersonated)
            .header("impersonate-group", "system:authenticated")
            .body(Full::new(Bytes::new()))
            .expect("the target of a test is well formed");
        self.sender.ready().await?;
        self.sender.send_request(request).await
    }
}
