//! What each command does, from its arguments to what is printed.

use std::error::Error;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use roost_agent::change;
use roost_agent::collect::{self, Target as Reach};
use roost_agent::discover::{self, Settings};
use roost_agent::host::Host;
use roost_agent::https::Address;
use roost_agent::ignition_client::Target;
use roost_agent::inventory::Purpose;
use roost_agent::join::{self as joining, Leaving, Patience};
use roost_agent::journal::Journal;
use roost_agent::kept::{Artifacts, JoinRequest};
use roost_agent::linux::Linux;
use roost_agent::node_plane::NodePlane;
use roost_agent::pod_network;
use roost_agent::preflight::{self, Expectations};
use roost_agent::root::Root;
use roost_agent::status;
use roost_agent::tunnel;

use crate::arguments::{Change, Discover, Join, Leave, Output, Preflight, Source, Status};

/// The exit code that says: the checks ran, and a join cannot go on.
const CANNOT_JOIN: u8 = 2;
/// How often the Node is looked at: a change waits for pods to leave, which takes longer.
const BETWEEN_LOOKS: Duration = Duration::from_secs(10);
/// Who holds it changes this node.
const LOCK: &str = "/run/hcp-agent.lock";

/// Why arguments make no sense together.
#[derive(Debug, thiserror::Error)]
enum ArgumentsError {
    #[error("--user-data FILE, or --endpoint URL with --token, says where to join")]
    NoSource,
    #[error("--endpoint needs --token or --token-file")]
    NoToken,
    #[error("this host is no node that is changed in place; run `hcp-agent join` with its pool's user-data")]
    NotANode,
    #[error("cannot read {}", path.display())]
    File { path: std::path::PathBuf, source: std::io::Error },
    #[error("--settings FILE, or --url with --infra-env-id and --token, says where to show this host")]
    NoService,
}

type Outcome = Result<ExitCode, Box<dyn Error>>;

fn host() -> Root {
    Root::new(Path::new("/"))
}

/// Words go to the standard error, so that the standard output holds results only.
fn say(words: &str) {
    eprintln!("{words}");
}

/// Whoever reads may stop reading.
fn print(text: &dyn std::fmt::Display) {
    let _ = write!(std::io::stdout(), "{text}");
}

/// Checks the host.
pub(crate) fn preflight(arguments: &Preflight) -> Outcome {
    let mut targets = Vec::new();
    if arguments.source.user_data.is_some() || arguments.source.endpoint.is_some() {
        let target = target(&arguments.source, false)?;
        targets.push(Reach {
            purpose: Purpose::Ignition,
            address: target.address()?.with_path("/healthz"),
            trust: target.trust()?,
        });
    }
    let inventory = collect::collect(&host(), &targets);
    let expectations = Expectations {
        node_name: arguments.node_name.clone(),
        no_packages: arguments.no_packages,
        waived: arguments.waive.clone(),
        ..Expectations::default()
    };
    let report = preflight::judge(&inventory, &expectations);
    match arguments.output {
        Output::Text => print(&report),
        Output::Json => {
            let document = serde_json::json!({
                "canJoin": report.can_join(), "checks": report.checks, "inventory": inventory,
            });
            print(&format_args!("{document:#}\n"));
        }
    }
    Ok(if report.can_join() { ExitCode::SUCCESS } else { ExitCode::from(CANNOT_JOIN) })
}

/// Joins.
pub(crate) fn join(arguments: &Join) -> Outcome {
    let patience = Patience {
        payload: Duration::from_secs(arguments.payload_timeout),
        ready: Duration::from_secs(arguments.ready_timeout),
    };
    let name = if arguments.resume {
        joining::resume(&host(), patience, &mut say)?
    } else {
        let kubelet = arguments.kubelet.as_ref().map(std::fs::canonicalize).transpose()?;
        let request = JoinRequest {
            target: target(&arguments.source, true)?,
            node_name: arguments.node_name.clone(),
            waived: arguments.waive.clone(),
            no_packages: arguments.no_packages,
            kubelet,
        };
        joining::join(&host(), &request, patience, &mut say)?
    };
    println!("node/{name}");
    Ok(ExitCode::SUCCESS)
}

/// Looks at the Node again and again, and does what it asks for. Ends after a change, because that may have brought
/// another program; whoever runs it starts it again.
pub(crate) fn serve(arguments: &Change) -> Outcome {
    // A node without either can still be changed into one that has both.
    for started in [pod_network::start(&host()), tunnel::start()] {
        if let Err(error) = started {
            say(&roost_agent::words::with_causes(&error));
        }
    }
    let mut said = String::new();
    loop {
        let words = match changed(arguments, false) {
            Ok(change::Outcome::Settled) => String::new(),
            Ok(change::Outcome::Changed(hash)) => {
                say(&format!("this node has the configuration {hash} now"));
                return Ok(ExitCode::SUCCESS);
            }
            Ok(change::Outcome::TakenBack { to, reason }) => format!("{to} was taken back: {reason}"),
            Err(error) => roost_agent::words::with_causes(error.as_ref()),
        };
        if words != said && !words.is_empty() {
            say(&words);
        }
        said = words;
        std::thread::sleep(BETWEEN_LOOKS);
    }
}

/// Does at once what the service would do, and insists.
pub(crate) fn upgrade(arguments: &Change) -> Outcome {
    match changed(arguments, true)? {
        change::Outcome::Settled => say("this node has the configuration that it is to have"),
        change::Outcome::Changed(hash) => say(&format!("this node has the configuration {hash} now")),
        change::Outcome::TakenBack { to, reason } => {
            say(&format!("{to} was taken back: {reason}"));
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn changed(arguments: &Change, insists: bool) -> Result<change::Outcome, Box<dyn Error>> {
    let root = host();
    // The service and a person must not work on the same journal.
    let lock = std::fs::File::create(LOCK)?;
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive)?;
    let mut plane = NodePlane::read(&root).ok_or(ArgumentsError::NotANode)?;
    let mut artifacts = Artifacts { root: &root, trust: plane.trust()? };
    let journal = Journal::open_or_begin(&root)?;
    let mut node = Host { root: root.clone(), system: Linux, journal };
    let patience = Duration::from_secs(arguments.ready_timeout);
    Ok(change::pass(&mut node, &mut plane, &mut artifacts, patience, insists, &mut say)?)
}

/// Says how the host stands.
pub(crate) fn status(arguments: &Status) -> Outcome {
    let status = status::read(&host())?;
    match arguments.output {
        Output::Text => print(&status),
        Output::Json => print(&format_args!("{:#}\n", serde_json::to_value(&status)?)),
    }
    Ok(if status.is_well() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Leaves.
pub(crate) fn leave(arguments: &Leave) -> Outcome {
    let leaving =
        Leaving { drain: Duration::from_secs(arguments.drain_timeout), kubeconfig: arguments.kubeconfig.as_deref() };
    let remains = joining::leave(&host(), &leaving, &mut say)?;
    for path in &remains {
        say(&format!("{path} stays, since something that is not the agent's is in it"));
    }
    say("this host is as it was before it joined");
    Ok(ExitCode::SUCCESS)
}

/// Shows the host.
pub(crate) fn discover(arguments: &Discover) -> Outcome {
    if arguments.show {
        let inventory = serde_json::to_value(discover::inventory(&host()))?;
        let document = serde_json::json!({"host_id": discover::identity(&host()).id(), "inventory": inventory});
        print(&format_args!("{document:#}\n"));
        return Ok(ExitCode::SUCCESS);
    }
    let read = |path: &std::path::PathBuf| {
        std::fs::read_to_string(path).map_err(|source| ArgumentsError::File { path: path.clone(), source })
    };
    let settings: Settings = if let Some(path) = &arguments.settings {
        Settings::read(path).map_err(|source| ArgumentsError::File { path: path.clone(), source })?
    } else if let Some(partition) = &arguments.installed {
        discover::installed_settings(&host(), partition)?
    } else {
        let token = match (&arguments.token, &arguments.token_file) {
            (Some(token), _) => Some(token.trim().to_owned()),
            (None, Some(file)) => Some(read(file)?.trim().to_owned()),
            (None, None) => None,
        };
        let (Some(url), Some(infra_env_id), Some(token)) =
            (arguments.url.clone(), arguments.infra_env_id.clone(), token)
        else {
            return Err(ArgumentsError::NoService.into());
        };
        let certificate_authority = arguments.ca_file.clone();
        Settings { url, infra_env_id, token, certificate_authority, user_data: None, file: None }
    };
    discover::discover(&host(), &settings, &mut say)?;
    Ok(ExitCode::SUCCESS)
}

/// Where the payload is, as the arguments say.
fn target(source: &Source, needs_token: bool) -> Result<Target, Box<dyn Error>> {
    let read = |path: &std::path::PathBuf| {
        std::fs::read(path).map_err(|source| ArgumentsError::File { path: path.clone(), source })
    };
    let mut target = if let Some(path) = &source.user_data {
        Target::from_user_data(&read(path)?)?
    } else {
        let endpoint = source.endpoint.as_ref().ok_or(ArgumentsError::NoSource)?;
        let mut address = Address::parse(endpoint)?;
        if address.path == "/" {
            address = address.with_path("/ignition");
        }
        let token = match (&source.token, &source.token_file) {
            (Some(token), _) => Some(token.trim().to_owned()),
            (None, Some(file)) => Some(String::from_utf8_lossy(&read(file)?).trim().to_owned()),
            (None, None) => None,
        };
        if needs_token && token.is_none() {
            return Err(ArgumentsError::NoToken.into());
        }
        let mut headers = Vec::new();
        headers.extend(token.map(|token| ("Authorization".to_owned(), format!("Bearer {}", STANDARD.encode(token)))));
        headers.extend(source.node_pool.clone().map(|pool| ("NodePool".to_owned(), pool)));
        Target { url: address.to_string(), headers, authority: None, pin: None }
    };
    if let Some(file) = &source.ca_file {
        target.authority = Some(String::from_utf8_lossy(&read(file)?).into_owned());
    }
    if source.ca_pin.is_some() {
        target.authority = None;
        target.pin.clone_from(&source.ca_pin);
    }
    Ok(target)
}
