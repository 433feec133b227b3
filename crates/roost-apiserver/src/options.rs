//! The options of reads and writes, from the query string and, for deletes, from the body.

use roost_object::field::{Error, Errors, Path, is_printable};
use roost_object::selector::{self, FieldSelector, Selector};
use roost_object::{GroupKind, Status, Value};

use crate::request::Query;

/// The longest name of a field manager.
const FIELD_MANAGER_MAX_LENGTH: usize = 128;

/// What happens to fields that the schema does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    /// They are dropped in silence.
    Ignore,
    /// They are dropped with a warning.
    Warn,
    /// They are refused.
    Strict,
}

/// Which write the options belong to; error messages name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteKind {
    /// `CreateOptions`
    Create,
    /// `UpdateOptions`
    Update,
    /// `PatchOptions` of a JSON, merge or strategic merge patch.
    Patch,
    /// `PatchOptions` of server-side apply.
    Apply,
}

/// The options of a create, update or patch.
#[derive(Clone, Debug)]
pub(crate) struct WriteOptions {
    /// Everything but the write itself.
    pub(crate) dry_run: bool,
    /// Who owns the written fields; empty when the caller did not say.
    pub(crate) field_manager: String,
    /// How unknown fields are treated.
    pub(crate) validation: FieldValidation,
    /// Server-side apply takes fields from others.
    pub(crate) force: bool,
}

impl WriteOptions {
    /// Reads and checks the options.
    pub(crate) fn parse(query: &Query, kind: WriteKind) -> Result<WriteOptions, Status> {
        let mut errors = Errors::new();
        let field_manager = query.get("fieldManager").unwrap_or_default().to_owned();
        match kind {
            WriteKind::Apply if field_manager.is_empty() => {
                errors.push(Error::required(&Path::new("fieldManager"), "is required for apply patch"));
            }
            WriteKind::Patch if query.get("force").is_some() => {
                errors.push(Error::forbidden(&Path::new("force"), "may not be specified for non-apply patch"));
            }
            _ => {}
        }
        check_field_manager(&field_manager, &mut errors);
        let dry_run: Vec<&str> = query.all("dryRun").collect();
        check_dry_run(&dry_run, &mut errors);
        let validation = match query.get("fieldValidation").unwrap_or_default() {
            "" | "Warn" => FieldValidation::Warn,
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            other => {
                let path = Path::new("fieldValidation");
                errors.push(Error::not_supported(&path, other, &["", "Ignore", "Strict", "Warn"]));
                FieldValidation::Warn
            }
        };
        let options =
            WriteOptions { dry_run: !dry_run.is_empty(), field_manager, validation, force: query.flag("force") };
        let name = match kind {
            WriteKind::Create => "CreateOptions",
            WriteKind::Update => "UpdateOptions",
            WriteKind::Patch | WriteKind::Apply => "PatchOptions",
        };
        refuse(name, &errors)?;
        Ok(options)
    }
}

/// What happens to the objects that a deleted one owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    /// They lose their owner and stay.
    Orphan,
    /// They are deleted afterwards.
    Background,
    /// They are deleted first.
    Foreground,
}

/// The options of a delete.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    /// Everything but the delete itself.
    pub(crate) dry_run: bool,
    /// How long the object may take to end; negative counts as one second.
    pub(crate) grace_period_seconds: Option<i64>,
    /// What happens to dependents, if the caller said.
    pub(crate) propagation: Option<Propagation>,
    /// The older way to ask for orphaning.
    pub(crate) orphan_dependents: Option<bool>,
    /// Only this very object may be deleted.
    pub(crate) uid: Option<String>,
    /// Only this very revision may be deleted.
    pub(crate) resource_version: Option<String>,
}

impl DeleteOptions {
    /// Reads options from a decoded body, else from the query.
    pub(crate) fn parse(query: &Query, body: Option<&Value>) -> Result<DeleteOptions, Status> {
        let from_query;
        let source = if let Some(body) = body {
            body
        } else {
            from_query = query_as_options(query)?;
            &from_query
        };
        let mut errors = Errors::new();
        let text = |name: &str| source.get(name).and_then(Value::as_str);
        let orphan_dependents = source.get("orphanDependents").and_then(Value::as_bool);
        let propagation = text("propagationPolicy").and_then(|policy| match policy {
            "Orphan" => Some(Propagation::Orphan),
            "Background" => Some(Propagation::Background),
            "Foreground" => Some(Propagation::Foreground),
            _ => None,
        });
        if let Some(policy) = text("propagationPolicy") {
            let path = Path::new("propagationPolicy");
            if orphan_dependents.is_some() {
                errors.push(Error::invalid(
                    &path,
                    policy,
                    "orphanDependents and deletionPropagation cannot be both set",
                ));
            }
            if propagation.is_none() {
                errors.push(Error::not_supported(&path, policy, &["Foreground", "Background", "Orphan", "nil"]));
            }
        }
        let dry_run: Vec<&str> =
            source.get("dryRun").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        check_dry_run(&dry_run, &mut errors);
        refuse("DeleteOptions", &errors)?;
        let precondition = |name: &str| source["preconditions"][name].as_str().map(str::to_owned);
        Ok(DeleteOptions {
            dry_run: !dry_run.is_empty(),
            grace_period_seconds: source
                .get("gracePeriodSeconds")
                .and_then(Value::as_i64)
                .map(|seconds| if seconds < 0 { 1 } else { seconds }),
            propagation,
            orphan_dependents,
            uid: precondition("uid"),
            resource_version: precondition("resourceVersion"),
        })
    }
}

fn query_as_options(query: &Query) -> Result<Value, Status> {
    let mut options = roost_object::Map::new();
    if let Some(seconds) = query.integer("gracePeriodSeconds")? {
        options.insert("gracePeriodSeconds".into(), seconds.into());
    }
    if query.get("orphanDependents").is_some() {
        options.insert("orphanDependents".into(), query.flag("orphanDependents").into());
    }
    if let Some(policy) = query.get("propagationPolicy") {
        options.insert("propagationPolicy".into(), policy.into());
    }
    let dry_run: Vec<Value> = query.all("dryRun").map(Value::from).collect();
    if !dry_run.is_empty() {
        options.insert("dryRun".into(), dry_run.into());
    }
    Ok(Value::Object(options))
}

/// How exactly a list must match a resource version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Match {
    /// At the given revision.
    Exact,
    /// At the given revision or any later one.
    NotOlderThan,
}

/// The options of a list or watch.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListOptions {
    /// The label selector as sent.
    pub(crate) label_selector: String,
    /// The field selector as sent.
    pub(crate) field_selector: String,
    /// At most this many items; zero for all.
    pub(crate) limit: usize,
    /// Where an earlier page ended.
    pub(crate) continue_token: String,
    /// The revision asked for; empty for the newest.
    pub(crate) resource_version: String,
    /// How the revision is to be matched.
    pub(crate) resource_version_match: Option<Match>,
    /// Bookmarks may be sent.
    pub(crate) allow_bookmarks: bool,
    /// When the server ends a watch; what is negative has passed.
    pub(crate) timeout_seconds: Option<i64>,
    /// A watch starts with the objects that exist.
    pub(crate) send_initial_events: Option<bool>,
}

impl ListOptions {
    /// Reads and checks the options.
    pub(crate) fn parse(query: &Query, watch: bool) -> Result<ListOptions, Status> {
        let text = |name: &str| query.get(name).unwrap_or_default().to_owned();
        let options = ListOptions {
            label_selector: text("labelSelector"),
            field_selector: text("fieldSelector"),
            limit: query.integer("limit")?.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(0),
            continue_token: text("continue"),
            resource_version: text("resourceVersion"),
            resource_version_match: match query.get("resourceVersionMatch").unwrap_or_default() {
                "Exact" => Some(Match::Exact),
                "NotOlderThan" => Some(Match::NotOlderThan),
                _ => None,
            },
            allow_bookmarks: query.flag("allowWatchBookmarks"),
            timeout_seconds: query.integer("timeoutSeconds")?,
            send_initial_events: query.get("sendInitialEvents").map(|_| query.flag("sendInitialEvents")),
        };
        // What cannot be read is refused before what is read and not allowed.
        options.selectors()?;
        let mut errors = Errors::new();
        let asked = query.get("resourceVersionMatch").unwrap_or_default();
        if watch {
            options.check_watch(asked, &mut errors);
        } else {
            options.check_list(asked, &mut errors);
        }
        refuse("ListOptions", &errors)?;
        Ok(options)
    }

    /// The selectors, where there are any.
    pub(crate) fn selectors(&self) -> Result<(Option<Selector>, Option<FieldSelector>), Status> {
        let unreadable = |error: selector::Error| Status::bad_request(error.to_string());
        let given = |text: &str| !text.is_empty();
        let labels = Some(&self.label_selector).filter(|text| given(text)).map(|text| Selector::parse(text));
        let fields = Some(&self.field_selector).filter(|text| given(text)).map(|text| FieldSelector::parse(text));
        Ok((labels.transpose().map_err(unreadable)?, fields.transpose().map_err(unreadable)?))
    }

    fn check_list(&self, asked: &str, errors: &mut Errors) {
        let path = Path::new("resourceVersionMatch");
        if !asked.is_empty() {
            if self.resource_version.is_empty() {
                let why = "resourceVersionMatch is forbidden unless resourceVersion is provided";
                errors.push(Error::forbidden(&path, why));
            }
            if !self.continue_token.is_empty() {
                errors.push(Error::forbidden(&path, "resourceVersionMatch is forbidden when continue is provided"));
            }
            if self.resource_version_match.is_none() {
                errors.push(Error::not_supported(&path, asked, &["Exact", "NotOlderThan", ""]));
            }
            if self.resource_version_match == Some(Match::Exact) && self.resource_version == "0" {
                let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
                errors.push(Error::forbidden(&path, why));
            }
        }
        if self.send_initial_events.is_some() {
            let path = Path::new("sendInitialEvents");
            errors.push(Error::forbidden(&path, "sendInitialEvents is forbidden for list"));
        }
    }

    fn check_watch(&self, asked: &str, errors: &mut Errors) {
        let path = Path::new("resourceVersionMatch");
        let not_older = self.resource_version_match == Some(Match::NotOlderThan);
        if self.send_initial_events.is_some() && !not_older {
            let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
            errors.push(Error::forbidden(&path, why));
        }
        if asked.is_empty() {
            // A watch that does not say where it starts gets initial events, as if it had asked for them.
            let from_now = matches!(self.resource_version.as_str(), "" | "0") && self.send_initial_events.is_none();
            if from_now && !self.continue_token.is_empty() {
                errors.push(Error::forbidden(&path, "resourceVersionMatch is forbidden when continue is provided"));
            }
            return;
        }
        if self.send_initial_events.is_none() {
            let why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            errors.push(Error::forbidden(&path, why));
        }
        if !not_older {
            errors.push(Error::not_supported(&path, asked, &["NotOlderThan"]));
        }
        if !self.continue_token.is_empty() {
            errors.push(Error::forbidden(&path, "resourceVersionMatch is forbidden when continue is provided"));
        }
    }
}

fn check_field_manager(manager: &str, errors: &mut Errors) {
    let path = Path::new("fieldManager");
    if manager.len() > FIELD_MANAGER_MAX_LENGTH {
        errors.push(Error::too_long(&path, FIELD_MANAGER_MAX_LENGTH));
    }
    for (position, character) in manager.char_indices() {
        let is_shown = if character.is_ascii() { !character.is_ascii_control() } else { is_printable(character) };
        if !is_shown {
            let why = format!("invalid character U+{:04X} (at position {position})", character as u32);
            errors.push(Error::invalid(&path, manager, why));
        }
    }
}

fn check_dry_run(values: &[&str], errors: &mut Errors) {
    if values.iter().any(|value| *value != "All") {
        // What is no text in a query is shown escaped, as Go's encoder writes it.
        let quoted: Vec<_> =
            values.iter().map(|value| Value::from(*value).to_string().replace('\u{fffd}', "\\ufffd")).collect();
        let mut error = Error::not_supported(&Path::new("dryRun"), Value::Null, &["All"]);
        error.detail = format!("[{}]: {}", quoted.join(","), error.detail);
        error.value = None;
        errors.push(error);
    }
}

fn refuse(kind: &str, errors: &[Error]) -> Result<(), Status> {
    if errors.is_empty() { Ok(()) } else { Err(Status::invalid(&GroupKind::new("meta.k8s.io", kind), "", errors)) }
}
