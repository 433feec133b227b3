//! The kubeconfigs of a control plane, as a table.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::names::{Endpoint, PlaneNames};
use crate::Secret;
use crate::kubeconfig::{Credential, Kubeconfig};

/// The label that says from where a kubeconfig is meant to be used.
pub const SCOPE_LABEL: &str = "hypershift.openshift.io/kubeconfig";
/// The label by which machines find their kubeconfig.
pub const CLUSTER_LABEL: &str = "cluster.x-k8s.io/cluster-name";
/// The administrator's kubeconfig for the published address.
pub const ADMIN_KUBECONFIG: &str = "admin-kubeconfig";

/// The port of the API server inside the control plane's namespace.
const INSIDE_PORT: u16 = 6443;

/// By which address a kubeconfig reaches the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The published one.
    Published,
    /// The second published one that the user chose.
    Custom,
    /// The Service of the control plane's namespace.
    ServiceNetwork,
    /// The same machine.
    Localhost,
}

/// A row of the table of kubeconfigs.
#[derive(Debug)]
pub struct KubeconfigSpec {
    name: &'static str,
    /// The key of the Secret that holds the file.
    pub key: &'static str,
    /// By which address it reaches the API server.
    pub reach: Reach,
    /// The Secret of the client certificate that it shows.
    pub client: &'static str,
    /// From where it is meant to be used.
    pub scope: &'static str,
}

/// All kubeconfigs, in the order in which they are written. The empty name is that of the infrastructure.
pub static KUBECONFIGS: [KubeconfigSpec; 10] = [
    KubeconfigSpec::new(ADMIN_KUBECONFIG, Reach::Published, "system-admin-client", "external"),
    KubeconfigSpec::new("custom-admin-kubeconfig", Reach::Custom, "system-admin-client", "external"),
    KubeconfigSpec::new("localhost-kubeconfig", Reach::Localhost, "system-admin-client", "local"),
    KubeconfigSpec::new("service-network-admin-kubeconfig", Reach::ServiceNetwork, "system-admin-client", "local"),
    KubeconfigSpec {
        name: "",
        key: "value",
        reach: Reach::ServiceNetwork,
        client: "system-admin-client",
        scope: "local",
    },
    KubeconfigSpec::new("hcco-kubeconfig", Reach::ServiceNetwork, "hcco-client", "local"),
    KubeconfigSpec::new(
        "kas-bootstrap-container-kubeconfig",
        Reach::Localhost,
        "kas-bootstrap-container-client",
        "local",
    ),
    KubeconfigSpec::new("bootstrap-kubeconfig", Reach::Published, "kas-bootstrap-client", "bootstrap"),
    KubeconfigSpec::new(
        "kube-controller-manager-kubeconfig",
        Reach::ServiceNetwork,
        "kube-controller-manager",
        "local",
    ),
    KubeconfigSpec::new("kube-scheduler-kubeconfig", Reach::ServiceNetwork, "kube-scheduler-client", "local"),
];

impl KubeconfigSpec {
    const fn new(name: &'static str, reach: Reach, client: &'static str, scope: &'static str) -> Self {
        Self { name, key: "kubeconfig", reach, client, scope }
    }

    /// The Secret that holds it.
    pub fn secret(&self, plane: &PlaneNames) -> String {
        if self.name.is_empty() { format!("{}-kubeconfig", plane.infra_id) } else { self.name.to_owned() }
    }

    /// Where the API server is; none when that is not known or not wanted, and then there is no such kubeconfig.
    pub fn server(&self, plane: &PlaneNames) -> Option<Endpoint> {
        match self.reach {
            Reach::Published => plane.api.clone(),
            Reach::Custom => plane.custom_api.clone(),
            Reach::ServiceNetwork => Some(Endpoint::new("kube-apiserver", INSIDE_PORT)),
            Reach::Localhost => Some(Endpoint::new("localhost", INSIDE_PORT)),
        }
    }

    pub(super) fn labels(&self, plane: &PlaneNames) -> Vec<(String, String)> {
        let mut labels = vec![(SCOPE_LABEL.to_owned(), self.scope.to_owned())];
        if self.name.is_empty() {
            labels.push((CLUSTER_LABEL.to_owned(), plane.infra_id.clone()));
        }
        labels
    }
}

/// The file's text, with the names that upstream gives to everything in it.
pub(super) fn write(server: &Endpoint, trust: &str, certificate: &str, key: &str) -> Secret<String> {
    let credential = Credential::Certificate { certificate: certificate.to_owned(), key: Secret::new(key.to_owned()) };
    let mut file = Kubeconfig::new("cluster", &server.to_string(), trust, "admin", credential);
    "admin".clone_into(&mut file.context);
    file.namespace = Some("default".to_owned());
    file.to_yaml()
}

/// What a kubeconfig of this kind says, as far as the planner asks.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Contents {
    pub(super) server: String,
    pub(super) trust: String,
    pub(super) certificate: String,
}

/// Reads the first cluster and user of a kubeconfig with embedded data. The lines are looked for by their keys; that
/// is enough for files that were written here or by the Go client.
pub(super) fn read(text: &str) -> Option<Contents> {
    let value = |key: &str| {
        let line = text.lines().map(str::trim_start).find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
        Some(line.trim().trim_matches('"'))
    };
    let decoded = |key: &str| String::from_utf8(STANDARD.decode(value(key)?).ok()?).ok();
    Some(Contents {
        server: value("server")?.to_owned(),
        trust: decoded("certificate-authority-data")?,
        certificate: decoded("client-certificate-data")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let text = write(&Endpoint::new("2001:db8::1", 31000), "TRUST", "CERTIFICATE", "KEY");
        assert!(text.expose().contains("current-context: admin\n") && text.expose().contains("  name: cluster\n"));
        let contents = read(text.expose()).unwrap();
        let wanted = Contents {
            server: "https://[2001:db8::1]:31000".into(),
            trust: "TRUST".into(),
            certificate: "CERTIFICATE".into(),
        };
        assert_eq!(contents, wanted);
        assert_eq!(read("kind: Config\n"), None);
        assert_eq!(read("server: x\ncertificate-authority-data: ?\nclient-certificate-data: ?\n"), None);
    }

    #[test]
    fn names_and_labels_are_those_of_upstream() {
        let plane = PlaneNames::new("clusters-demo", "demo", "demo-x2x2x");
        let machines = &KUBECONFIGS[4];
        assert_eq!(machines.secret(&plane), "demo-x2x2x-kubeconfig");
        assert_eq!(machines.labels(&plane)[1], (CLUSTER_LABEL.to_owned(), "demo-x2x2x".to_owned()));
        assert_eq!(machines.server(&plane).unwrap().to_string(), "https://kube-apiserver:6443");
        assert_eq!(KUBECONFIGS[0].server(&plane), None);
    }
}
