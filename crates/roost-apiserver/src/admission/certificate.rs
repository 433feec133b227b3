//! Certificate signing requests: who may approve and sign, and which subjects nobody may ask for.

use roost_access::ResourceAttributes;
use roost_object::{Status, Value};

use super::{Attributes, Verb};

const GROUP: &str = "certificates.k8s.io";

/// Refuses approvals and signatures by those who may not, and client certificates for `system:masters`.
pub(super) fn check(attributes: &Attributes<'_>, request: &Value) -> Result<(), Status> {
    let target = &attributes.target;
    if !target.resource.is(GROUP, "certificatesigningrequests") {
        return Ok(());
    }
    match (attributes.verb, target.subresource) {
        (Verb::Update, "approval") => permitted(attributes, request, "approve"),
        (Verb::Update, "status") if issues(attributes, request) => permitted(attributes, request, "sign"),
        (Verb::Create, "") => restrict_subject(attributes, request),
        _ => Ok(()),
    }
}

/// Whether the update adds a certificate or a failure.
fn issues(attributes: &Attributes<'_>, request: &Value) -> bool {
    let status = |object: &Value| object["status"].clone();
    attributes.old.is_some_and(|old| status(old)["certificate"] != status(request)["certificate"])
}

/// Whether the caller has a verb on the signer, or on all signers of its domain.
fn permitted(attributes: &Attributes<'_>, request: &Value, verb: &str) -> Result<(), Status> {
    let signer = request["spec"]["signerName"].as_str().unwrap_or_default();
    let domain = format!("{}/*", signer.split('/').next().unwrap_or_default());
    let call = attributes.target.call;
    let allowed = [signer, domain.as_str()].iter().any(|name| {
        let resource = ResourceAttributes {
            group: GROUP,
            version: "*",
            resource: "signers",
            name,
            ..ResourceAttributes::default()
        };
        let attributes = roost_access::Attributes::resource(&call.user, verb, resource);
        call.cluster.authorizer.decide(&call.cluster, &attributes).is_allowed()
    });
    if allowed {
        return Ok(());
    }
    let why = format!("user not permitted to {verb} requests with signerName {}", roost_object::field::quote(signer));
    Err(attributes.forbidden(request, &why))
}

/// `CertificateSubjectRestriction`.
fn restrict_subject(attributes: &Attributes<'_>, request: &Value) -> Result<(), Status> {
    if request["spec"]["signerName"] != "kubernetes.io/kube-apiserver-client" {
        return Ok(());
    }
    let Some(groups) = crate::identity::requested_organizations(request) else { return Ok(()) };
    if groups.iter().any(|group| group == "system:masters") {
        let why = "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed";
        return Err(attributes.forbidden(request, why));
    }
    Ok(())
}
