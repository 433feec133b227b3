//! Carries connections from a node's network to a plane that listens on loopback only.

use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A forwarded port; dropping it closes it.
pub(super) struct Forward {
    accepting: JoinHandle<()>,
}

impl Forward {
    /// Begins to carry.
    pub(super) async fn start(from: SocketAddr, to: SocketAddr) -> std::io::Result<Self> {
        let listener = TcpListener::bind(from).await?;
        let accepting = tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                tokio::spawn(async move {
                    if let Ok(mut far) = TcpStream::connect(to).await {
                        // Either side may end a connection whenever it likes.
                        let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
                    }
                });
            }
        });
        Ok(Self { accepting })
    }
}

impl Drop for Forward {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}
