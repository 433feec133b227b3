//! A TLS connection on which anything can be said, in any rhythm.

use std::sync::Arc;
use std::time::Duration;

use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::kubeconfig::Kubeconfig;
use crate::plane::{Plane, PlaneError};

/// How long a server may say nothing: longer than a busy machine takes to read what was sent.
const PATIENCE: Duration = Duration::from_mins(1);

/// A connection to the server.
pub struct Raw {
    stream: TlsStream<TcpStream>,
}

/// What came back until the server closed the connection or fell silent.
#[derive(Debug)]
pub struct RawAnswer {
    /// Everything that was read.
    pub text: String,
    /// Whether the server closed the connection.
    pub closed: bool,
}

impl RawAnswer {
    /// The status code; zero when there is none.
    pub fn code(&self) -> u16 {
        self.text.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0)
    }
}

impl Raw {
    /// Connects with the administrator's certificate and agrees on a protocol: `http/1.1` or `h2`.
    pub async fn connect(plane: &Plane, protocol: &str) -> Result<Self, PlaneError> {
        Self::open(plane, protocol, true).await
    }

    /// Connects without a certificate.
    pub async fn connect_without_identity(plane: &Plane, protocol: &str) -> Result<Self, PlaneError> {
        Self::open(plane, protocol, false).await
    }

    async fn open(plane: &Plane, protocol: &str, identified: bool) -> Result<Self, PlaneError> {
        let kubeconfig = Kubeconfig::read(&plane.kubeconfig)?;
        let wrong = |error: &dyn std::fmt::Display| std::io::Error::other(error.to_string());
        let mut roots = rustls::RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(kubeconfig.authority.as_bytes()) {
            roots.add(certificate.map_err(|error| wrong(&error))?).map_err(|error| wrong(&error))?;
        }
        let identity = &kubeconfig.administrator;
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(identity.certificate.as_bytes()).collect();
        let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).map_err(|error| wrong(&error))?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong(&error))?
            .with_root_certificates(roots);
        let mut configuration = if identified {
            let chain = chain.map_err(|error| wrong(&error))?;
            builder.with_client_auth_cert(chain, key).map_err(|error| wrong(&error))?
        } else {
            builder.with_no_client_auth()
        };
        configuration.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        let address = kubeconfig.server.trim_start_matches("https://");
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        let name = ServerName::try_from(host.to_owned()).map_err(|error| wrong(&error))?;
        let socket = TcpStream::connect(address).await?;
        socket.set_nodelay(true)?;
        let stream = TlsConnector::from(Arc::new(configuration)).connect(name, socket).await?;
        Ok(Self { stream })
    }

    /// Sends bytes; false when the connection is gone.
    pub async fn write(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).await.is_ok() && self.stream.flush().await.is_ok()
    }

    /// Reads until the server closes the connection or says nothing for too long.
    pub async fn read(&mut self) -> RawAnswer {
        let mut bytes = Vec::new();
        let mut buffer = vec![0; 16 * 1024];
        loop {
            match tokio::time::timeout(PATIENCE, self.stream.read(&mut buffer)).await {
                Ok(Ok(count)) if count > 0 => bytes.extend_from_slice(&buffer[..count]),
                Ok(_) => return RawAnswer { text: String::from_utf8_lossy(&bytes).into_owned(), closed: true },
                Err(_) => return RawAnswer { text: String::from_utf8_lossy(&bytes).into_owned(), closed: false },
            }
        }
    }

    /// The connection itself.
    pub(super) fn into_stream(self) -> TlsStream<TcpStream> {
        self.stream
    }
}
