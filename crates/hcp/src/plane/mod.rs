//! The management plane as a client sees it: where it is, and what can be asked of it.

mod connect;
mod error;
mod follow;
mod resource;

use std::time::Duration;

use http::{Method, Request};
use kube::Client;
use serde_json::Value;

pub(crate) use error::PlaneError;
pub(crate) use resource::{
    ADDRESS_POOLS, AGENTS, CONFIG_MAPS, CONTROL_PLANE_COMPONENTS, EGRESS_IPS, HOSTED_CLUSTERS, HOSTED_CONTROL_PLANES,
    INFRA_ENVS, INGRESS_CONTROLLERS, NAMESPACES, NODE_POOLS, NODES, Resource, SECRETS,
};

/// The owner of the fields that this program applies; upstream's, so that both can look after the same objects.
const FIELD_OWNER: &str = "hypershift-cli";
/// The operator's namespace.
pub(crate) const OPERATOR_NAMESPACE: &str = "hypershift";
/// The ConfigMap in which the operator says which releases it knows.
pub(crate) const SUPPORTED_VERSIONS: &str = "supported-versions";
/// How long the server may take to answer anything but a watch.
const REQUEST_PATIENCE: Duration = Duration::from_mins(1);
/// What asks the server for the columns that kubectl prints.
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

/// A management plane.
#[derive(Clone)]
pub(crate) struct Plane {
    client: Client,
    /// The host of its address, as the kubeconfig names it.
    pub(crate) host: String,
    pub(crate) server: String,
}

/// Whether a write is only tried.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Write {
    Real,
    DryRun,
}

impl Plane {
    /// The client that everything goes through.
    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    /// Whether somebody listens at its address. Asking for more would be an error in the log when nobody does.
    pub(crate) async fn is_listening(&self) -> bool {
        let port = self.server.parse::<http::Uri>().ok().and_then(|server| server.port_u16()).unwrap_or(443);
        tokio::net::TcpStream::connect((self.host.as_str(), port)).await.is_ok()
    }

    /// An object, or nothing when there is none of that name.
    pub(crate) async fn get(
        &self,
        resource: &Resource,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, PlaneError> {
        let answer = self.send(Method::GET, &resource.path(namespace, Some(name)), None, Vec::new()).await;
        match answer {
            Err(error) if error.is_missing_object() => Ok(None),
            answer => answer.map(Some),
        }
    }

    /// An object that must be there.
    pub(crate) async fn require(
        &self,
        resource: &'static Resource,
        namespace: &str,
        name: &str,
    ) -> Result<Value, PlaneError> {
        self.get(resource, namespace, name).await?.ok_or_else(|| PlaneError::NotFound {
            resource,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        })
    }

    /// A list of objects; an empty namespace is all of them, and `query` narrows them down.
    pub(crate) async fn list(
        &self,
        resource: &Resource,
        namespace: &str,
        query: &str,
    ) -> Result<Vec<Value>, PlaneError> {
        let path = format!("{}?{query}", resource.path(namespace, None));
        let mut list = self.send(Method::GET, &path, None, Vec::new()).await?;
        let mut items = match list["items"].take() {
            Value::Array(items) => items,
            _ => Vec::new(),
        };
        for item in &mut items {
            item["apiVersion"] = Value::from(resource.api_version());
            item["kind"] = Value::from(resource.kind);
        }
        Ok(items)
    }

    /// What kubectl would print: columns and rows.
    pub(crate) async fn table(
        &self,
        resource: &Resource,
        namespace: &str,
        name: Option<&str>,
    ) -> Result<Option<Value>, PlaneError> {
        let accept = Some((http::header::ACCEPT, TABLE));
        match self.send(Method::GET, &resource.path(namespace, name), accept, Vec::new()).await {
            Err(error) if error.is_missing_object() => Ok(None),
            answer => answer.map(Some),
        }
    }

    /// Whether the server knows a kind.
    pub(crate) async fn knows(&self, resource: &Resource) -> Result<bool, PlaneError> {
        match self.list(resource, "", "limit=1").await {
            Err(PlaneError::NoSuchKind) => Ok(false),
            answer => answer.map(|_| true),
        }
    }

    /// Creates an object that must not be there yet.
    pub(crate) async fn create(
        &self,
        resource: &Resource,
        namespace: &str,
        object: &Value,
        write: Write,
    ) -> Result<Value, PlaneError> {
        let path = format!("{}?fieldManager={FIELD_OWNER}{}", resource.path(namespace, None), dry_run(write));
        self.send(Method::POST, &path, Some((http::header::CONTENT_TYPE, "application/json")), bytes(object)).await
    }

    /// Applies an object: makes it, or changes the fields that this program owns.
    pub(crate) async fn apply(
        &self,
        resource: &Resource,
        namespace: &str,
        object: &Value,
        write: Write,
    ) -> Result<Value, PlaneError> {
        let name = object["metadata"]["name"].as_str();
        let path =
            format!("{}?fieldManager={FIELD_OWNER}&force=true{}", resource.path(namespace, name), dry_run(write));
        let kind = Some((http::header::CONTENT_TYPE, "application/apply-patch+yaml"));
        self.send(Method::PATCH, &path, kind, bytes(object)).await
    }

    /// Changes fields of an object.
    pub(crate) async fn merge(
        &self,
        resource: &Resource,
        namespace: &str,
        name: &str,
        patch: &Value,
        write: Write,
    ) -> Result<Value, PlaneError> {
        let path = format!("{}?fieldManager={FIELD_OWNER}{}", resource.path(namespace, Some(name)), dry_run(write));
        let kind = Some((http::header::CONTENT_TYPE, "application/merge-patch+json"));
        self.send(Method::PATCH, &path, kind, bytes(patch)).await
    }

    /// Deletes an object; one that is gone already is no error.
    pub(crate) async fn delete(&self, resource: &Resource, namespace: &str, name: &str) -> Result<(), PlaneError> {
        match self.send(Method::DELETE, &resource.path(namespace, Some(name)), None, Vec::new()).await {
            Err(error) if error.is_missing_object() => Ok(()),
            answer => answer.map(|_| ()),
        }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        header: Option<(http::HeaderName, &str)>,
        body: Vec<u8>,
    ) -> Result<Value, PlaneError> {
        let mut request = Request::builder().method(method).uri(path);
        if let Some((name, value)) = header {
            request = request.header(name, value);
        }
        let request = request.body(body).map_err(|_| PlaneError::Path(path.to_owned()))?;
        let answer = tokio::time::timeout(REQUEST_PATIENCE, self.client.request::<Value>(request)).await;
        match answer {
            Ok(answer) => answer.map_err(|error| PlaneError::of(error, &self.server)),
            Err(_) => Err(PlaneError::Silent { server: self.server.clone() }),
        }
    }
}

fn dry_run(write: Write) -> &'static str {
    match write {
        Write::Real => "",
        Write::DryRun => "&dryRun=All",
    }
}

fn bytes(object: &Value) -> Vec<u8> {
    object.to_string().into_bytes()
}
