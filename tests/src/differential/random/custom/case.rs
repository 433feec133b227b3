//! One request about a definition or about an object of it.

use std::sync::Arc;

use serde_json::Value;

use super::drawer;
use super::schema::mentioned;
use crate::differential::random::trial::Question;
use crate::differential::table::{PatchKind, Sequence, Step, Until};

/// What custom resources are called on the command line and in reports.
pub(in crate::differential::random) const TITLE: &str = "custom";

/// The variable that holds the version of an object that is replaced.
pub(super) const VERSION: &str = "${version}";

/// A request; what is not said of it is not sent.
#[derive(Debug, Clone, Default)]
pub(super) struct Case {
    /// What is done, for reports.
    pub(super) what: String,
    /// The seed of the round.
    pub(super) seed: u64,
    /// The object whose version is asked for before.
    pub(super) look: Option<String>,
    /// Method, path and query.
    pub(super) request: String,
    pub(super) patch: Option<PatchKind>,
    pub(super) accept: Option<String>,
    pub(super) until: Option<Until>,
    /// What alone is compared.
    pub(super) only: Vec<String>,
    /// What is not compared.
    pub(super) ignore: Vec<String>,
    /// The body; null for none.
    pub(super) content: Value,
    /// The schema of the object that is written, for reports.
    pub(super) schema: Arc<Value>,
}

impl Question for Case {
    fn sequence(&self) -> Sequence {
        let request = Step {
            request: Some(self.request.clone()),
            text: (!self.content.is_null()).then(|| drawer::text(&self.content)),
            patch: self.patch,
            accept: self.accept.clone(),
            until: self.until.clone(),
            only: self.only.clone(),
            ignore: self.ignore.clone(),
            ..Step::default()
        };
        let look = self.look.as_ref().map(|path| Step {
            request: Some(format!("GET {path}")),
            capture: [("version".to_owned(), "/metadata/resourceVersion".to_owned())].into(),
            ..Step::default()
        });
        Sequence {
            name: format!("{TITLE} {} with seed {}", self.what, self.seed),
            area: TITLE.to_owned(),
            steps: look.into_iter().chain([request]).collect(),
            ..Sequence::default()
        }
    }

    fn content(&self) -> &Value {
        &self.content
    }

    fn with(&self, content: Value) -> Self {
        Self { content, ..self.clone() }
    }

    fn title(&self) -> String {
        format!("{TITLE} {}", self.what)
    }

    fn described_content(&self) -> String {
        let text = self.content.to_string();
        match &*self.schema {
            Value::Null => format!("body {text}"),
            schema => format!("schema {}\n  body {text}", mentioned(schema, &text)),
        }
    }

    fn command(&self) -> String {
        format!("cargo xtask differential --random 1 --seed {} --kind {TITLE}", self.seed)
    }
}
