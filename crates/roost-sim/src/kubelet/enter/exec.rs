//! Commands and their streams: channels in WebSocket messages, as `kubectl exec` and `attach` speak them.

use std::io;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

use super::files::Files;
use super::shell::{self, Facts, Output};
use super::websocket::{Message, Reader, Writer};
use crate::pods::View;

/// The protocols that are spoken, the best first: only the newest can say that no more input comes.
pub(super) const PROTOCOLS: [&str; 2] = ["v5.channel.k8s.io", "v4.channel.k8s.io"];
/// What a command may be sent.
const MAX_INPUT_BYTES: usize = 4 << 20;
const PROMPT: &[u8] = b"$ ";
const END_OF_INPUT: u8 = 4;

const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const ERROR: u8 = 3;
const CLOSED: u8 = 255;

/// What is to be run, and which streams are wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) command: Vec<String>,
    pub(super) stdin: bool,
    pub(super) stdout: bool,
    pub(super) stderr: bool,
    pub(super) tty: bool,
}

impl Wanted {
    /// Reads the options as the API server writes them.
    pub(super) fn read(query: &str) -> Wanted {
        let mut wanted = Wanted::default();
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            let set = matches!(&*value, "1" | "true");
            match &*key {
                "command" => wanted.command.push(value.into_owned()),
                "input" => wanted.stdin = set,
                "output" => wanted.stdout = set,
                "error" => wanted.stderr = set,
                "tty" => wanted.tty = set,
                _ => {}
            }
        }
        wanted
    }
}

/// One conversation.
pub(super) struct Session<S> {
    pub(super) reader: Reader<S>,
    pub(super) writer: Writer<S>,
    pub(super) wanted: Wanted,
}

impl<S: AsyncRead + AsyncWrite> Session<S> {
    /// Runs a command and says how it ended.
    pub(super) async fn exec(mut self, facts: &Facts, files: &mut Files) -> io::Result<()> {
        self.greet().await?;
        let command = std::mem::take(&mut self.wanted.command);
        let code = if self.wanted.stdin && shell::is_interactive(&command) {
            self.converse(facts, files).await?
        } else {
            let input = if self.wanted.stdin && shell::reads(&command) { self.input().await? } else { Vec::new() };
            let output = shell::run(&command, &input, facts, files);
            self.show(&output).await?;
            output.code
        };
        self.end(&outcome(code)).await
    }

    /// Shows what a container says from now on, until it says no more.
    pub(super) async fn attach(mut self, view: &View, place: (&str, &str, &str)) -> io::Result<()> {
        self.greet().await?;
        let (namespace, name, container) = place;
        let mut changes: watch::Receiver<()> = view.changes();
        let mut shown: Option<Timestamp> = None;
        while let Some(pod) = view.pod(namespace, name) {
            let Some(found) = pod.container(container) else { break };
            let last = found.lines.last().map(|(time, _)| *time);
            let since = *shown.get_or_insert(last.unwrap_or(Timestamp::MIN));
            let mut text = String::new();
            for (_, line) in found.lines.iter().filter(|(time, _)| *time > since) {
                text.push_str(line);
                text.push('\n');
            }
            let over = found.over;
            shown = last.or(shown);
            if !text.is_empty() && self.wanted.stdout {
                self.say(STDOUT, text.as_bytes()).await?;
            }
            if over {
                break;
            }
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { break },
                message = self.reader.next() => match message? {
                    None => return Ok(()),
                    Some(Message::Ping(content)) => self.writer.pong(&content).await?,
                    Some(Message::Content(_)) => {}
                },
            }
        }
        self.end(&outcome(0)).await
    }

    /// Says that the streams are open.
    async fn greet(&mut self) -> io::Result<()> {
        let channel = match (self.wanted.stdout, self.wanted.stderr) {
            (true, _) => STDOUT,
            (false, true) => STDERR,
            (false, false) => ERROR,
        };
        self.say(channel, &[]).await
    }

    async fn show(&mut self, output: &Output) -> io::Result<()> {
        if self.wanted.stdout && !output.stdout.is_empty() {
            self.say(STDOUT, &output.stdout).await?;
        }
        let stderr = if self.wanted.tty { STDOUT } else { STDERR };
        if (self.wanted.stderr || self.wanted.tty) && !output.stderr.is_empty() {
            self.say(stderr, &output.stderr).await?;
        }
        Ok(())
    }

    /// A shell that answers line by line.
    async fn converse(&mut self, facts: &Facts, files: &mut Files) -> io::Result<u8> {
        let mut line = Vec::new();
        let mut code = 0;
        if self.wanted.tty {
            self.say(STDOUT, PROMPT).await?;
        }
        loop {
            let Some(bytes) = self.more_input().await? else { return Ok(code) };
            for byte in bytes {
                if self.wanted.tty && byte == END_OF_INPUT {
                    return Ok(code);
                }
                if !matches!(byte, b'\r' | b'\n') {
                    line.push(byte);
                    if self.wanted.tty {
                        self.say(STDOUT, &[byte]).await?;
                    }
                    continue;
                }
                if self.wanted.tty {
                    self.say(STDOUT, b"\r\n").await?;
                }
                let text = String::from_utf8_lossy(&std::mem::take(&mut line)).into_owned();
                let output = shell::run_line(&text, facts, files);
                let output = if self.wanted.tty { for_terminal(output) } else { output };
                self.show(&output).await?;
                code = output.code;
                if text.split_whitespace().next() == Some("exit") {
                    return Ok(code);
                }
                if self.wanted.tty {
                    self.say(STDOUT, PROMPT).await?;
                }
            }
            if line.len() > MAX_INPUT_BYTES {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a line is too long"));
            }
        }
    }

    /// All that is sent to a command, to its end.
    async fn input(&mut self) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        while let Some(bytes) = self.more_input().await? {
            all.extend(bytes);
            if all.len() > MAX_INPUT_BYTES {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "too much was sent"));
            }
        }
        Ok(all)
    }

    /// What is sent next; none at the end.
    async fn more_input(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            match self.reader.next().await? {
                None => return Ok(None),
                Some(Message::Ping(content)) => self.writer.pong(&content).await?,
                Some(Message::Content(message)) => match message.split_first() {
                    Some((&STDIN, bytes)) => return Ok(Some(bytes.to_vec())),
                    Some((&CLOSED, [STDIN])) => return Ok(None),
                    _ => {}
                },
            }
        }
    }

    async fn say(&mut self, channel: u8, bytes: &[u8]) -> io::Result<()> {
        self.writer.send(&[&[channel], bytes].concat()).await
    }

    async fn end(mut self, outcome: &Value) -> io::Result<()> {
        self.say(ERROR, outcome.to_string().as_bytes()).await?;
        self.writer.close().await?;
        // The other side hangs up once it has read everything.
        while self.reader.next().await?.is_some() {}
        Ok(())
    }
}

/// Terminals want both ends of a line.
fn for_terminal(output: Output) -> Output {
    let whole = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).replace('\n', "\r\n").into_bytes();
    Output { stdout: whole(output.stdout), stderr: whole(output.stderr), code: output.code }
}

/// How a command ended, as a status.
fn outcome(code: u8) -> Value {
    if code == 0 {
        return json!({"metadata": {}, "status": "Success"});
    }
    json!({
        "metadata": {}, "status": "Failure", "reason": "NonZeroExitCode",
        "message": format!("command terminated with non-zero exit code: exit status {code}"),
        "details": {"causes": [{"reason": "ExitCode", "message": code.to_string()}]},
    })
}
