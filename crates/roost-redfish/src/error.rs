//! What management controllers do wrong, in words for whoever has to put it right.

use std::io;

/// Why something did not come about.
#[derive(Debug, thiserror::Error)]
pub enum RedfishError {
    /// Nobody answers.
    #[error("cannot connect to the BMC at {address}: {problem}")]
    Connect {
        /// Where.
        address: String,
        /// What the system said.
        problem: io::Error,
    },
    /// Its certificate is not trusted.
    #[error(
        "the BMC at {address} shows a certificate that is not trusted ({problem}); have it signed by an authority that this \
         machine trusts, or set spec.bmc.disableCertificateVerification"
    )]
    Certificate {
        /// Where.
        address: String,
        /// What is wrong with it.
        problem: String,
    },
    /// It does not know the credentials.
    #[error("the BMC refuses the user name and password ({method} {path}: {status})")]
    Credentials {
        /// What was asked.
        method: &'static str,
        /// Of what.
        path: String,
        /// The answer.
        status: u16,
    },
    /// It answers too slowly.
    #[error("the BMC did not answer {method} {path} within {seconds} s")]
    Stalled {
        /// What was asked.
        method: &'static str,
        /// Of what.
        path: String,
        /// How long was waited.
        seconds: u64,
    },
    /// It broke off.
    #[error("the BMC broke off its answer to {method} {path}: {problem}")]
    BrokeOff {
        /// What was asked.
        method: &'static str,
        /// Of what.
        path: String,
        /// What was seen.
        problem: String,
    },
    /// It said no.
    #[error("the BMC answered {method} {path} with {status}{words}")]
    Refused {
        /// What was asked.
        method: &'static str,
        /// Of what.
        path: String,
        /// The answer.
        status: u16,
        /// What it said about it, behind a colon.
        words: String,
    },
    /// It answered something that is no Redfish.
    #[error("the BMC's answer to {method} {path} is not Redfish: {problem}")]
    Senseless {
        /// What was asked.
        method: &'static str,
        /// Of what.
        path: String,
        /// What is wrong with it.
        problem: String,
    },
    /// It lacks something.
    #[error("the BMC has {0}")]
    Lacks(String),
    /// It said yes, and nothing happened.
    #[error("the BMC accepted to {step} but {seconds} s later {found}")]
    Ignored {
        /// What it accepted.
        step: String,
        /// How long was waited.
        seconds: u64,
        /// How it is instead.
        found: String,
    },
}

impl RedfishError {
    /// Whether trying again soon is no use.
    pub fn is_about_credentials(&self) -> bool {
        matches!(self, Self::Credentials { .. } | Self::Certificate { .. })
    }
}
