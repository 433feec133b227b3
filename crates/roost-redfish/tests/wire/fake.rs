//! A management controller in this process, with moods.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, IF_MATCH};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::time::Instant;

/// `root:calvin`.
const AUTHORIZED: &str = "Basic cm9vdDpjYWx2aW4=";
/// How late a late controller does what it accepted.
const DELAY: Duration = Duration::from_millis(150);

/// How a controller behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    Good,
    /// Does everything, but a while later.
    Late,
    /// Has its drive below the manager.
    MediaOfManager,
    /// Wants to hear which version is changed.
    WantsVersions,
    /// Sends those who forget the slash elsewhere.
    Redirects,
    /// Takes an image's address and nothing else.
    Plain,
    /// Takes one boot for all.
    KeepsBoot,
    /// The same, names the devices that it boots from, and fails when asked for anything else.
    KnowsDevicesOnly,
    /// The system does not listen when it shall shut down.
    DeafSystem,
    Stalls,
    Unauthorized,
    Fails,
    Drops,
    Garbage,
    Huge,
    IgnoresMedia,
    WrongMedia,
    IgnoresBoot,
    IgnoresPower,
    NoMedia,
    RefusesImage,
}

/// What a controller boots from that knows only devices.
const DEVICES: [&str; 3] = ["Pxe", "Cd", "Hdd"];

struct State {
    mood: Mood,
    is_on: bool,
    image: Option<String>,
    boot: (String, String),
    boots: Vec<String>,
    asked: Vec<String>,
    later: Vec<(Instant, Effect)>,
}

enum Effect {
    Image(Option<String>),
    Power(bool),
}

/// A controller that listens.
pub(crate) struct Fake {
    pub(crate) address: SocketAddr,
    pub(crate) authority: String,
    state: Arc<Mutex<State>>,
    listening: tokio::task::JoinHandle<()>,
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

impl Fake {
    pub(crate) async fn start(mood: Mood) -> Self {
        Self::listen(mood, None).await
    }

    pub(crate) async fn start_with_tls() -> Self {
        let now = jiff::Timestamp::now();
        let life = jiff::SignedDuration::from_hours(1);
        let authority = roost_pki::CertificateAuthority::new("bmc", now, life).expect("a controller");
        let issued = authority.issue_server("bmc", &["127.0.0.1"], now, life).expect("a controller");
        let key = rustls_pki_types::pem::PemObject::from_pem_slice(
            issued.key_pem().expect("a controller").expose().as_bytes(),
        )
        .expect("a controller");
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("a controller")
            .with_no_client_auth()
            .with_single_cert(vec![issued.certificate.to_tls()], key)
            .expect("a controller");
        let mut fake = Self::listen(Mood::Good, Some(tokio_rustls::TlsAcceptor::from(Arc::new(config)))).await;
        fake.authority = authority.certificate().to_pem();
        fake
    }

    async fn listen(mood: Mood, tls: Option<tokio_rustls::TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a controller");
        let address = listener.local_addr().expect("a controller");
        let state = State {
            mood,
            is_on: false,
            image: None,
            boot: ("None".to_owned(), "Disabled".to_owned()),
            boots: Vec::new(),
            asked: Vec::new(),
            later: Vec::new(),
        };
        let state = Arc::new(Mutex::new(state));
        let shared = Arc::clone(&state);
        let listening = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (state, tls) = (Arc::clone(&shared), tls.clone());
                tokio::spawn(async move {
                    let service = service_fn(move |request| answer(Arc::clone(&state), request));
                    let server = hyper::server::conn::http1::Builder::new();
                    match tls {
                        None => drop(server.serve_connection(TokioIo::new(stream), service).await),
                        Some(tls) => {
                            let Ok(stream) = tls.accept(stream).await else { return };
                            drop(server.serve_connection(TokioIo::new(stream), service).await);
                        }
                    }
                });
            }
        });
        Self { address, authority: String::new(), state, listening }
    }

    pub(crate) fn set_mood(&self, mood: Mood) {
        self.state.lock().mood = mood;
    }

    pub(crate) fn set_power(&self, is_on: bool) {
        self.state.lock().is_on = is_on;
    }

    pub(crate) fn insert(&self, image: &str) {
        self.state.lock().image = Some(image.to_owned());
    }

    /// From what the computer was booted, one time after the other.
    pub(crate) fn boots(&self) -> Vec<String> {
        self.state.lock().boots.clone()
    }

    /// What was asked for, with its body.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.state.lock().asked.clone()
    }
}

type Reply = Result<Response<Full<Bytes>>, std::io::Error>;

fn reply(status: u16, body: &Value) -> Response<Full<Bytes>> {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let response = Response::builder().status(status).header("ETag", "W/\"7\"");
    response.body(Full::new(Bytes::from(body))).expect("an answer")
}

async fn answer(state: Arc<Mutex<State>>, request: Request<Incoming>) -> Reply {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(std::io::Error::other)?.to_bytes();
    let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let mood = state.lock().mood;
    match mood {
        Mood::Stalls => tokio::time::sleep(Duration::from_mins(1)).await,
        Mood::Drops => return Err(std::io::Error::other("gone")),
        Mood::Garbage => return Ok(Response::new(Full::new(Bytes::from_static(b"<html>")))),
        Mood::Huge => return Ok(Response::new(Full::new(Bytes::from(vec![b' '; 4 << 20])))),
        Mood::Unauthorized => return Ok(reply(401, &Value::Null)),
        Mood::Fails => {
            return Ok(reply(
                500,
                &json!({"error": {"@Message.ExtendedInfo": [{"Message": "the flux is out of order"}]}}),
            ));
        }
        _ => {}
    }
    if head.headers.get(AUTHORIZATION).is_none_or(|value| value != AUTHORIZED) {
        return Ok(reply(401, &Value::Null));
    }
    let path = head.uri.path().to_owned();
    if mood == Mood::Redirects && !path.ends_with('/') && head.method == Method::GET {
        return Ok(Response::builder()
            .status(StatusCode::PERMANENT_REDIRECT)
            .header("Location", format!("{path}/"))
            .body(Full::default())
            .expect("a controller"));
    }
    if mood == Mood::WantsVersions && head.method == Method::PATCH && head.headers.get(IF_MATCH).is_none() {
        return Ok(reply(428, &Value::Null));
    }
    let mut state = state.lock();
    state.asked.push(format!("{} {path} {body}", head.method));
    let now = Instant::now();
    let (due, rest) = std::mem::take(&mut state.later).into_iter().partition(|(time, _)| *time <= now);
    state.later = rest;
    let due: Vec<(Instant, Effect)> = due;
    for (_, effect) in due {
        state.apply(effect);
    }
    let path = path.trim_end_matches('/');
    Ok(match head.method {
        Method::GET => state.show(path),
        Method::PATCH => state.change(path, &body),
        _ => state.act(path, &body),
    })
}

impl State {
    fn drive(&self) -> &'static str {
        if self.mood == Mood::MediaOfManager {
            "/redfish/v1/Managers/1/VirtualMedia"
        } else {
            "/redfish/v1/Systems/1/VirtualMedia"
        }
    }

    fn keeps_boot(&self) -> bool {
        matches!(self.mood, Mood::KeepsBoot | Mood::KnowsDevicesOnly)
    }

    fn apply(&mut self, effect: Effect) {
        match effect {
            Effect::Image(image) => self.image = image,
            Effect::Power(is_on) => {
                if is_on {
                    self.boots.push(self.boot.0.clone());
                    if !self.keeps_boot() {
                        self.boot = ("None".to_owned(), "Disabled".to_owned());
                    }
                }
                self.is_on = is_on;
            }
        }
    }

    fn cause(&mut self, effect: Effect) {
        if self.mood == Mood::Late {
            self.later.push((Instant::now() + DELAY, effect));
        } else {
            self.apply(effect);
        }
    }

    fn show(&self, path: &str) -> Response<Full<Bytes>> {
        let link = |path: &str| json!({"@odata.id": path});
        let drive = format!("{}/Cd", self.drive());
        let body = match path {
            "/redfish/v1/Systems/1" => {
                let mut system = json!({
                    "PowerState": if self.is_on { "On" } else { "Off" },
                    "Manufacturer": "Contoso", "Model": "3500", "SerialNumber": "437XR1138R2",
                    "ProcessorSummary": {"Count": 2, "LogicalProcessorCount": 16, "Model": "Xeon"},
                    "MemorySummary": {"TotalSystemMemoryGiB": 96},
                    "Boot": {"BootSourceOverrideTarget": self.boot.0, "BootSourceOverrideEnabled": self.boot.1},
                    "EthernetInterfaces": link("/redfish/v1/Systems/1/EthernetInterfaces"),
                    "Links": {"ManagedBy": [link("/redfish/v1/Managers/1")]},
                    "Actions": {"#ComputerSystem.Reset": {"target": "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset",
                        "ResetType@Redfish.AllowableValues": ["On", "ForceOff", "GracefulShutdown", "ForceRestart"]}},
                });
                if self.mood == Mood::KnowsDevicesOnly {
                    system["Boot"]["BootSourceOverrideTarget@Redfish.AllowableValues"] = json!(DEVICES);
                }
                if self.mood != Mood::MediaOfManager && self.mood != Mood::NoMedia {
                    system["VirtualMedia"] = link(self.drive());
                }
                system
            }
            "/redfish/v1/Managers/1" if self.mood == Mood::MediaOfManager => {
                json!({"VirtualMedia": link(self.drive())})
            }
            "/redfish/v1/Managers/1" => json!({}),
            "/redfish/v1/Systems/1/EthernetInterfaces" => {
                json!({"Members": [link("/redfish/v1/Systems/1/EthernetInterfaces/1")]})
            }
            "/redfish/v1/Systems/1/EthernetInterfaces/1" => json!({"MACAddress": "52:54:00:AA:00:01"}),
            path if path == self.drive() => json!({"Members": [link(&format!("{path}/Floppy")), link(&drive)]}),
            path if path == format!("{}/Floppy", self.drive()) => json!({"MediaTypes": ["Floppy", "USBStick"]}),
            path if path == drive => json!({
                "MediaTypes": ["CD", "DVD"], "Image": self.image, "Inserted": self.image.is_some(),
                "Actions": {
                    "#VirtualMedia.InsertMedia": {"target": format!("{path}/Actions/VirtualMedia.InsertMedia")},
                    "#VirtualMedia.EjectMedia": {"target": format!("{path}/Actions/VirtualMedia.EjectMedia")},
                },
            }),
            _ => return reply(404, &Value::Null),
        };
        reply(200, &body)
    }

    fn change(&mut self, path: &str, body: &Value) -> Response<Full<Bytes>> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        if path != "/redfish/v1/Systems/1" {
            return reply(405, &Value::Null);
        }
        let boot = &body["Boot"];
        let enabled = text(&boot["BootSourceOverrideEnabled"]);
        let enabled = if self.keeps_boot() && enabled == "Once" { "Continuous".to_owned() } else { enabled };
        let target = text(&boot["BootSourceOverrideTarget"]);
        if self.mood == Mood::KnowsDevicesOnly && !DEVICES.contains(&target.as_str()) {
            return reply(500, &json!({"error": {"message": "there is no such device"}}));
        }
        if self.mood != Mood::IgnoresBoot {
            self.boot = (target, enabled);
        }
        reply(204, &Value::Null)
    }

    fn act(&mut self, path: &str, body: &Value) -> Response<Full<Bytes>> {
        let mood = self.mood;
        if path.ends_with("InsertMedia") {
            let image = body["Image"].as_str().unwrap_or_default().to_owned();
            match mood {
                Mood::RefusesImage => return reply(400, &json!({"error": {"message": "the image cannot be fetched"}})),
                Mood::Plain if body["Inserted"].is_boolean() => return reply(400, &Value::Null),
                Mood::IgnoresMedia => {}
                Mood::WrongMedia => self.image = Some("http://192.0.2.9/wrong.iso".to_owned()),
                _ => self.cause(Effect::Image(Some(image))),
            }
        } else if path.ends_with("EjectMedia") {
            self.cause(Effect::Image(None));
        } else {
            match body["ResetType"].as_str().unwrap_or_default() {
                _ if mood == Mood::IgnoresPower => {}
                "GracefulShutdown" if mood == Mood::DeafSystem => {}
                "GracefulShutdown" | "ForceOff" => self.cause(Effect::Power(false)),
                "On" | "ForceRestart" => self.cause(Effect::Power(true)),
                _ => return reply(400, &Value::Null),
            }
        }
        reply(204, &Value::Null)
    }
}
