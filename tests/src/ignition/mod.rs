//! The real Ignition: what our server hands out is fetched, understood and applied by the program that machines boot
//! with.

mod artifacts;
mod machine;
mod pools;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use roost_ignition::payload::{Node, Pool, Rendered, render};
use roost_ignition::{Config, ConfigError, Pointer, SpecVersion, user_data};
use roost_ignition_server::{
    Authority, Fetch, Limits, Listen, Payload, PlaneId, Purpose, Refusal, ServeError, Servers,
};
use roost_pki::Secret;
use tokio::process::Command;

use crate::pki::{self, PkiError};
use machine::Machine;

/// Where Debian's package `ignition` puts the program.
const IGNITION: &str = "/usr/lib/dracut/modules.d/30ignition/ignition";
const VALIDATE: &str = "/usr/bin/ignition-validate";

/// The newest version of the spec that the packaged program reads.
const NEWEST: SpecVersion = SpecVersion::V3_3;

/// The pool's token and the path of the payload.
const TOKEN: &str = "6f2b1c0e-6d5f-4a57-9a34-5f6f2b8a9d10";

/// How long a machine is watched that should get nothing: a few of Ignition's attempts.
const IN_VAIN: Duration = Duration::from_secs(3);

/// Why the real Ignition could not be tried, or what it did not like.
#[derive(Debug, thiserror::Error)]
pub enum IgnitionError {
    /// The program is not installed: `apt-get install ignition`.
    #[error("the real Ignition is not installed ({0})")]
    Missing(&'static str),
    /// Only root can write files of other owners.
    #[error("applying a config needs root")]
    NotRoot,
    /// Certificates could not be made.
    #[error(transparent)]
    Pki(#[from] PkiError),
    /// The server did not start.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// A file or a program could not be used.
    #[error("cannot use {what}")]
    Use {
        /// What.
        what: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A payload could not be made.
    #[error("{variant}: no payload")]
    Payload {
        /// Of which variant.
        variant: String,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The real Ignition refused or did something else.
    #[error("{variant}: {problem}")]
    Differs {
        /// Which variant.
        variant: String,
        /// What was found.
        problem: String,
    },
}

/// What was done.
#[derive(Debug, Default)]
pub struct Report {
    /// Configs that the real program found valid.
    pub validated: usize,
    /// Configs that the real program refused, as ours did.
    pub refused: usize,
    /// Machines that were provisioned.
    pub machines: usize,
    /// Files whose contents and modes were compared.
    pub files: usize,
    /// The time from pointer to finished root of the last machine.
    pub provisioned_in: Duration,
}

/// Whether the real Ignition can be tried here.
pub fn available() -> Result<(), IgnitionError> {
    for program in [IGNITION, VALIDATE] {
        if !Path::new(program).exists() {
            return Err(IgnitionError::Missing(program));
        }
    }
    if rustix::process::geteuid().is_root() { Ok(()) } else { Err(IgnitionError::NotRoot) }
}

/// Has everything validated, fetched and applied.
pub async fn run() -> Result<Report, IgnitionError> {
    available()?;
    let mut report = Report::default();
    let folder = tempfile::tempdir().map_err(|source| IgnitionError::Use { what: "a folder".to_owned(), source })?;
    // Keys are written by the user whose keys they are.
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755))
        .map_err(|source| IgnitionError::Use { what: folder.path().display().to_string(), source })?;
    let trust = pki::Authority::generate("ignition test")?;
    let (_serving, files) = artifacts::serve(&trust, folder.path()).await?;
    let authority_pem = trust.identity().certificate.clone();
    for (name, pool) in pools::all(&authority_pem, &files) {
        validate(&name, &pool, folder.path(), &mut report).await?;
    }
    refuse(folder.path(), &mut report).await?;
    for (name, pool) in pools::all(&authority_pem, &files) {
        provision(&name, &pool, &trust, folder.path(), &mut report).await?;
    }
    Ok(report)
}

fn failed(variant: &str) -> impl Fn(Box<dyn std::error::Error + Send + Sync>) -> IgnitionError + '_ {
    move |source| IgnitionError::Payload { variant: variant.to_owned(), source }
}

fn differs(variant: &str, problem: impl Into<String>) -> IgnitionError {
    IgnitionError::Differs { variant: variant.to_owned(), problem: problem.into() }
}

fn node(token: &str) -> Node {
    Node {
        name: "workers-1a2b3c4d".to_owned(),
        bootstrap_token: Secret::new(token.to_owned()),
        provider_id: Some("roost://0b1c/workers-1a2b3c4d".to_owned()),
    }
}

/// The payload of a pool in every version that can say it, and the pointer to it.
async fn validate(name: &str, pool: &Pool, folder: &Path, report: &mut Report) -> Result<(), IgnitionError> {
    let rendered = render(pool).map_err(|error| failed(name)(error.into()))?;
    let config = rendered.for_node(&node("abcdef.0123456789abcdef"));
    let mut said = 0;
    for version in SpecVersion::ALL.into_iter().filter(|version| *version <= NEWEST) {
        match config.translate(version) {
            Ok(translated) => {
                is_valid(&format!("{name} in {version}"), &translated, folder).await?;
                said += 1;
            }
            Err(ConfigError::Untranslatable { .. }) => {}
            Err(error) => return Err(failed(name)(error.into())),
        }
    }
    if said == 0 {
        return Err(differs(name, "no version can say it"));
    }
    let pointer = user_data(&pointer("ignition.example.com:30080", &pool.api_trust, TOKEN));
    is_valid(&format!("{name}, user-data"), &pointer, folder).await?;
    report.validated += said + 1;
    Ok(())
}

async fn says_valid(variant: &str, bytes: &[u8], folder: &Path) -> Result<(bool, String), IgnitionError> {
    let path = folder.join("config.ign");
    write(&path, bytes)?;
    let output = Command::new(VALIDATE)
        .arg(&path)
        .output()
        .await
        .map_err(|source| IgnitionError::Use { what: format!("{VALIDATE} on {variant}"), source })?;
    let words = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Ok((output.status.success(), words))
}

async fn is_valid(variant: &str, config: &Config, folder: &Path) -> Result<(), IgnitionError> {
    config.validate().map_err(|error| failed(variant)(error.into()))?;
    let (valid, words) = says_valid(variant, &config.to_bytes(), folder).await?;
    if valid && !words.contains("warning") { Ok(()) } else { Err(differs(variant, words)) }
}

/// What we refuse, the real program refuses too.
async fn refuse(folder: &Path, report: &mut Report) -> Result<(), IgnitionError> {
    for (name, text) in pools::INVALID {
        let ours = Config::parse(text.as_bytes()).and_then(|config| config.validate());
        let (theirs, words) = says_valid(name, text.as_bytes(), folder).await?;
        if ours.is_ok() || theirs {
            return Err(differs(name, format!("ours says {ours:?}, the real one {theirs}: {words}")));
        }
        report.refused += 1;
    }
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), IgnitionError> {
    std::fs::write(path, bytes).map_err(|source| IgnitionError::Use { what: path.display().to_string(), source })
}

fn pointer(endpoint: &str, authority: &str, token: &str) -> Pointer {
    Pointer {
        endpoint: endpoint.to_owned(),
        address: None,
        certificate_authority: authority.to_owned(),
        token: Secret::new(token.to_owned()),
        node_pool: "clusters/workers".to_owned(),
        config_hash: "1a2b3c4d".to_owned(),
        proxy: None,
        agent: None,
    }
}

/// Hands out one pool's payload, each time with another bootstrap token.
struct OnePool {
    rendered: Rendered,
    fetches: AtomicUsize,
    unknown: AtomicUsize,
}

fn bootstrap_token(fetch: usize) -> String {
    format!("abc{fetch:03}.0123456789abcdef")
}

impl Authority for OnePool {
    async fn payload(&self, fetch: Fetch) -> Result<Payload, Refusal> {
        let is_ours = fetch.pool.as_deref() == Some("clusters/workers") && fetch.hash.as_deref() == Some("1a2b3c4d");
        if !fetch.token.matches(TOKEN) || !is_ours || fetch.purpose != Purpose::Deliver {
            self.unknown.fetch_add(1, Ordering::SeqCst);
            return Err(Refusal::UnknownToken);
        }
        let count = self.fetches.fetch_add(1, Ordering::SeqCst) + 1;
        Ok(Payload::from_config(&self.rendered.for_node(&node(&bootstrap_token(count)))))
    }
}

/// A machine boots with user-data and becomes what the payload says.
async fn provision(
    name: &str,
    pool: &Pool,
    trust: &pki::Authority,
    folder: &Path,
    report: &mut Report,
) -> Result<(), IgnitionError> {
    let rendered = render(pool).map_err(|error| failed(name)(error.into()))?;
    let authority = Arc::new(OnePool { rendered, fetches: AtomicUsize::new(0), unknown: AtomicUsize::new(0) });
    let servers = Servers::new(Arc::clone(&authority), Limits::default(), Arc::default());
    let serving = trust.server("ignition", &["localhost", "127.0.0.1"])?;
    let listen =
        Listen { address: ([127, 0, 0, 1], 0).into(), certificate: serving.certificate, key: Secret::new(serving.key) };
    let address = servers.ensure(&PlaneId::new(name), listen).await?;
    let endpoint = format!("localhost:{}", address.port());
    let authority_pem = &trust.identity().certificate;

    let machine = Machine::new(&folder.join(name.replace(' ', "-")))?;
    let start = Instant::now();
    let good = user_data(&pointer(&endpoint, authority_pem, TOKEN));
    machine.boot(name, &good.to_bytes(), machine::STAGE_TIMEOUT).await?;
    report.provisioned_in = start.elapsed();
    if authority.fetches.load(Ordering::SeqCst) != 1 {
        return Err(differs(name, "the payload was not fetched exactly once"));
    }
    let applied = authority.rendered.for_node(&node(&bootstrap_token(1)));
    report.files += machine.holds(name, &applied)?;
    report.machines += 1;

    if report.machines == 1 {
        strangers(name, &authority, &endpoint, authority_pem, folder).await?;
    }
    servers.remove(&PlaneId::new(name));
    Ok(())
}

/// Machines that must get nothing.
async fn strangers(
    name: &str,
    authority: &OnePool,
    endpoint: &str,
    authority_pem: &str,
    folder: &Path,
) -> Result<(), IgnitionError> {
    // A token that nobody knows is tried again and again, because it may be known soon.
    let stranger = user_data(&pointer(endpoint, authority_pem, "unknown"));
    let machine = Machine::new(&folder.join("stranger"))?;
    let stranger = stranger.to_bytes();
    let twice = async {
        while authority.unknown.load(Ordering::SeqCst) < 2 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::select! {
        result = machine.boot(name, &stranger, machine::STAGE_TIMEOUT) => {
            return Err(differs(name, format!("a machine with an unknown token did not keep trying: {result:?}")));
        }
        () = twice => {}
    }
    // A header that can never become right ends the boot.
    let good = user_data(&pointer(endpoint, authority_pem, TOKEN));
    let malformed = String::from_utf8_lossy(&good.to_bytes()).replace("Bearer ", "bearer ");
    let result = machine.boot(name, malformed.as_bytes(), machine::STAGE_TIMEOUT).await;
    if result.is_ok() || is_still_trying(&result) {
        return Err(differs(name, format!("a machine with a malformed header did not give up: {result:?}")));
    }
    // An authority that is not ours serves nobody.
    let other = pki::Authority::generate("another")?;
    let mistrusting = user_data(&pointer(endpoint, &other.identity().certificate, TOKEN));
    let result = machine.boot(name, &mistrusting.to_bytes(), IN_VAIN).await;
    if result.is_ok() || authority.fetches.load(Ordering::SeqCst) != 1 {
        return Err(differs(name, "a machine trusted a server that it must not trust"));
    }
    Ok(())
}

fn is_still_trying(result: &Result<(), IgnitionError>) -> bool {
    matches!(result, Err(IgnitionError::Differs { problem, .. }) if problem.contains(machine::STILL_TRYING))
}

/// Contents as a `data:` URL.
fn data_url(text: &str) -> String {
    format!("data:;base64,{}", STANDARD.encode(text))
}

/// A path below a root.
fn below(root: &Path, path: &str) -> PathBuf {
    root.join(path.trim_start_matches('/'))
}
