//! Opening a connection: from an address to TLS with the right name, and the words when that fails.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use roost_admission::webhook::{Address, Client};
use rustls_pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::{host_of, resolve, trust};
use crate::cluster::Cluster;

/// A place to call.
pub(super) struct Endpoint {
    /// The whole address, as messages show it.
    pub(super) url: String,
    /// What stands in the request line.
    pub(super) path_and_query: String,
    /// Host and port.
    pub(super) authority: String,
    host: String,
    port: u16,
    tls: Arc<rustls::ClientConfig>,
}

impl Endpoint {
    pub(super) fn of(client: &Client, timeout: Duration) -> Result<Endpoint, String> {
        let (host, port, path) = host_of(&client.address)?;
        let shown_port = match &client.address {
            Address::Service { .. } => true,
            Address::Url(url) => url.parse::<http::Uri>().is_ok_and(|uri| uri.port().is_some()),
        };
        let authority = if shown_port { format!("{host}:{port}") } else { host.clone() };
        let path = if path.starts_with('/') { path } else { format!("/{path}") };
        let path_and_query = format!("{path}?timeout={}s", timeout.as_secs().max(1));
        let tls = trust::client_config(&client.authorities)?;
        Ok(Endpoint { url: format!("https://{authority}{path_and_query}"), path_and_query, authority, host, port, tls })
    }
}

/// Opens a connection.
pub(super) async fn connect(
    cluster: &Arc<Cluster>,
    client: &Client,
    endpoint: &Endpoint,
) -> Result<SendRequest<Full<Bytes>>, String> {
    let stream = match &client.address {
        Address::Service { namespace, name, port, .. } => {
            dial(resolve::service(cluster, namespace, name, *port)?).await?
        }
        Address::Url(_) => dial_host(&endpoint.host, endpoint.port).await?,
    };
    stream.set_nodelay(true).ok();
    let bare = endpoint.host.trim_start_matches('[').trim_end_matches(']');
    let name = match bare.parse::<IpAddr>() {
        Ok(address) => ServerName::from(address),
        Err(_) => ServerName::try_from(bare.to_owned()).map_err(|error| error.to_string())?,
    };
    let stream = TlsConnector::from(Arc::clone(&endpoint.tls))
        .connect(name, stream)
        .await
        .map_err(|error| trust::words(&error, bare))?;
    let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(|error| words(&error))?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection to a webhook ended");
        }
    });
    Ok(sender)
}

pub(super) async fn dial_host(host: &str, port: u16) -> Result<TcpStream, String> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let addresses: Vec<SocketAddr> = match tokio::net::lookup_host((bare, port)).await {
        Ok(addresses) => addresses.collect(),
        Err(_) => return Err(format!("dial tcp: lookup {bare}: no such host")),
    };
    let mut last = format!("dial tcp: lookup {bare}: no such host");
    for address in addresses {
        match dial(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

async fn dial(address: SocketAddr) -> Result<TcpStream, String> {
    use std::io::ErrorKind;
    TcpStream::connect(address).await.map_err(|error| {
        let why = match error.kind() {
            ErrorKind::ConnectionRefused => "connect: connection refused".to_owned(),
            ErrorKind::ConnectionReset => "connect: connection reset by peer".to_owned(),
            ErrorKind::HostUnreachable => "connect: no route to host".to_owned(),
            ErrorKind::NetworkUnreachable => "connect: network is unreachable".to_owned(),
            ErrorKind::TimedOut => "i/o timeout".to_owned(),
            _ => format!("connect: {error}"),
        };
        format!("dial tcp {address}: {why}")
    })
}

/// What went wrong on an open connection.
pub(super) fn words(error: &hyper::Error) -> String {
    use std::io::ErrorKind;
    if error.is_incomplete_message() || error.is_closed() {
        return "EOF".into();
    }
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        match cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind) {
            Some(ErrorKind::UnexpectedEof | ErrorKind::NotConnected | ErrorKind::BrokenPipe) => return "EOF".into(),
            Some(ErrorKind::ConnectionReset) => return "read: connection reset by peer".into(),
            _ => source = cause.source(),
        }
    }
    error.to_string()
}
