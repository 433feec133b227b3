//! One file over TLS and nothing else: what an artifact is fetched from.

use std::net::SocketAddr;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::IgnitionError;
use crate::pki::Authority;

/// A server that ends with this value.
pub(super) struct FileServer {
    address: SocketAddr,
    task: tokio::task::JoinHandle<()>,
}

impl FileServer {
    pub(super) async fn start(trust: &Authority, contents: Vec<u8>) -> Result<Self, IgnitionError> {
        let identity = trust.server("files", &["127.0.0.1"])?;
        let unusable = |what: &str| IgnitionError::Use {
            what: what.to_owned(),
            source: std::io::Error::from(std::io::ErrorKind::InvalidData),
        };
        let chain = CertificateDer::pem_slice_iter(identity.certificate.as_bytes())
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| unusable("a certificate"))?;
        let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).map_err(|_| unusable("a key"))?;
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
            .map_err(|_| unusable("a certificate"))?;
        let failed = |source| IgnitionError::Use { what: "a listener".to_owned(), source };
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let contents: Arc<[u8]> = contents.into();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, contents) = (acceptor.clone(), Arc::clone(&contents));
                tokio::spawn(async move {
                    let mut stream = acceptor.accept(stream).await?;
                    let mut request = vec![0; 4096];
                    let _ = stream.read(&mut request).await?;
                    let head =
                        format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", contents.len());
                    stream.write_all(head.as_bytes()).await?;
                    stream.write_all(&contents).await?;
                    stream.shutdown().await
                });
            }
        });
        Ok(Self { address, task })
    }

    pub(super) fn url(&self) -> String {
        format!("https://{}/kubelet", self.address)
    }
}

impl Drop for FileServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}
