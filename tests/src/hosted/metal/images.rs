//! The images of an InfraEnv, fetched as firmware, management controllers and people fetch them: by the links of its status.

use std::io::Read as _;
use std::sync::Arc;

use flate2::read::GzDecoder;
use kube::Client;
use kube::api::DynamicObject;
use roost_image::BaseImage;
use roost_pki::Secret;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::super::HostedError;
use super::super::disk::live_image;
use super::super::objects::{api, condition, decode, refused, secrets, until};

/// What a server answered.
struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

fn link(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The token in the link of an image.
fn token_of(iso: &str) -> &str {
    iso.split('/').nth(4).unwrap_or_default()
}

/// An InfraEnv that has an image.
async fn with_image(client: &Client, namespace: &str, name: &str) -> Result<DynamicObject, HostedError> {
    let all = api(client, "agent-install.openshift.io/v1beta1", "InfraEnv", "infraenvs", namespace);
    until("the InfraEnv had an image", async || {
        let found = all.get(name).await.map_err(|error| error.to_string())?;
        let (status, message) = condition(&found, "ImageCreated");
        if status == "True" { Ok(found) } else { Err(message) }
    })
    .await
}

/// Who vouches for the servers.
async fn authority(client: &Client) -> Result<String, HostedError> {
    let secret = secrets(client, "hypershift").get("assisted-service-ca").await.map_err(refused("the authority"))?;
    Ok(decode(secret.data["data"]["tls.crt"].as_str().unwrap_or_default()).unwrap_or_default())
}

/// Follows the links of one InfraEnv with the token of another, and with one that has expired.
pub(crate) async fn stay_apart(
    client: &Client,
    namespace: &str,
    own: &str,
    other: &str,
    expired: &Secret<String>,
) -> Result<(), HostedError> {
    let authority = authority(client).await?;
    let (own, other) = (with_image(client, namespace, own).await?, with_image(client, namespace, other).await?);
    let id = |found: &DynamicObject| found.metadata.uid.clone().unwrap_or_default();
    let (own_id, other_id) = (id(&own), id(&other));
    let (status, artifacts) = (&own.data["status"], &own.data["status"]["bootArtifacts"]);
    let (iso, other_iso) = (link(&status["isoDownloadURL"]), link(&other.data["status"]["isoDownloadURL"]));
    let (token, other_token) = (token_of(&iso), token_of(&other_iso));
    let (base, _) = iso.split_once("/byapikey/").ok_or_else(|| HostedError::Wrong(format!("no token in {iso}")))?;
    let newest = "the status of the InfraEnv has the newest link";
    let (initrd, script) = (link(&artifacts["initrd"]), link(&artifacts["ipxeScript"]));
    let discovery = link(&artifacts["discoveryIgnitionURL"]);
    let by_name = format!("{base}/images/{own_id}?type=full-iso&version={}&api_key={token}", live_image::VERSION);
    expect("an image by its name", &fetch("GET", &by_name, "", &authority).await?, 200)?;
    for (link, shown, status, words) in [
        (&by_name, other_token, 401, newest),
        (&initrd, other_token, 401, newest),
        (&script, other_token, 401, newest),
        (&discovery, other_token, 404, "of another infra-env"),
        (&iso, expired.expose(), 401, newest),
        (&initrd, expired.expose(), 401, newest),
        (&script, expired.expose(), 401, newest),
        (&discovery, expired.expose(), 401, "expired; boot the host from an image that was downloaded today"),
    ] {
        let stranger = fetch("GET", &link.replace(token, shown), "", &authority).await?;
        expect(link, &stranger, status)?;
        let told = String::from_utf8_lossy(&stranger.body);
        if !told.contains(words) {
            return Err(HostedError::Wrong(format!("{link} was refused without {words:?}: {told}")));
        }
    }
    // A link that names nobody is that of its token.
    let image = fetch("GET", &iso.replace(token, other_token), "", &authority).await?;
    expect("the image of the other", &image, 200)?;
    let embedded = embedded(&image.body)?;
    if embedded.contains(&own_id) || !embedded.contains(&other_id) {
        return Err(HostedError::Wrong("the image of one InfraEnv came by the token of another".to_owned()));
    }
    Ok(())
}

/// Follows the link to the logs of a host, with its token and with none.
pub(super) async fn has_logs(client: &Client, namespace: &str, id: &str) -> Result<(), HostedError> {
    let authority = authority(client).await?;
    let all = super::agents(client, namespace);
    let url = until("the Agent had a link to its logs", async || {
        let agent = all.get(id).await.map_err(|error| error.to_string())?;
        let url = agent.data["status"]["debugInfo"]["logsURL"].as_str().map(str::to_owned);
        url.ok_or_else(|| agent.data["status"]["debugInfo"].to_string())
    })
    .await?;
    let logs = fetch("GET", &url, "", &authority).await?;
    expect("the logs of a host", &logs, 200)?;
    if !String::from_utf8_lossy(&logs.body).contains("the simulated host cannot do") {
        return Err(HostedError::Wrong("the logs of a host say nothing of its failure".to_owned()));
    }
    let (bare, _) = url.split_once("&api_key=").ok_or_else(|| HostedError::Wrong(format!("no token in {url}")))?;
    expect("the logs of a host for nobody", &fetch("GET", bare, "", &authority).await?, 401)
}

/// Fetches everything that an InfraEnv links to, and tries what must not work.
pub(super) async fn check(client: &Client, namespace: &str, name: &str) -> Result<(), HostedError> {
    let found = with_image(client, namespace, name).await?;
    let status = &found.data["status"];
    let authority = authority(client).await?;
    let iso = link(&status["isoDownloadURL"]);
    let whole = fetch("GET", &iso, "", &authority).await?;
    expect("the image", &whole, 200)?;
    let embedded = embedded(&whole.body)?;
    let id = found.metadata.uid.clone().unwrap_or_default();
    for words in ["config.ign", "etc/roost/discovery.json", "etc/roost/ca.pem", "BEGIN CERTIFICATE", &id] {
        if !embedded.contains(words) {
            return Err(HostedError::Wrong(format!("the image has no {words} in it")));
        }
    }
    let length = whole.body.len();
    let head = fetch("HEAD", &iso, "", &authority).await?;
    expect("the image's head", &head, 200)?;
    if !head.head.to_ascii_lowercase().contains(&format!("content-length: {length}\r\n")) || !head.body.is_empty() {
        return Err(HostedError::Wrong(format!("the head of an image of {length} bytes is {}", head.head)));
    }
    let (start, end) = (length / 3, length / 2);
    let part = fetch("GET", &iso, &format!("Range: bytes={start}-{end}\r\n"), &authority).await?;
    expect("a part of the image", &part, 206)?;
    if part.body != whole.body[start..=end] {
        return Err(HostedError::Wrong("a part of the image is not that part".to_owned()));
    }
    let artifacts = &status["bootArtifacts"];
    let kernel = fetch("GET", &link(&artifacts["kernel"]), "", &authority).await?;
    let initrd = fetch("GET", &link(&artifacts["initrd"]), "", &authority).await?;
    if kernel.body != live_image::KERNEL || !initrd.body.starts_with(live_image::INITRD) {
        return Err(HostedError::Wrong(format!("kernel: {}, initrd: {}", kernel.status, initrd.status)));
    }
    let script = link(&artifacts["ipxeScript"]);
    if !script.starts_with("http://") {
        return Err(HostedError::Wrong(format!("old iPXE knows no TLS, and the script is at {script}")));
    }
    let plain = fetch("GET", &script, "", &authority).await?;
    let words = String::from_utf8_lossy(&plain.body).into_owned();
    for part in ["initrd", "kernel"] {
        if !words.contains(&link(&artifacts[part])) {
            return Err(HostedError::Wrong(format!("the script does not name the {part}: {words}")));
        }
    }
    expect("the configuration", &fetch("GET", &link(&artifacts["discoveryIgnitionURL"]), "", &authority).await?, 200)?;
    let token = token_of(&iso);
    let other = format!("{}x", &token[..token.len() - 1]);
    for link in [&iso, &script, &link(&artifacts["initrd"])] {
        let stranger = fetch("GET", &link.replace(token, &other), "", &authority).await?;
        expect("a token that nobody signed", &stranger, 401)?;
    }
    let foreign = iso.replacen(live_image::VERSION, "9.99", 1);
    expect("a version that there is not", &fetch("GET", &foreign, "", &authority).await?, 400)
}

fn expect(what: &str, answer: &Answer, status: u16) -> Result<(), HostedError> {
    if answer.status == status {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&answer.body);
    Err(HostedError::Wrong(format!("{what} was answered with {} instead of {status}: {words}", answer.status)))
}

/// What was put into an image, unpacked.
fn embedded(image: &[u8]) -> Result<String, HostedError> {
    let wrong = |error: &dyn std::fmt::Display| HostedError::Wrong(format!("the image cannot be read: {error}"));
    let area = BaseImage::read(image).map_err(|error| wrong(&error))?.areas.ignition;
    let start = usize::try_from(area.offset).map_err(|error| wrong(&error))?;
    let mut bytes = Vec::new();
    GzDecoder::new(&image[start..]).read_to_end(&mut bytes).map_err(|error| wrong(&error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

async fn fetch(method: &str, link: &str, headers: &str, authority: &str) -> Result<Answer, HostedError> {
    let wrong = |error: &dyn std::fmt::Display| HostedError::Wrong(format!("{link}: {error}"));
    let (scheme, rest) = link.split_once("://").ok_or_else(|| wrong(&"no link"))?;
    let (host, path) = rest.split_once('/').ok_or_else(|| wrong(&"no path"))?;
    let request = format!("{method} /{path} HTTP/1.1\r\nHost: {host}\r\n{headers}Connection: close\r\n\r\n");
    let stream = TcpStream::connect(host).await.map_err(|error| wrong(&error))?;
    if scheme == "http" {
        return ask(stream, &request).await.map_err(|error| wrong(&error));
    }
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authority.as_bytes()) {
        let certificate = certificate.map_err(|error| wrong(&error))?;
        roots.add(certificate).map_err(|error| wrong(&error))?;
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(&error))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name).to_owned();
    let name = ServerName::try_from(name).map_err(|error| wrong(&error))?;
    let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.map_err(|error| wrong(&error))?;
    ask(stream, &request).await.map_err(|error| wrong(&error))
}

async fn ask(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &str) -> std::io::Result<Answer> {
    stream.write_all(request.as_bytes()).await?;
    let mut bytes = Vec::new();
    if let Err(error) = stream.read_to_end(&mut bytes).await
        && error.kind() != std::io::ErrorKind::UnexpectedEof
    {
        return Err(error);
    }
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or_default() + 4;
    let body = bytes.split_off(end.min(bytes.len()));
    let head = String::from_utf8_lossy(&bytes).into_owned();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
    Ok(Answer { status, head, body })
}

#[cfg(test)]
mod tests {
    use crate::hosted::{Management, prepare_environment};

    #[tokio::test(flavor = "multi_thread")]
    async fn the_links_of_an_infra_env_lead_somewhere() {
        let management = Management::embedded().await.expect("a plane");
        prepare_environment(&management.client, "hardware", "pool").await.expect("an InfraEnv");
        super::check(&management.client, "hardware", "pool").await.expect("its images");
    }
}
