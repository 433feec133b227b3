//! Fetching a base image: over HTTP or HTTPS, with its digest checked, into a file that appears when it is whole.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::digest::{Context, SHA256};
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HOST, LOCATION, USER_AGENT};
use http::uri::Authority;
use http::{HeaderName, HeaderValue, Request, Response, Uri};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::digest::hexadecimal;

/// How long a server may take to take a connection, or to send anything at all.
const PATIENCE: Duration = Duration::from_secs(30);
const MOST_REDIRECTS: usize = 5;
/// Twice the largest live image there is.
const LARGEST_IMAGE: u64 = 8 << 30;
/// Where Debian, Fedora and Alpine keep the authorities that a machine trusts.
const SYSTEM_AUTHORITIES: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/// How images are fetched.
#[derive(Clone, Debug, Default)]
pub struct DownloadSettings {
    /// Authorities in PEM, beside those that the machine trusts.
    pub authorities: Option<String>,
    /// Headers that every request carries.
    pub headers: Vec<(String, String)>,
}

/// Why an image did not come.
#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    /// Not an address that can be fetched.
    #[error("{0:?} is not an address of an image")]
    Address(String),
    /// Nobody answers there.
    #[error("cannot connect to {0}")]
    Connect(String, #[source] io::Error),
    /// What is said there is not HTTP, or ends early.
    #[error("the download broke off")]
    Transfer(#[from] hyper::Error),
    /// The server stopped sending.
    #[error("the server sent nothing for {} s", PATIENCE.as_secs())]
    Stalled,
    /// The server has no such thing, or not for us.
    #[error("the server answered {0}")]
    Status(u16),
    /// The server sends from one address to the next.
    #[error("the server redirects too often")]
    Redirects,
    /// There is more than an image has, or less than was announced.
    #[error("{received} bytes came, and {expected} were expected")]
    Length {
        /// What came.
        received: u64,
        /// What was announced, or the most that is taken.
        expected: u64,
    },
    /// It is not the image that was named.
    #[error("the image has the digest {found}, and {wanted} was expected")]
    Digest {
        /// What came.
        found: String,
        /// What was named.
        wanted: String,
    },
    /// It cannot be kept.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The authorities to trust cannot be read.
    #[error("the trusted certificates cannot be used")]
    Authorities,
}

/// Makes sure that the file holds what the address names, and says its digest. What was fetched earlier is not fetched
/// again, unless another digest is wanted now.
pub(crate) async fn fetch(
    address: &str,
    path: &Path,
    settings: &DownloadSettings,
    report: &(dyn Fn(u64, Option<u64>) + Sync),
) -> Result<String, DownloadError> {
    let (url, wanted) = split(address)?;
    let noted = std::fs::read_to_string(note(path)).ok().filter(|_| path.is_file());
    if let Some(noted) = noted.as_deref().and_then(|text| text.split_once(' ')) {
        let (digest, of) = (noted.0, noted.1.trim_end());
        if wanted.as_deref().map_or(of == url, |wanted| wanted == digest) {
            return Ok(digest.to_owned());
        }
    }
    let failed = |source| DownloadError::Write { path: path.to_owned(), source };
    let partial = path.with_extension("part");
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory).map_err(failed)?;
    }
    let file = std::fs::File::create(&partial).map_err(failed)?;
    let received = receive(&url, file, settings, report).await;
    let digest = match received {
        Ok(digest) if wanted.as_ref().is_none_or(|wanted| *wanted == digest) => digest,
        Ok(found) => {
            let _ = std::fs::remove_file(&partial);
            return Err(DownloadError::Digest { found, wanted: wanted.unwrap_or_default() });
        }
        Err(error) => {
            let _ = std::fs::remove_file(&partial);
            return Err(match error {
                DownloadError::Write { source, .. } => failed(source),
                error => error,
            });
        }
    };
    // The note goes first: a note without its file says nothing, a file without its note is fetched again.
    forget(path);
    std::fs::rename(&partial, path).map_err(failed)?;
    std::fs::write(note(path), format!("{digest} {url}\n")).map_err(failed)?;
    Ok(digest)
}

/// Removes an image that was fetched.
pub(crate) fn forget(path: &Path) {
    for path in [note(path), path.to_owned()] {
        let _ = std::fs::remove_file(path);
    }
}

/// Where digest and origin of a fetched file are noted.
fn note(path: &Path) -> PathBuf {
    path.with_extension("sha256")
}

/// An address and the digest behind it.
fn split(address: &str) -> Result<(String, Option<String>), DownloadError> {
    let wrong = || DownloadError::Address(address.to_owned());
    let Some((url, fragment)) = address.split_once('#') else { return Ok((address.to_owned(), None)) };
    let digest = fragment.strip_prefix("sha256=").ok_or_else(wrong)?.to_ascii_lowercase();
    let is_digest = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_digest { Ok((url.to_owned(), Some(digest))) } else { Err(wrong()) }
}

async fn receive(
    url: &str,
    mut file: std::fs::File,
    settings: &DownloadSettings,
    report: &(dyn Fn(u64, Option<u64>) + Sync),
) -> Result<String, DownloadError> {
    let response = follow(url, settings).await?;
    let total = response.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let mut body = response.into_body();
    let mut digest = Context::new(&SHA256);
    let mut received = 0;
    report(received, total);
    loop {
        let frame = tokio::time::timeout(PATIENCE, body.frame()).await.map_err(|_| DownloadError::Stalled)?;
        let Some(frame) = frame else { break };
        let Ok(data) = frame?.into_data() else { continue };
        received += data.len() as u64;
        let most = total.unwrap_or(LARGEST_IMAGE).min(LARGEST_IMAGE);
        if received > most {
            return Err(DownloadError::Length { received, expected: most });
        }
        (file, digest) = blocking(move || {
            file.write_all(&data)?;
            digest.update(&data);
            Ok((file, digest))
        })
        .await?;
        report(received, total);
    }
    if total.is_some_and(|total| total != received) {
        return Err(DownloadError::Length { received, expected: total.unwrap_or_default() });
    }
    blocking(move || file.sync_all()).await?;
    Ok(hexadecimal(digest.finish().as_ref()))
}

/// Files are written where waiting for a disk holds nobody up.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, DownloadError> {
    let written = tokio::task::spawn_blocking(work).await.map_err(io::Error::other).flatten();
    written.map_err(|source| DownloadError::Write { path: PathBuf::new(), source })
}

async fn follow(url: &str, settings: &DownloadSettings) -> Result<Response<Incoming>, DownloadError> {
    let mut uri: Uri = url.parse().map_err(|_| DownloadError::Address(url.to_owned()))?;
    for _ in 0..=MOST_REDIRECTS {
        let response =
            tokio::time::timeout(PATIENCE, ask(&uri, settings)).await.map_err(|_| DownloadError::Stalled)??;
        match response.status().as_u16() {
            200 => return Ok(response),
            301 | 302 | 303 | 307 | 308 => {
                let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
                uri = elsewhere(&uri, location.unwrap_or_default())?;
            }
            status => return Err(DownloadError::Status(status)),
        }
    }
    Err(DownloadError::Redirects)
}

/// Where a redirect leads. From HTTPS it does not lead to HTTP.
fn elsewhere(from: &Uri, location: &str) -> Result<Uri, DownloadError> {
    let wrong = || DownloadError::Address(location.to_owned());
    let to: Uri = location.parse().map_err(|_| wrong())?;
    if to.scheme().is_some() {
        let downgrade = from.scheme_str() == Some("https") && to.scheme_str() != Some("https");
        return if downgrade { Err(wrong()) } else { Ok(to) };
    }
    if !location.starts_with('/') {
        return Err(wrong());
    }
    let mut parts = from.clone().into_parts();
    parts.path_and_query = to.into_parts().path_and_query;
    Uri::from_parts(parts).map_err(|_| wrong())
}

async fn ask(uri: &Uri, settings: &DownloadSettings) -> Result<Response<Incoming>, DownloadError> {
    let wrong = || DownloadError::Address(uri.to_string());
    let is_secure = match uri.scheme_str() {
        Some("https") => true,
        Some("http") => false,
        _ => return Err(wrong()),
    };
    let host = uri.host().ok_or_else(wrong)?.trim_matches(['[', ']']).to_owned();
    let port = uri.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
    let refused = |source| DownloadError::Connect(format!("{host}:{port}"), source);
    let stream = TcpStream::connect((host.as_str(), port)).await.map_err(refused)?;
    let mut request = Request::get(uri.path_and_query().map_or("/", |path| path.as_str()))
        .header(HOST, uri.authority().map(Authority::as_str).unwrap_or_default())
        .header(USER_AGENT, "roost");
    for (name, value) in &settings.headers {
        let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), value.parse::<HeaderValue>()) else { continue };
        request = request.header(name, value);
    }
    let request = request.body(Empty::<Bytes>::new()).map_err(|_| wrong())?;
    if !is_secure {
        return exchange(stream, request).await;
    }
    let connector = TlsConnector::from(Arc::new(trust(settings)?));
    let name = ServerName::try_from(host.clone()).map_err(|_| wrong())?;
    exchange(connector.connect(name, stream).await.map_err(refused)?, request).await
}

async fn exchange<S>(stream: S, request: Request<Empty<Bytes>>) -> Result<Response<Incoming>, DownloadError>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(sender.send_request(request).await?)
}

fn trust(settings: &DownloadSettings) -> Result<ClientConfig, DownloadError> {
    let mut roots = RootCertStore::empty();
    let system = SYSTEM_AUTHORITIES.iter().find_map(|path| std::fs::read(path).ok()).unwrap_or_default();
    roots.add_parsable_certificates(CertificateDer::pem_slice_iter(&system).flatten());
    for certificate in CertificateDer::pem_slice_iter(settings.authorities.as_deref().unwrap_or_default().as_bytes()) {
        let certificate = certificate.map_err(|_| DownloadError::Authorities)?;
        roots.add(certificate).map_err(|_| DownloadError::Authorities)?;
    }
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|_| DownloadError::Authorities)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::{elsewhere, split};

    #[test]
    fn a_digest_may_follow_the_address() {
        let digest = "ab".repeat(32);
        assert_eq!(split("https://h/a.iso").unwrap(), ("https://h/a.iso".to_owned(), None));
        let upper = format!("https://h/a.iso#sha256={}", digest.to_uppercase());
        assert_eq!(split(&upper).unwrap(), ("https://h/a.iso".to_owned(), Some(digest)));
        for wrong in ["https://h/a#", "https://h/a#sha256=ab", "https://h/a#md5=ab"] {
            assert!(split(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn redirects_stay_secure() {
        let from = "https://h/a".parse().unwrap();
        assert_eq!(elsewhere(&from, "/b?c").unwrap().to_string(), "https://h/b?c");
        assert_eq!(elsewhere(&from, "https://i/b").unwrap().to_string(), "https://i/b");
        for wrong in ["http://h/b", "file:///b", "", "b"] {
            assert!(elsewhere(&from, wrong).is_err(), "{wrong}");
        }
    }
}
