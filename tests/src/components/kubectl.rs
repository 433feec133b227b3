//! The real kubectl, bounded in time.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use crate::assets;
use crate::plane::Plane;

use super::ComponentsError;

/// No command of the exercise takes longer, waits included.
const COMMAND_TIMEOUT: Duration = Duration::from_mins(3);
/// How often something that is waited for is looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// kubectl as the administrator of one plane.
pub(super) struct Kubectl {
    /// The plane's name, for reports.
    pub(super) plane: String,
    binary: PathBuf,
    kubeconfig: PathBuf,
}

impl Kubectl {
    /// Finds the binary.
    pub(super) fn new(plane: &Plane) -> Result<Self, ComponentsError> {
        Ok(Self { plane: plane.name.clone(), binary: assets::binary("kubectl")?, kubeconfig: plane.kubeconfig.clone() })
    }

    /// Runs a command line of plain words.
    pub(super) async fn run(&self, line: &str) -> Result<String, ComponentsError> {
        self.with_input(line, "").await
    }

    /// Runs a command line of plain words that reads `input`.
    pub(super) async fn with_input(&self, line: &str, input: &str) -> Result<String, ComponentsError> {
        let failed = |output: String| self.failed(line, output);
        let mut child = self.start(line)?;
        let mut stdin = child.stdin.take().expect("the standard input was asked for");
        // A command that reads nothing has closed its end, which is fine.
        let _ = stdin.write_all(input.as_bytes()).await;
        drop(stdin);
        let output = tokio::time::timeout(COMMAND_TIMEOUT, child.wait_with_output())
            .await
            .map_err(|_| failed(format!("no end after {} s", COMMAND_TIMEOUT.as_secs())))?
            .map_err(|error| failed(error.to_string()))?;
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()))
        }
    }

    /// Sends `request` to the port that a port-forward opens, and reads to the end.
    pub(super) async fn forwarded(&self, line: &str, request: &str) -> Result<String, ComponentsError> {
        let failed = |output: String| self.failed(line, output);
        let exchange = async {
            let mut child = self.start(line)?;
            // It goes on telling of connections, and ends when nobody listens.
            let mut stdout = BufReader::new(child.stdout.take().expect("the standard output was asked for"));
            let mut said = String::new();
            stdout.read_line(&mut said).await.map_err(|error| failed(error.to_string()))?;
            // Forwarding from 127.0.0.1:43210 -> 80
            let address = said.split_whitespace().find(|word| word.starts_with("127.")).unwrap_or_default();
            let mut stream = TcpStream::connect(address).await.map_err(|error| failed(format!("{said}: {error}")))?;
            stream.write_all(request.as_bytes()).await.map_err(|error| failed(error.to_string()))?;
            // A forwarded connection may be reset once all was said; what came before counts.
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer).await;
            drop(stdout);
            Ok(String::from_utf8_lossy(&answer).into_owned())
        };
        let outcome = tokio::time::timeout(COMMAND_TIMEOUT, exchange).await;
        outcome.unwrap_or_else(|_| Err(failed(format!("no end after {} s", COMMAND_TIMEOUT.as_secs()))))
    }

    /// What a command line that went wrong is reported as.
    pub(super) fn failed(&self, line: &str, output: String) -> ComponentsError {
        ComponentsError::Command { plane: self.plane.clone(), command: line.to_owned(), output }
    }

    fn start(&self, line: &str) -> Result<Child, ComponentsError> {
        Command::new(&self.binary)
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .args(line.split_whitespace())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| self.failed(line, error.to_string()))
    }

    /// The items of a list.
    pub(super) async fn items(&self, line: &str) -> Result<Vec<Value>, ComponentsError> {
        let text = self.run(&format!("{line} --output=json")).await?;
        let mut list: Value = serde_json::from_str(&text).unwrap_or_default();
        Ok(list["items"].as_array_mut().map(std::mem::take).unwrap_or_default())
    }

    /// Waits until a list is as wanted.
    pub(super) async fn wait_for(
        &self,
        what: &str,
        line: &str,
        wanted: impl Fn(&[Value]) -> bool,
    ) -> Result<Vec<Value>, ComponentsError> {
        let start = Instant::now();
        loop {
            let items = self.items(line).await?;
            if wanted(&items) {
                return Ok(items);
            }
            if start.elapsed() > COMMAND_TIMEOUT {
                let seen = self.run(line).await?;
                let (plane, what) = (self.plane.clone(), what.to_owned());
                return Err(ComponentsError::Missed { plane, what, seconds: COMMAND_TIMEOUT.as_secs(), seen });
            }
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    }
}
