//! Roles and their bindings, requests for certificates, and the questions that can be asked about access.

pub mod certificate;
pub mod review;
mod roles;

use crate::{NameRule, Rules};

const GROUP: &str = "rbac.authorization.k8s.io";

const ROLE: Rules = Rules { group: GROUP, name: NameRule::PathSegment, create_on_update: true, ..Rules::NONE };

pub(crate) static TABLE: &[Rules] = &[
    Rules {
        kind: "Role",
        validate: |role, errors| roles::validate(role, true, errors),
        validate_update: |new, _, errors| roles::validate(new, true, errors),
        ..ROLE
    },
    Rules {
        kind: "ClusterRole",
        validate: |role, errors| roles::validate_cluster_role(role, None, errors),
        validate_update: |new, old, errors| roles::validate_cluster_role(new, Some(old), errors),
        ..ROLE
    },
    Rules {
        kind: "RoleBinding",
        defaults: roles::binding_defaults,
        validate: |binding, errors| roles::validate_binding(binding, true, errors),
        validate_update: |new, old, errors| roles::validate_binding_update(new, old, true, errors),
        ..ROLE
    },
    Rules {
        kind: "ClusterRoleBinding",
        defaults: roles::binding_defaults,
        validate: |binding, errors| roles::validate_binding(binding, false, errors),
        validate_update: |new, old, errors| roles::validate_binding_update(new, old, false, errors),
        ..ROLE
    },
    Rules {
        group: "certificates.k8s.io",
        kind: "CertificateSigningRequest",
        name: NameRule::Any,
        prepare_create: certificate::prepare_create,
        prepare_update: certificate::prepare_update,
        prepare_status_update: certificate::prepare_status_update,
        stamp: certificate::stamp,
        validate: |request, errors| certificate::validate(request, None, errors),
        validate_update: |new, old, errors| certificate::validate_update(new, old, certificate::Part::Request, errors),
        validate_status_update: |new, old, errors| {
            certificate::validate_update(new, old, certificate::Part::Status, errors);
        },
        ..Rules::NONE
    },
    Rules {
        group: "authorization.k8s.io",
        kind: "SubjectAccessReview",
        validate: review::validate_subject_access,
        ..Rules::NONE
    },
    Rules {
        group: "authorization.k8s.io",
        kind: "SelfSubjectAccessReview",
        validate: review::validate_self_subject_access,
        ..Rules::NONE
    },
    Rules {
        group: "authorization.k8s.io",
        kind: "LocalSubjectAccessReview",
        validate: review::validate_local_subject_access,
        ..Rules::NONE
    },
    Rules {
        group: "authentication.k8s.io",
        kind: "TokenRequest",
        defaults: review::token_request_defaults,
        validate: review::validate_token_request,
        ..Rules::NONE
    },
];
