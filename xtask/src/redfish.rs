//! `cargo xtask redfish`: our client of management controllers, and BareMetalHosts, against the emulator of sushy-tools.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use roost_pki::Secret;
use roost_tests::hosted::{self, Emulated, Management};

use crate::image;
use crate::task::{self, TaskError};

/// The emulator, and what it reads passwords with.
const PACKAGES: [&str; 2] = ["sushy-tools==2.2.0", "bcrypt"];
/// The one computer that the emulator has.
const SYSTEM: &str = "da69abcc-dae0-4913-9a7b-d344043097c0";
/// How long the emulator may take to start.
const PATIENCE: Duration = Duration::from_mins(1);

/// A process that ends with what started it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Installs the emulator, starts it on loopback, and takes its computer through all that is asked of one,
/// by the client alone and then by a BareMetalHost.
pub(crate) async fn run() -> Result<(), TaskError> {
    let folder = tempfile::tempdir().map_err(|source| TaskError::File { path: std::env::temp_dir(), source })?;
    let place = |name: &str| folder.path().join(name);
    install(&place("venv"), &PACKAGES)?;
    let hash = "import bcrypt; print('root:' + bcrypt.hashpw(b'calvin', bcrypt.gensalt(5)).decode())";
    let hashed = task::command(place("venv/bin/python")).args(["-c", hash]).output();
    let hashed = hashed.map_err(|source| TaskError::Start { program: "python".to_owned(), source })?;
    write(&place("htpasswd"), &hashed.stdout)?;
    let (controller, images) = (free_port()?, free_port()?);
    write(&place("emulator.conf"), configuration(folder.path(), controller).as_bytes())?;
    std::fs::create_dir(place("images")).map_err(|source| TaskError::File { path: place("images"), source })?;
    write(&place("images/live.iso"), b"not an image, and nobody boots it")?;
    let _images = start(
        task::command("python3")
            .args(["-m", "http.server", "--bind", "127.0.0.1", &images.to_string()])
            .current_dir(place("images")),
    )?;
    let _emulator = start(task::command(place("venv/bin/sushy-emulator")).arg("--config").arg(place("emulator.conf")))?;
    wait_until_open(controller)?;
    wait_until_open(images)?;
    println!("{} against a computer of its own", PACKAGES[0]);
    let address = format!("redfish-virtualmedia+http://127.0.0.1:{controller}/redfish/v1/Systems/{SYSTEM}");
    let image = format!("http://127.0.0.1:{images}/live.iso");
    task::run(
        task::cargo()
            .args(["run", "--quiet", "--locked", "--package", "roost-redfish", "--example", "journey", "--"])
            .args([address.as_str(), "root", "calvin", image.as_str()]),
    )?;
    println!("a BareMetalHost with that computer");
    let management = Management::embedded().await.map_err(|error| TaskError::Found(error.to_string()))?;
    let emulated = Emulated { address, username: "root".to_owned(), password: Secret::new("calvin".to_owned()) };
    let lived = hosted::run_bare_metal(&management, &emulated, &mut |step| println!("  {step}")).await;
    lived.map_err(|error| TaskError::Found(error.to_string()))
}

/// The emulator with what it speaks to libvirt with, kept for the next time: the latter is compiled.
pub(crate) fn emulator_of_machines() -> Result<PathBuf, TaskError> {
    for (program, package) in [
        ("libvirtd", "libvirt-daemon and libvirt-daemon-driver-qemu"),
        ("virsh", "libvirt-clients"),
        ("pkg-config", "pkg-config and libvirt-dev"),
    ] {
        image::needed(program, package)?;
    }
    let version = image::output(task::command("pkg-config").args(["--modversion", "libvirt"]))?;
    let version = version.trim();
    let kept = image::cache().with_file_name(format!("redfish-{version}"));
    let emulator = kept.join("bin/sushy-emulator");
    if !emulator.exists() {
        install(&kept, &[PACKAGES[0], &format!("libvirt-python=={version}")])?;
    }
    Ok(emulator)
}

fn install(environment: &Path, packages: &[&str]) -> Result<(), TaskError> {
    task::run(task::command("python3").args(["-m", "venv"]).arg(environment))?;
    let mut pip = task::command(environment.join("bin/pip"));
    task::run(pip.args(["install", "--quiet", "--disable-pip-version-check"]).args(packages))
}

fn configuration(folder: &Path, port: u16) -> String {
    let folder = folder.display();
    format!(
        "SUSHY_EMULATOR_LISTEN_IP = '127.0.0.1'\nSUSHY_EMULATOR_LISTEN_PORT = {port}\nSUSHY_EMULATOR_FAKE_DRIVER = True\n\
         SUSHY_EMULATOR_STATE_DIR = '{folder}'\nSUSHY_EMULATOR_AUTH_FILE = '{folder}/htpasswd'\n\
         SUSHY_EMULATOR_FAKE_SYSTEMS = [{{'uuid': '{SYSTEM}', 'name': 'host', 'power_state': 'Off',\n    \
         'nics': [{{'mac': '52:54:00:aa:00:01', 'ip': '192.0.2.5'}}]}}]\n"
    )
}

fn write(path: &Path, contents: &[u8]) -> Result<(), TaskError> {
    std::fs::write(path, contents).map_err(|source| TaskError::File { path: path.to_owned(), source })
}

fn start(command: &mut std::process::Command) -> Result<Running, TaskError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    child.map(Running).map_err(|source| TaskError::Start { program, source })
}

fn free_port() -> Result<u16, TaskError> {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    port.map(|address| address.port()).map_err(|error| TaskError::Found(format!("there is no free port: {error}")))
}

fn wait_until_open(port: u16) -> Result<(), TaskError> {
    let started = Instant::now();
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        if started.elapsed() > PATIENCE {
            return Err(TaskError::Found(format!("nobody listens on port {port} after {} s", PATIENCE.as_secs())));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}
