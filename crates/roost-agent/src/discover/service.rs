//! Calls of the discovery service.

use std::io::Write;
use std::time::{Duration, Instant};

use roost_host::form;
use roost_host::wire::{OWN_AGENT, PREFER_HEADER, RENEWED_TOKEN_HEADER, TOKEN_HEADER};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{DiscoverError, PAUSES, Settings, WriteError};
use crate::https::{self, Address, HttpsError, Request, Trust};
use crate::words::with_causes;

/// The largest answer that is taken.
const LARGEST: u64 = 4 << 20;
/// The most of a refusal's words that is shown.
const LONGEST_REFUSAL: usize = 512;

/// Why a call brought nothing.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// There was no answer.
    #[error("the discovery service does not answer")]
    Https(#[from] HttpsError),
    /// The service said no.
    #[error("the discovery service answered {status}: {words}")]
    Refused {
        /// The code.
        status: u16,
        /// What it said.
        words: String,
    },
    /// The answer is not what was asked for.
    #[error("the answer of the discovery service makes no sense")]
    Answer(#[from] serde_json::Error),
}

impl CallError {
    /// Whether the same call may be answered in a while.
    fn is_passing(&self) -> bool {
        match self {
            Self::Https(_) => true,
            Self::Refused { status, .. } => *status >= 500,
            Self::Answer(_) => false,
        }
    }
}

/// The service, as one host speaks with it.
#[derive(Clone)]
pub(super) struct Service {
    address: Address,
    trust: Trust,
    token: String,
}

impl Service {
    pub(super) fn new(settings: &Settings) -> Result<Self, DiscoverError> {
        let trust = match &settings.certificate_authority {
            None => Trust::System,
            Some(path) => {
                let failed = |source| DiscoverError::Authority { path: path.clone(), source };
                Trust::from_pem(&std::fs::read(path).map_err(failed)?)?
            }
        };
        Ok(Self { address: Address::parse(&settings.url)?, trust, token: settings.token.clone() })
    }

    /// Calls and reads the answer.
    pub(super) fn call<T: DeserializeOwned>(
        &mut self,
        method: &'static str,
        path: &str,
        body: Option<&Value>,
        wait: Duration,
    ) -> Result<T, CallError> {
        Ok(serde_json::from_slice(&self.send(method, path, body, wait)?)?)
    }

    /// Calls for the bytes of the answer.
    pub(super) fn send(
        &mut self,
        method: &'static str,
        path: &str,
        body: Option<&Value>,
        wait: Duration,
    ) -> Result<Vec<u8>, CallError> {
        let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        self.exchange(method, path, "application/json", &body, wait)
    }

    /// Sends a file.
    pub(super) fn upload(&mut self, path: &str, file_name: &str, content: &[u8]) -> Result<(), CallError> {
        let (content_type, body) = form::write(file_name, content);
        self.exchange("POST", path, &content_type, &body, Duration::ZERO).map(drop)
    }

    fn exchange(
        &mut self,
        method: &'static str,
        path: &str,
        content_type: &str,
        body: &[u8],
        wait: Duration,
    ) -> Result<Vec<u8>, CallError> {
        let address = self.address.with_path(path);
        let mut headers = vec![
            (TOKEN_HEADER.to_owned(), self.token.clone()),
            ("discovery_agent_version".to_owned(), version()),
            ("Content-Type".to_owned(), content_type.to_owned()),
        ];
        if !wait.is_zero() {
            headers.push((PREFER_HEADER.to_owned(), format!("wait={}", wait.as_secs())));
        }
        let request = Request { method, address: &address, headers: &headers, body, largest: LARGEST };
        let answer = https::send(&request, &self.trust, None)?;
        if let Some(token) = answer.header(RENEWED_TOKEN_HEADER) {
            token.clone_into(&mut self.token);
        }
        if (200..300).contains(&answer.status) {
            Ok(answer.body)
        } else {
            let words = String::from_utf8_lossy(&answer.body).chars().take(LONGEST_REFUSAL).collect();
            Err(CallError::Refused { status: answer.status, words })
        }
    }

    /// Calls again and again while nobody answers: who gives up in the middle of an installation has to begin anew.
    pub(super) fn insist(
        &mut self,
        method: &'static str,
        path: &str,
        body: Option<&Value>,
        patience: Duration,
    ) -> Result<Vec<u8>, CallError> {
        let deadline = Instant::now() + patience;
        let mut pause = PAUSES.0;
        loop {
            match self.send(method, path, body, Duration::ZERO) {
                Err(error) if error.is_passing() && Instant::now() + pause < deadline => {
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(PAUSES.1);
                }
                outcome => return outcome,
            }
        }
    }

    /// What is shown now.
    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// Fetches a file from elsewhere, from somebody whom the same authority vouches for.
    pub(super) fn download(&self, url: &str, length: u64, into: &mut dyn Write) -> Result<(), WriteError> {
        let address = Address::parse(url).map_err(|error| {
            WriteError::Fetch(HttpsError::Answer { address: url.to_owned(), reason: with_causes(&error) })
        })?;
        let request = Request { method: "GET", address: &address, headers: &[], body: b"", largest: length };
        let answer = https::send_into(&request, &self.trust, None, into)?;
        if answer.status == 200 { Ok(()) } else { Err(WriteError::Status(answer.status)) }
    }
}

/// Which agent speaks.
pub(super) fn version() -> String {
    format!("{OWN_AGENT}{}", env!("CARGO_PKG_VERSION"))
}
