//! What the tests with hostile input share: a server of their own, raw connections to it, and an outsider.

mod multiplexed;
mod raw;

use std::path::PathBuf;

use http::header::{AUTHORIZATION, HeaderValue};
use http::{HeaderMap, Method};
use serde_json::{Value, json};

use crate::client::{Answer, Call, Client, ClientError};
use crate::plane::{Plane, PlaneError};
use crate::{assets, ours};

pub use multiplexed::Multiplexed;
pub use raw::{Raw, RawAnswer};

/// The server's binary; built first, unless the environment names one.
pub fn binary() -> Result<PathBuf, PlaneError> {
    if std::env::var_os(ours::BINARY_VARIABLE).is_none() {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = std::process::Command::new(cargo);
        build.args(["build", "--quiet", "--package", "hcp"]).current_dir(assets::repository()).status()?;
    }
    Ok(ours::binary()?)
}

/// Starts a server for one test.
pub async fn start() -> Result<Plane, PlaneError> {
    ours::start(&binary()?).await
}

/// Somebody with a valid token and only the rights that they were given.
#[derive(Clone)]
pub struct Outsider {
    client: Client,
    token: String,
}

impl Outsider {
    /// Makes a service account with the given rules in its namespace, and none elsewhere.
    pub async fn with_rules(plane: &Plane, namespace: &str, name: &str, rules: &Value) -> Result<Self, PlaneError> {
        let administrator = plane.administrator()?;
        let post = |target: String, body: &Value| Call::new(Method::POST, target).json(body);
        let accounts = format!("/api/v1/namespaces/{namespace}/serviceaccounts");
        let roles = format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles");
        let bindings = format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings");
        let role_reference = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name});
        let subject = json!({"kind": "ServiceAccount", "name": name, "namespace": namespace});
        administrator.send(post(accounts.clone(), &json!({"metadata": {"name": name}}))).await?;
        administrator.send(post(roles, &json!({"metadata": {"name": name}, "rules": rules}))).await?;
        let binding = json!({"metadata": {"name": name}, "roleRef": role_reference, "subjects": [subject]});
        administrator.send(post(bindings, &binding)).await?;
        let made = administrator.send(post(format!("{accounts}/{name}/token"), &json!({"spec": {}}))).await?;
        let token = made.json()["status"]["token"].as_str().unwrap_or_default().to_owned();
        Ok(Self { client: administrator.with_identity(None)?, token })
    }

    /// The token.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The same person on connections of their own.
    #[must_use]
    pub fn with_own_connections(&self) -> Self {
        Self { client: self.client.with_own_connections(), token: self.token.clone() }
    }

    /// Sends a call with the token.
    pub async fn send(&self, mut call: Call) -> Result<Answer, ClientError> {
        self.sign(&mut call.headers);
        self.client.send(call).await
    }

    fn sign(&self, headers: &mut HeaderMap) {
        let value = HeaderValue::from_str(&format!("Bearer {}", self.token));
        headers.insert(AUTHORIZATION, value.expect("a token is visible text"));
    }
}
