//! A simulated host's network: slow or cut off on command.
//!
//! A host that is cut off does not hang up. Its connections stay open and carry nothing, as they do when a cable is
//! pulled, and are given up when the network is back.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::timing;

/// The network as one host sees it.
#[derive(Debug)]
pub(crate) struct Network {
    address: IpAddr,
    delay: Duration,
    up: watch::Sender<bool>,
}

impl Network {
    pub(crate) fn new(address: IpAddr, delay: Duration) -> Self {
        Self { address, delay, up: watch::Sender::new(true) }
    }

    /// Cuts the host off, or connects it again.
    pub(crate) fn set(&self, up: bool) {
        self.up.send_replace(up);
    }

    /// Waits as long as the host is slow.
    pub(crate) async fn wait(&self) {
        if !self.delay.is_zero() {
            tokio::time::sleep(self.delay).await;
        }
    }

    /// Opens a secured connection.
    pub(crate) async fn connect(
        &self,
        host: &str,
        port: u16,
        name: ServerName<'static>,
        tls: Arc<ClientConfig>,
    ) -> io::Result<TlsStream<TcpStream>> {
        let late = || io::Error::new(io::ErrorKind::TimedOut, format!("no answer from {host}:{port}"));
        if !*self.up.borrow() {
            tokio::time::sleep(timing::CONNECT).await;
            return Err(late());
        }
        let connect = async {
            let stream = self.dial(host, port).await?;
            stream.set_nodelay(true)?;
            TlsConnector::from(tls).connect(name, stream).await
        };
        tokio::time::timeout(timing::CONNECT, connect).await.map_err(|_| late())?
    }

    async fn dial(&self, host: &str, port: u16) -> io::Result<TcpStream> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, format!("{host} has no address"));
        for address in tokio::net::lookup_host((host, port)).await? {
            match self.dial_address(address).await {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Speaks from the host's own address where the system lets it, so that the other side can tell hosts apart.
    async fn dial_address(&self, address: SocketAddr) -> io::Result<TcpStream> {
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        let same_machine = self.address.is_loopback() && address.ip().is_loopback();
        if same_machine && self.address.is_ipv4() == address.is_ipv4() {
            socket.bind(SocketAddr::new(self.address, 0))?;
        }
        socket.connect(address).await
    }

    /// Carries a connection for as long as the network is up. When it is cut, the connection is neither served nor
    /// closed until the network is back.
    pub(crate) async fn carry(&self, connection: impl Future) {
        let mut up = self.up.subscribe();
        tokio::pin!(connection);
        tokio::select! {
            _ = &mut connection => return,
            _ = up.wait_for(|up| !up) => {}
        }
        let _ = up.wait_for(|up| *up).await;
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::time::Duration;

    use tokio::sync::oneshot;
    use tokio::time::timeout;

    use super::Network;

    #[tokio::test(start_paused = true)]
    async fn a_cut_connection_is_neither_served_nor_closed() {
        let network = Network::new(IpAddr::V4(Ipv4Addr::LOCALHOST), Duration::ZERO);
        let (work, done) = oneshot::channel::<()>();
        let carried = network.carry(done);
        tokio::pin!(carried);
        let while_up = timeout(Duration::from_secs(1), &mut carried).await;
        assert!(while_up.is_err());
        network.set(false);
        let _ = timeout(Duration::from_secs(1), &mut carried).await;
        // What the connection would have done by now, it does not do.
        work.send(()).unwrap();
        assert!(timeout(Duration::from_secs(100), &mut carried).await.is_err());
        network.set(true);
        assert!(timeout(Duration::from_secs(1), carried).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_answers_a_host_that_is_cut_off() {
        let network = Network::new(IpAddr::V4(Ipv4Addr::LOCALHOST), Duration::ZERO);
        network.set(false);
        let trust = crate::trust::Trust::default();
        let now = jiff::Timestamp::now();
        let authority = roost_pki::CertificateAuthority::new("a", now, jiff::SignedDuration::from_hours(1)).unwrap();
        let pem = authority.certificate().to_pem();
        let tls = trust.client(&pem, None, crate::clock::Clock::default(), b"h2").unwrap();
        let name = "localhost".try_into().unwrap();
        let error = network.connect("localhost", 1, name, tls).await.unwrap_err();
        assert_eq!(error.to_string(), "no answer from localhost:1");
    }
}
