//! Starts our own plane: `hcp up` on a fresh data directory.

use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::assets::{AssetError, repository};
use crate::plane::{Plane, PlaneError, free_port};
use crate::process::Process;

/// How long the first start may take before its kubeconfig is there, on a disk that others keep busy.
const KUBECONFIG_TIMEOUT: Duration = Duration::from_mins(2);

/// The environment variable that names another `hcp` binary.
pub const BINARY_VARIABLE: &str = "HCP_BINARY";

/// The `hcp` binary to compare.
pub fn binary() -> Result<PathBuf, AssetError> {
    let path = std::env::var_os(BINARY_VARIABLE)
        .map_or_else(|| repository().join("target").join("debug").join("hcp"), PathBuf::from);
    if path.is_file() { Ok(path) } else { Err(AssetError::Missing { name: "hcp".to_owned(), path }) }
}

/// Starts the engine of `hcp up` alone, as it is compared with a stock API server, and waits until it is ready.
pub async fn start(binary: &Path) -> Result<Plane, PlaneError> {
    start_with(binary, &["--without-operator"]).await
}

/// Starts `hcp up` with all that it runs, and waits until its API is ready.
pub async fn start_whole(binary: &Path) -> Result<Plane, PlaneError> {
    start_with(binary, &[]).await
}

async fn start_with(binary: &Path, flags: &[&str]) -> Result<Plane, PlaneError> {
    let directory = tempfile::Builder::new().prefix("roost-ours-").tempdir()?;
    let data = directory.path().join("data");
    let process = up(binary, directory.path(), &data, free_port()?, flags)?;
    let kubeconfig = data.join("admin.kubeconfig");
    let mut plane = Plane { name: "ours".to_owned(), kubeconfig, processes: vec![process], directory: Some(directory) };
    wait_for_kubeconfig(&mut plane).await?;
    plane.wait_until_ready().await?;
    Ok(plane)
}

/// The port of a plane in a network of its own.
pub(crate) const REMOTE_PORT: u16 = 6443;

/// Starts `hcp up` with all that it runs in a network namespace, on an address of that.
pub(crate) async fn start_in(binary: &Path, namespace: &Path, address: IpAddr) -> Result<Plane, PlaneError> {
    let directory = tempfile::Builder::new().prefix("roost-ours-").tempdir()?;
    let data = directory.path().join("data");
    let mut arguments: Vec<OsString> = vec![format!("--net={}", namespace.display()).into(), binary.into()];
    arguments.extend(["up".into(), "--data-dir".into(), data.clone().into(), "--listen".into()]);
    arguments.extend([SocketAddr::new(address, REMOTE_PORT).to_string().into(), "--server-name".into()]);
    arguments.push(address.to_string().into());
    let process = Process::start("hcp", Path::new("nsenter"), arguments, directory.path())?;
    let kubeconfig = data.join("admin.kubeconfig");
    let mut plane = Plane { name: "ours".to_owned(), kubeconfig, processes: vec![process], directory: Some(directory) };
    wait_for_kubeconfig(&mut plane).await?;
    plane.wait_until_ready().await?;
    Ok(plane)
}

/// Kills `hcp up` and starts it again on the same data and port; returns how long it took to be ready.
pub async fn restart(plane: &mut Plane, binary: &Path) -> Result<Duration, PlaneError> {
    let server = crate::kubeconfig::Kubeconfig::read(&plane.kubeconfig)?.server;
    let port = server.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
    let (Some(port), Some(directory)) = (port, &plane.directory) else {
        return Err(std::io::Error::other("only a plane of our own can be started again").into());
    };
    let (logs, data) = (directory.path().to_owned(), directory.path().join("data"));
    plane.processes.clear();
    let start = Instant::now();
    plane.processes.push(up(binary, &logs, &data, port, &[])?);
    plane.wait_until_ready().await?;
    Ok(start.elapsed())
}

/// Starts the engine of `hcp up` alone on a data directory and a port, without waiting.
pub fn serve(binary: &Path, logs: &Path, data: &Path, port: u16) -> Result<Process, PlaneError> {
    up(binary, logs, data, port, &["--without-operator"])
}

fn up(binary: &Path, logs: &Path, data: &Path, port: u16, flags: &[&str]) -> Result<Process, PlaneError> {
    let mut arguments: Vec<OsString> = vec!["up".into(), "--data-dir".into(), data.into(), "--listen".into()];
    arguments.push(format!("127.0.0.1:{port}").into());
    arguments.extend(flags.iter().map(OsString::from));
    Ok(Process::start("hcp", binary, arguments, logs)?)
}

async fn wait_for_kubeconfig(plane: &mut Plane) -> Result<(), PlaneError> {
    let start = Instant::now();
    while crate::kubeconfig::Kubeconfig::read(&plane.kubeconfig).is_err() {
        for process in &mut plane.processes {
            process.check_running()?;
            if start.elapsed() > KUBECONFIG_TIMEOUT {
                return Err(process.not_ready(KUBECONFIG_TIMEOUT.as_secs()).into());
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}
