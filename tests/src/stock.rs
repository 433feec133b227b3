//! Starts a stock plane: etcd, kube-apiserver and, where asked for, a kube-controller-manager with the controllers
//! that Roost has inside.

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::net::TcpStream;

use crate::assets;
use crate::kubeconfig::Kubeconfig;
use crate::pki::{self, Authority, Identity};
use crate::plane::{Plane, PlaneError, free_port};
use crate::process::Process;

/// How long etcd may take to listen. It syncs first, and a disk that others keep busy was seen to take half a minute.
const ETCD_TIMEOUT: Duration = Duration::from_mins(2);

/// The controllers that Roost's engine has inside; every other one would write to objects that Roost leaves alone.
const INSIDE_CONTROLLERS: &[&str] = &[
    "namespace-controller",
    "garbage-collector-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "root-ca-certificate-publisher-controller",
    "certificatesigningrequest-signing-controller",
    "certificatesigningrequest-approving-controller",
    "certificatesigningrequest-cleaner-controller",
    "clusterrole-aggregation-controller",
    "resourcequota-controller",
    "token-cleaner-controller",
];

/// The addresses of Services, the same on both sides.
pub const SERVICE_CIDR: &str = "10.96.0.0/16";

/// The issuer of service account tokens, the same on both sides; kubeadm's default.
pub const SERVICE_ACCOUNT_ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

/// What a stock plane is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// etcd does not wait for the disk: for comparisons of behaviour.
    Fast,
    /// etcd waits for the disk, as it does in production: for comparisons of speed.
    Durable,
}

/// Which controllers run beside the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Controllers {
    /// Only the server.
    None,
    /// Those that Roost's engine has inside.
    Inside,
    /// All that stock starts by default.
    All,
}

struct Material {
    authority: Authority,
    administrator: Identity,
}

/// Starts the controllers of stock that Roost does not have inside, beside any plane.
pub fn start_other_controllers(plane: &mut Plane) -> Result<(), PlaneError> {
    let directory = plane.directory.as_ref().map_or_else(|| Path::new("."), TempDir::path);
    let left_out: Vec<String> = INSIDE_CONTROLLERS.iter().map(|name| format!("-{name}")).collect();
    let arguments = vec![
        flag("kubeconfig", plane.kubeconfig.display()),
        flag("bind-address", "127.0.0.1"),
        flag("secure-port", free_port()?),
        flag("leader-elect", false),
        flag("kube-api-qps", 1000),
        flag("kube-api-burst", 1000),
        flag("controllers", format!("*,-node-lifecycle-controller,{}", left_out.join(","))),
    ];
    let binary = assets::binary("kube-controller-manager")?;
    let process = Process::start("kube-controller-manager", &binary, arguments, directory)?;
    plane.processes.push(process);
    Ok(())
}

/// Starts a stock scheduler beside a plane.
pub fn start_scheduler(plane: &mut Plane) -> Result<(), PlaneError> {
    let directory = plane.directory.as_ref().map_or_else(|| Path::new("."), TempDir::path);
    let arguments = vec![
        flag("kubeconfig", plane.kubeconfig.display()),
        flag("bind-address", "127.0.0.1"),
        flag("secure-port", free_port()?),
        flag("leader-elect", false),
        flag("kube-api-qps", 1000),
        flag("kube-api-burst", 1000),
    ];
    let process = Process::start("kube-scheduler", &assets::binary("kube-scheduler")?, arguments, directory)?;
    plane.processes.push(process);
    Ok(())
}

/// Starts a stock plane in a temporary directory and waits until it is ready.
pub async fn start(durability: Durability, controllers: Controllers) -> Result<Plane, PlaneError> {
    let directory = tempfile::Builder::new().prefix("roost-stock-").tempdir()?;
    let material = write_material(directory.path())?;
    let etcd_port = free_port()?;
    let etcd = start_etcd(directory.path(), etcd_port, durability).await?;
    let server_port = free_port()?;
    let server = Process::start(
        "kube-apiserver",
        &assets::binary("kube-apiserver")?,
        server_arguments(directory.path(), etcd_port, server_port),
        directory.path(),
    )?;
    let kubeconfig = directory.path().join("admin.kubeconfig");
    write_kubeconfig(&material, server_port, &kubeconfig)?;
    let mut plane =
        Plane { name: "stock".to_owned(), kubeconfig, processes: vec![server, etcd], directory: Some(directory) };
    plane.wait_until_ready().await?;
    if controllers != Controllers::None {
        let directory = plane.directory.as_ref().map(TempDir::path).expect("a stock plane has a directory");
        let process = start_controllers(directory, &plane.kubeconfig, controllers)?;
        plane.processes.push(process);
    }
    Ok(plane)
}

fn write_material(directory: &Path) -> Result<Material, PlaneError> {
    let authority = Authority::generate("kubernetes")?;
    let proxy_authority = Authority::generate("front-proxy-ca")?;
    let server = authority.server(
        "kube-apiserver",
        &["127.0.0.1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"],
    )?;
    let proxy = proxy_authority.client("front-proxy-client", &[])?;
    let administrator = authority.client("kubernetes-admin", &["system:masters"])?;
    for (name, identity) in [
        ("ca", authority.identity()),
        ("front-proxy-ca", proxy_authority.identity()),
        ("server", &server),
        ("front-proxy", &proxy),
        ("administrator", &administrator),
    ] {
        pki::write(&directory.join(format!("{name}.crt")), &identity.certificate)?;
        pki::write(&directory.join(format!("{name}.key")), &identity.key)?;
    }
    let (private, public) = pki::signing_key()?;
    pki::write(&directory.join("service-account.key"), &private)?;
    pki::write(&directory.join("service-account.pub"), &public)?;
    Ok(Material { authority, administrator })
}

fn write_kubeconfig(material: &Material, port: u16, path: &Path) -> Result<(), PlaneError> {
    let kubeconfig = Kubeconfig {
        server: format!("https://127.0.0.1:{port}"),
        authority: material.authority.identity().certificate.clone(),
        administrator: material.administrator.clone(),
    };
    Ok(kubeconfig.write(path)?)
}

async fn start_etcd(directory: &Path, port: u16, durability: Durability) -> Result<Process, PlaneError> {
    let client = format!("http://127.0.0.1:{port}");
    let peer = format!("http://127.0.0.1:{}", free_port()?);
    let mut arguments = vec![
        flag("data-dir", directory.join("etcd").display()),
        flag("listen-client-urls", &client),
        flag("advertise-client-urls", &client),
        flag("listen-peer-urls", &peer),
        flag("initial-advertise-peer-urls", &peer),
        flag("initial-cluster", format!("default={peer}")),
        flag("log-level", "warn"),
    ];
    if durability == Durability::Fast {
        arguments.push("--unsafe-no-fsync".into());
    }
    let mut process = Process::start("etcd", &assets::binary("etcd")?, arguments, directory)?;
    let start = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
        process.check_running()?;
        if start.elapsed() > ETCD_TIMEOUT {
            return Err(process.not_ready(ETCD_TIMEOUT.as_secs()).into());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(process)
}

fn server_arguments(directory: &Path, etcd_port: u16, port: u16) -> Vec<OsString> {
    let file = |name: &str| directory.join(name).display().to_string();
    vec![
        flag("etcd-servers", format!("http://127.0.0.1:{etcd_port}")),
        flag("bind-address", "127.0.0.1"),
        flag("advertise-address", "127.0.0.1"),
        // The default reconciler wants to publish the advertised address, and loopback is refused there.
        flag("endpoint-reconciler-type", "none"),
        flag("secure-port", port),
        flag("tls-cert-file", file("server.crt")),
        flag("tls-private-key-file", file("server.key")),
        flag("client-ca-file", file("ca.crt")),
        flag("requestheader-client-ca-file", file("front-proxy-ca.crt")),
        flag("requestheader-allowed-names", "front-proxy-client"),
        flag("requestheader-username-headers", "X-Remote-User"),
        flag("requestheader-group-headers", "X-Remote-Group"),
        flag("requestheader-extra-headers-prefix", "X-Remote-Extra-"),
        flag("proxy-client-cert-file", file("front-proxy.crt")),
        flag("proxy-client-key-file", file("front-proxy.key")),
        flag("authorization-mode", "Node,RBAC"),
        flag("enable-admission-plugins", "NodeRestriction"),
        flag("enable-bootstrap-token-auth", true),
        flag("allow-privileged", true),
        flag("service-account-issuer", SERVICE_ACCOUNT_ISSUER),
        flag("service-account-key-file", file("service-account.pub")),
        flag("service-account-signing-key-file", file("service-account.key")),
        flag("service-cluster-ip-range", SERVICE_CIDR),
        flag("event-ttl", "1h"),
        flag("kubelet-client-certificate", file("administrator.crt")),
        flag("kubelet-client-key", file("administrator.key")),
        flag("kubelet-certificate-authority", file("ca.crt")),
        flag("kubelet-preferred-address-types", "InternalIP,Hostname,InternalDNS,ExternalIP,ExternalDNS"),
    ]
}

fn start_controllers(directory: &Path, kubeconfig: &Path, which: Controllers) -> Result<Process, PlaneError> {
    let file = |name: &str| directory.join(name).display().to_string();
    let mut arguments = vec![
        flag("kubeconfig", kubeconfig.display()),
        flag("bind-address", "127.0.0.1"),
        flag("secure-port", free_port()?),
        flag("leader-elect", false),
        flag("cluster-signing-cert-file", file("ca.crt")),
        flag("cluster-signing-key-file", file("ca.key")),
        flag("root-ca-file", file("ca.crt")),
        flag("service-account-private-key-file", file("service-account.key")),
        flag("use-service-account-credentials", false),
        flag("kube-api-qps", 1000),
        flag("kube-api-burst", 1000),
    ];
    if which == Controllers::Inside {
        arguments.push(flag("controllers", INSIDE_CONTROLLERS.join(",")));
    }
    let binary = assets::binary("kube-controller-manager")?;
    Ok(Process::start("kube-controller-manager", &binary, arguments, directory)?)
}

fn flag(name: &str, value: impl std::fmt::Display) -> OsString {
    OsString::from(format!("--{name}={value}"))
}
