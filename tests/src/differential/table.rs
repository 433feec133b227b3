//! The table of request sequences: its format and how it is read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

/// Why the table is of no use.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The file could not be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file does not have the format.
    #[error("{}: {reason}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

/// One file of the table: the sequences of one area.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// Text that `${name}` stands for in this file.
    #[serde(default)]
    variables: BTreeMap<String, String>,
    /// Bodies that steps start from with `use`.
    #[serde(default)]
    bodies: BTreeMap<String, Value>,
    /// What every sequence is played for.
    #[serde(default)]
    each: Vec<Subject>,
    sequences: Vec<Sequence>,
}

/// An object that sequences are played for: the body `object`, with `${collection}`, `${item}`, `${name}`, `${version}`
/// and `${kind}`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Subject {
    /// The path of the collection.
    collection: String,
    /// The object, complete with its type and name.
    object: Value,
}

/// Requests that run one after the other in a namespace of their own.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sequence {
    /// The name, unique in the whole table; also the name of the namespace.
    pub name: String,
    /// Whether it sees what other sequences do, so that it runs before all of those that do not.
    #[serde(default)]
    pub alone: bool,
    /// Certificate signing requests to make, by variable name.
    #[serde(default)]
    pub requests: BTreeMap<String, SigningRequest>,
    /// Text that `${name}` stands for, in addition to the file's.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    /// Who acts, where a step does not say.
    #[serde(default, rename = "as")]
    pub actor: Option<Actor>,
    /// The steps.
    pub steps: Vec<Step>,
    /// The bodies of the file it is in.
    #[serde(skip)]
    pub bodies: BTreeMap<String, Value>,
    /// The file it is in, without its ending.
    #[serde(skip)]
    pub area: String,
}

/// A certificate signing request that is made before the sequence runs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SigningRequest {
    /// The common name.
    pub user: String,
    /// The organisations.
    #[serde(default)]
    pub groups: Vec<String>,
    /// DNS names and addresses.
    #[serde(default)]
    pub names: Vec<String>,
}

/// Who sends a request.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Actor {
    /// `anonymous`, or the name of a user to impersonate.
    Name(String),
    /// A user to impersonate, with all that belongs to it.
    Impersonated(Impersonation),
    /// Whoever holds a token.
    Token(TokenHolder),
    /// Whoever holds a certificate: names of variables.
    Certificate(CertificateHolder),
}

/// A user to impersonate.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Impersonation {
    /// The user.
    pub user: String,
    /// Its groups.
    #[serde(default)]
    pub groups: Vec<String>,
    /// Its uid.
    #[serde(default)]
    pub uid: Option<String>,
    /// Its extra values.
    #[serde(default)]
    pub extra: BTreeMap<String, Vec<String>>,
}

/// The holder of a bearer token.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenHolder {
    /// The token.
    pub token: String,
}

/// The holder of a client certificate.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CertificateHolder {
    /// The certificate, base64 of PEM as signing requests give it.
    pub certificate: String,
    /// The private key, PEM.
    pub key: String,
}

/// One request, or one start or end of a watch.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// `METHOD /path?query`.
    #[serde(default, rename = "do")]
    pub request: Option<String>,
    /// Who acts.
    #[serde(default, rename = "as")]
    pub actor: Option<Actor>,
    /// The kind of patch, which decides the content type.
    #[serde(default)]
    pub patch: Option<PatchKind>,
    /// The content type, where it is not the usual one.
    #[serde(default, rename = "type")]
    pub content_type: Option<String>,
    /// What is accepted, where it is not JSON.
    #[serde(default)]
    pub accept: Option<String>,
    /// Further headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The name of a body of the file that this one starts from.
    #[serde(default, rename = "use")]
    pub base: Option<String>,
    /// The body, laid over the one that it starts from; keys that start with a slash are JSON pointers.
    #[serde(default)]
    pub body: Option<Value>,
    /// The body as text.
    #[serde(default)]
    pub text: Option<String>,
    /// The variable that holds the body.
    #[serde(default)]
    pub send: Option<String>,
    /// The same request with different bodies, each laid over the body.
    #[serde(default)]
    pub cases: BTreeMap<String, Value>,
    /// How often the request is sent, with `${n}` counting from 1.
    #[serde(default)]
    pub repeat: Option<usize>,
    /// Variables to set from the answer: JSON pointers, or `body` for all of it.
    #[serde(default)]
    pub capture: BTreeMap<String, String>,
    /// What to repeat the request for.
    #[serde(default)]
    pub until: Option<Until>,
    /// The name of a watch to start with this request.
    #[serde(default)]
    pub watch: Option<String>,
    /// The end of a watch.
    #[serde(default)]
    pub collect: Option<Collect>,
    /// Lists, or texts with commas, whose order is random on stock.
    #[serde(default)]
    pub unordered: Vec<String>,
    /// What is not compared.
    #[serde(default)]
    pub ignore: Vec<String>,
    /// What alone is compared.
    #[serde(default)]
    pub only: Vec<String>,
}

/// The kinds of patch.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PatchKind {
    /// RFC 6902.
    Json,
    /// RFC 7396.
    Merge,
    /// Kubernetes' own.
    Strategic,
    /// Server-side apply.
    Apply,
}

impl PatchKind {
    /// The content type.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json-patch+json",
            Self::Merge => "application/merge-patch+json",
            Self::Strategic => "application/strategic-merge-patch+json",
            Self::Apply => "application/apply-patch+yaml",
        }
    }
}

/// What an answer must be like before a sequence goes on. All that is given must hold.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Until {
    /// The status code.
    #[serde(default)]
    pub status: Option<u16>,
    /// A JSON pointer into the body.
    #[serde(default)]
    pub at: Option<String>,
    /// The value there; without it, any value but null.
    #[serde(default)]
    pub is: Option<Value>,
    /// Text that the body contains.
    #[serde(default)]
    pub text: Option<String>,
    /// Text that the body does not contain.
    #[serde(default)]
    pub without: Option<String>,
}

/// The end of a watch.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Collect {
    /// The watch.
    pub watch: String,
    /// How many events to wait for; without it, the watch is read to its end.
    #[serde(default)]
    pub events: Option<usize>,
    /// Whether the bookmark after the initial events is an event; other bookmarks come at random times.
    #[serde(default)]
    pub bookmarks: bool,
}

/// A difference that is known and has a reason.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Explanation {
    /// The sequence.
    pub sequence: String,
    /// The step, counted from 1; without it, every step.
    #[serde(default)]
    pub step: Option<usize>,
    /// Why both are right.
    pub reason: String,
}

/// What the files of a directory say.
#[derive(Debug, Default)]
pub struct Table {
    /// The sequences.
    pub sequences: Vec<Sequence>,
    /// Differences that stay, each with its reason.
    pub explanations: Vec<Explanation>,
    /// Sequences that still differ and should not.
    pub open: BTreeSet<String>,
}

/// Reads all files of a directory.
pub fn read(directory: &Path) -> Result<Table, TableError> {
    let failed = |path: &Path, source| TableError::Read { path: path.to_owned(), source };
    let mut paths: Vec<PathBuf> = std::fs::read_dir(directory)
        .map_err(|source| failed(directory, source))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    paths.sort();
    let mut table = Table::default();
    for path in paths {
        let text = std::fs::read_to_string(&path).map_err(|source| failed(&path, source))?;
        let area = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        match area.as_str() {
            "explained" => table.explanations = parse(&path, &text)?,
            "open" => table.open = parse(&path, &text)?,
            _ => table.sequences.extend(adopt(parse(&path, &text)?, &area)),
        }
    }
    check(directory, &table.sequences)?;
    Ok(table)
}

/// Reads one file of the format's YAML.
pub(super) fn parse<T: serde::de::DeserializeOwned>(path: &Path, text: &str) -> Result<T, TableError> {
    // A bare `y` is a name here, not a truth value.
    let mut options = serde_saphyr::Options::default();
    options.strict_booleans = true;
    serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| TableError::Format { path: path.to_owned(), reason: error.to_string() })
}

fn adopt(file: File, area: &str) -> Vec<Sequence> {
    let File { variables, bodies, each, mut sequences } = file;
    for sequence in &mut sequences {
        area.clone_into(&mut sequence.area);
        sequence.bodies.clone_from(&bodies);
        for (name, text) in &variables {
            sequence.variables.entry(name.clone()).or_insert_with(|| text.clone());
        }
    }
    if each.is_empty() {
        return sequences;
    }
    sequences.iter().flat_map(|sequence| each.iter().map(|subject| played_for(sequence, subject))).collect()
}

/// The same sequence for an object; its name has the kind's and the group's behind it.
fn played_for(sequence: &Sequence, subject: &Subject) -> Sequence {
    let Subject { collection, object } = subject;
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind, name) = (text("/apiVersion"), text("/kind"), text("/metadata/name"));
    // As much of the group as fits into every name.
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("core", api_version));
    let group: String = group.chars().filter(char::is_ascii_lowercase).take(6).collect();
    let mut sequence = sequence.clone();
    sequence.name = format!("{}-{}-{group}-{version}", sequence.name, kind.to_lowercase());
    let variables = [
        ("collection", collection.clone()),
        ("name", name.to_owned()),
        ("item", format!("{collection}/{name}")),
        ("version", api_version.to_owned()),
        ("kind", kind.to_owned()),
    ];
    sequence.variables.extend(variables.map(|(name, text)| (name.to_owned(), text)));
    sequence.bodies.insert("object".to_owned(), object.clone());
    sequence
}

fn check(directory: &Path, sequences: &[Sequence]) -> Result<(), TableError> {
    let wrong = |reason: String| Err(TableError::Format { path: directory.to_owned(), reason });
    let mut seen = BTreeSet::new();
    for sequence in sequences {
        let name = &sequence.name;
        if !seen.insert(name) {
            return wrong(format!("two sequences are called {name}"));
        }
        let letters = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
        if name.len() > 50 || name.is_empty() || !name.chars().all(letters) {
            return wrong(format!("{name} is not fit for the name of a namespace (at most 50 of a-z, 0-9 and -)"));
        }
        for (number, step) in sequence.steps.iter().enumerate() {
            if step.request.is_some() == step.collect.is_some() {
                return wrong(format!("{name}, step {}: give either `do` or `collect`", number + 1));
            }
        }
    }
    Ok(())
}
