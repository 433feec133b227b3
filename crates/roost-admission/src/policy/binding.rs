//! What binds a policy to writes and parameters.

use roost_object::Value;
use roost_object::selector::Selector;

use super::Constraints;

/// What happens when a policy objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The write is refused.
    Deny,
    /// The caller is warned.
    Warn,
    /// The audit log says so.
    Audit,
}

impl Action {
    /// The word of the API.
    pub fn word(self) -> &'static str {
        match self {
            Self::Deny => "Deny",
            Self::Warn => "Warn",
            Self::Audit => "Audit",
        }
    }
}

/// What happens when there is no parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingParameter {
    /// The policy does not count.
    Allow,
    /// The write is refused.
    Deny,
}

/// The kind of a policy's parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterKind {
    /// `group/version`.
    pub api_version: String,
    /// The kind.
    pub kind: String,
}

impl ParameterKind {
    /// Reads a kind; none when the policy has no parameters.
    pub fn read(kind: &Value) -> Option<Self> {
        let text = |field: &str| kind[field].as_str().unwrap_or_default().to_owned();
        kind.is_object().then(|| Self { api_version: text("apiVersion"), kind: text("kind") })
    }

    /// The kind as Go shows it where it is not known.
    pub fn shown(&self) -> String {
        format!("{}, Kind={}", self.api_version, self.kind)
    }
}

/// Which parameters a binding brings.
#[derive(Clone, Debug)]
pub struct ParameterReference {
    /// One by its name.
    pub name: String,
    /// Where it is; empty for the namespace of the write.
    pub namespace: String,
    /// Or all with these labels; an error is the words of a selector that cannot be read.
    pub selector: Option<Result<Selector, String>>,
    /// What happens when there is none.
    pub missing: MissingParameter,
}

/// A binding of either kind of policy.
#[derive(Debug)]
pub struct Binding {
    /// Its name.
    pub name: String,
    /// The policy.
    pub policy: String,
    /// Which of the policy's writes it is about; none for all.
    pub constraints: Option<Constraints>,
    /// Which parameters it brings.
    pub parameters: Option<ParameterReference>,
    /// What happens when the policy objects; empty for those that only change.
    pub actions: Vec<Action>,
}

impl Binding {
    /// Reads a binding.
    pub fn read(binding: &Value) -> Self {
        let spec = &binding["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let reference = &spec["paramRef"];
        let parameters = reference.is_object().then(|| ParameterReference {
            name: text(&reference["name"]),
            namespace: text(&reference["namespace"]),
            selector: reference["selector"]
                .is_object()
                .then(|| Selector::from_object(&reference["selector"]).map_err(|error| error.to_string())),
            missing: match reference["parameterNotFoundAction"].as_str() {
                Some("Deny") => MissingParameter::Deny,
                _ => MissingParameter::Allow,
            },
        });
        let actions = spec["validationActions"].as_array().into_iter().flatten();
        let actions = actions.filter_map(|action| match action.as_str() {
            Some("Deny") => Some(Action::Deny),
            Some("Warn") => Some(Action::Warn),
            Some("Audit") => Some(Action::Audit),
            _ => None,
        });
        Self {
            name: text(&binding["metadata"]["name"]),
            policy: text(&spec["policyName"]),
            constraints: spec["matchResources"].is_object().then(|| Constraints::read(&spec["matchResources"])),
            parameters,
            actions: actions.collect(),
        }
    }
}
