//! Request bodies: read with a limit, decoded with the caller's care for unknown fields.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use roost_body::Whole;
use roost_kinds::Type;
use roost_object::field::quote;
use roost_object::json::{self, strict_error};
use roost_object::{GroupVersionKind, Status, Value, yaml};

use crate::allowance::bytes_of_piece;
use crate::heavy::HEAVY_BYTES;
use crate::negotiate::Encoding;
use crate::options::FieldValidation;
use crate::party::Party;
use crate::registered;
use crate::resource::{Custom, Resource};

/// The largest body of a request, as on stock.
pub(crate) const MAX_BODY_BYTES: usize = 3 * 1024 * 1024;

/// Where stock's built-in kinds are registered; its messages name it.
const SCHEME: &str = "pkg/runtime/scheme.go:111";

/// How long a body that nobody wants is read, so that its sender gets to read the answer.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(15);

/// How much of it is read at a time, and how long the pause is then: decrypting it costs as much as if somebody wanted it.
/// A hundred megabytes take eight seconds.
const DRAINED_BYTES: usize = 64 * 1024;
const DRAIN_PAUSE: Duration = Duration::from_millis(5);

/// A body that may be left unread.
pub(crate) struct Unread<B: http_body::Body<Data = Bytes> + Send + 'static> {
    body: Option<Pin<Box<B>>>,
}

impl<B> Unread<B>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    /// A body of which nothing was read.
    pub(crate) fn new(body: B) -> Unread<B> {
        Unread { body: (!body.is_end_stream()).then(|| Box::pin(body)) }
    }

    /// Reads the whole body, or refuses one that is too large. A large one comes in stretches that its party may have.
    pub(crate) async fn read(&mut self, party: Option<&Party>) -> Result<Bytes, Status> {
        let Some(body) = &mut self.body else { return Ok(Bytes::new()) };
        if body.size_hint().lower() > MAX_BODY_BYTES as u64 {
            return Err(too_large());
        }
        let mut whole = Whole::default();
        let mut reading = Reading::new(party);
        while let Some(piece) = next_piece(body).await {
            let Ok(piece) = piece else {
                self.body = None;
                return piece;
            };
            let length = piece.len();
            whole.push(piece);
            if whole.length() > MAX_BODY_BYTES {
                return Err(too_large());
            }
            reading.go_on(length).await;
        }
        reading.end();
        self.body = None;
        Ok(whole.into_bytes())
    }

    /// Reads what is left beside the answer, without haste. A connection that is closed while its client still sends is
    /// reset, and the client would lose the answer with it.
    pub(crate) fn drain(self, party: Option<Arc<Party>>) {
        let Some(mut body) = self.body else { return };
        tokio::spawn(tokio::time::timeout(DRAIN_TIMEOUT, async move {
            let mut drained = 0;
            while let Some(Ok(piece)) = next_piece(&mut body).await {
                drained += bytes_of_piece(piece.len());
                if drained >= DRAINED_BYTES {
                    tokio::time::sleep(DRAIN_PAUSE).await;
                    if let Some(party) = &party {
                        party.take_bytes(drained);
                        party.refuse_bytes(drained);
                        party.wait_for_heavy().await;
                    }
                    drained = 0;
                }
            }
        }));
    }
}

/// What is read of a body for a party. Unless it comes to its end it counts again: the work came to nothing.
struct Reading<'a> {
    party: Option<&'a Party>,
    /// What was read since the party was asked last, and what was counted.
    stretch: usize,
    counted: usize,
}

impl<'a> Reading<'a> {
    fn new(party: Option<&'a Party>) -> Self {
        Self { party, stretch: 0, counted: 0 }
    }

    /// Counts a piece, and waits at the end of a stretch until the party may have another.
    async fn go_on(&mut self, length: usize) {
        self.stretch += bytes_of_piece(length);
        if let Some(party) = self.party
            && self.stretch >= HEAVY_BYTES
        {
            party.take_bytes(self.stretch);
            self.counted += std::mem::take(&mut self.stretch);
            party.wait_for_heavy().await;
        }
    }

    fn end(mut self) {
        self.counted = 0;
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        if let Some(party) = self.party
            && self.counted > 0
        {
            party.refuse_bytes(self.counted);
        }
    }
}

/// What comes next of a body; trailers are nothing.
async fn next_piece<B>(body: &mut Pin<Box<B>>) -> Option<Result<Bytes, Status>>
where
    B: http_body::Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let frame = body.frame().await?;
    Some(match frame {
        Ok(frame) => Ok(frame.into_data().unwrap_or_default()),
        Err(error) => Err(Status::bad_request(format!("error reading the request body: {}", error.into()))),
    })
}

fn too_large() -> Status {
    Status::too_large(&format!("limit is {MAX_BODY_BYTES}"))
}

/// A decoded body.
pub(crate) struct Decoded {
    /// The object, as its kind's Go type would hold it.
    pub(crate) object: Value,
    /// The type that the body names, with the expected one filled in.
    pub(crate) kind: GroupVersionKind,
    /// Unknown and duplicate fields, for `Warning` headers.
    pub(crate) warnings: Vec<String>,
}

/// Decodes a body into the given kind. `expected` is the kind that the path stands for.
pub(crate) fn decode(
    bytes: &Bytes,
    encoding: Encoding,
    expected: &GroupVersionKind,
    validation: FieldValidation,
    resource: Option<&Resource>,
) -> Result<Decoded, Status> {
    let body = Body { bytes, encoding, expected };
    let (object, kind, findings) = match resource.and_then(Resource::as_custom) {
        Some(custom) => body.custom(custom)?,
        None => body.built_in()?,
    };
    let warnings = match validation {
        FieldValidation::Strict if !findings.is_empty() => {
            return Err(body.refuse(Some(&kind), &strict_error(&findings)));
        }
        FieldValidation::Warn => findings.iter().flat_map(|finding| one_a_line(finding)).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    Ok(Decoded { object, kind, warnings })
}

/// A complaint of the YAML reader, which lists several, as warnings.
pub(crate) fn one_a_line(finding: &str) -> impl Iterator<Item = &str> {
    finding.trim_start_matches("yaml: unmarshal errors:\n").lines().map(str::trim).filter(|line| !line.is_empty())
}

type Parsed = (Value, GroupVersionKind, Vec<String>);

struct Body<'a> {
    bytes: &'a Bytes,
    encoding: Encoding,
    expected: &'a GroupVersionKind,
}

impl Body<'_> {
    /// The body as JSON bytes, with what YAML says twice.
    fn as_json(&self) -> Result<(Cow<'_, [u8]>, Vec<String>), Status> {
        if self.encoding != Encoding::Yaml {
            return Ok((Cow::Borrowed(self.bytes), Vec::new()));
        }
        let document = yaml::read(self.bytes).map_err(|error| self.refuse(None, &error.to_string()))?;
        Ok((Cow::Owned(document.value.to_string().into_bytes()), document.duplicates))
    }

    fn built_in(&self) -> Result<Parsed, Status> {
        if self.encoding == Encoding::Protobuf {
            return self.protobuf();
        }
        let (text, mut findings) = self.as_json()?;
        let found = json::type_meta(&text).map_err(|error| self.refuse(None, &error.to_string()))?;
        let kind = self.kind_of(&found.api_version, &found.kind);
        let ty = self.type_of(&kind)?;
        let decoded =
            roost_kinds::json::read(&text, ty).map_err(|error| self.refuse(Some(&kind), &error.to_string()))?;
        self.expect_kind(&kind, ty)?;
        findings.extend(decoded.findings);
        Ok((decoded.value, kind, findings))
    }

    /// Refuses a body in a version that is read but not served.
    fn refuse_version(&self, kind: &GroupVersionKind) -> Status {
        if kind.kind == self.expected.kind {
            return Status::bad_request(format!(
                "the API version in the data ({}) does not match the expected API version ({})",
                kind.api_version(),
                self.expected.api_version()
            ));
        }
        let own = format!("{}.{}", kind.version, kind.kind);
        let expected = registered::internal_name(&self.expected.group, &self.expected.kind);
        self.refuse(Some(kind), &format!("converting ({own}) to ({expected}): unknown conversion"))
    }

    /// Refuses a body of another kind than the expected one.
    fn expect_kind(&self, kind: &GroupVersionKind, ty: &Type) -> Result<(), Status> {
        if kind.kind == self.expected.kind && kind.group == self.expected.group {
            return Ok(());
        }
        // Events are of two groups, and the same inside.
        if kind.kind == "Event" && self.expected.kind == "Event" {
            return Err(self.refuse_version(kind));
        }
        let expected = registered::internal_name(&self.expected.group, &self.expected.kind);
        let why = format!("converting ({}) to ({expected}): unknown conversion", ty.go);
        Err(self.refuse(Some(kind), &why))
    }

    fn protobuf(&self) -> Result<Parsed, Status> {
        let refuse = |error: roost_kinds::protobuf::ProtobufError| self.refuse(None, &error.to_string());
        let envelope = roost_kinds::protobuf::Envelope::open(self.bytes).map_err(refuse)?;
        let kind = self.kind_of(&envelope.api_version, &envelope.kind);
        let ty = self.type_of(&kind)?;
        let value = roost_kinds::protobuf::decode(self.bytes, Some(ty)).map_err(refuse)?;
        self.expect_kind(&kind, ty)?;
        Ok((value, kind, Vec::new()))
    }

    /// The type of the named kind, which must be the expected one.
    fn type_of(&self, kind: &GroupVersionKind) -> Result<&'static Type, Status> {
        // Evictions are still read in the version that is not served any more, and look the same in it.
        let found = if (kind.api_version().as_str(), kind.kind.as_str()) == ("policy/v1beta1", "Eviction") {
            roost_kinds::type_of("policy/v1", "Eviction")
        } else {
            registered::type_of(&self.expected.group, kind)
        };
        let Some(ty) = found else {
            if registered::is_registered(&self.expected.group, kind) {
                return Err(self.refuse_version(kind));
            }
            let why = format!(
                "no kind {} is registered for version {} in scheme {}",
                quote(&kind.kind),
                quote(&kind.api_version()),
                quote(SCHEME)
            );
            return Err(self.refuse(Some(kind), &why));
        };
        Ok(ty)
    }

    fn custom(&self, custom: &Custom) -> Result<Parsed, Status> {
        let (text, mut findings) = self.as_json()?;
        let named = json::type_meta(&text).map_err(|error| self.refuse(None, &error.to_string()))?;
        let document = json::read(&text).map_err(|error| self.refuse(None, &error.to_string()))?;
        findings.extend(document.duplicates);
        let mut object = document.value;
        if named.kind.is_empty() {
            let shown = String::from_utf8_lossy(&text);
            return Err(self.refuse(None, &format!("Object 'Kind' is missing in '{shown}'")));
        }
        let found = GroupVersionKind::parse(&named.api_version, &named.kind);
        if let Some(schema) = custom.schema_of(&found) {
            let pruned = schema.decode(&mut object).map_err(|error| self.refuse(Some(&found), &error.to_string()))?;
            findings.extend(pruned.iter().map(|field| format!("unknown field {}", quote(field))));
        }
        Ok((object, found, findings))
    }

    /// What the body names, with what it leaves out taken from the path.
    fn kind_of(&self, api_version: &str, kind: &str) -> GroupVersionKind {
        let mut found = GroupVersionKind::parse(api_version, kind);
        if kind.is_empty() {
            found.kind.clone_from(&self.expected.kind);
        }
        if api_version.is_empty() {
            found.group.clone_from(&self.expected.group);
            found.version.clone_from(&self.expected.version);
        }
        found
    }

    /// A body that cannot be read, in stock's words.
    fn refuse(&self, found: Option<&GroupVersionKind>, why: &str) -> Status {
        let expected = &self.expected.kind;
        match found {
            Some(found) if !found.kind.is_empty() => {
                let version = quote(&found.version);
                let text = format!("{} in version {version} cannot be handled as a {expected}: {why}", found.kind);
                Status::bad_request(text)
            }
            _ => Status::bad_request(format!(
                "the object provided is unrecognized (must be of type {expected}): {why} ({})",
                summarize(self.bytes)
            )),
        }
    }
}

/// The kinds that every scheme of stock knows.
const UNVERSIONED: [&str; 5] = ["APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "Status"];

/// Decodes the options of a delete, whose errors stock reports bare.
pub(crate) fn decode_options(bytes: &Bytes, encoding: Encoding, expected: &GroupVersionKind) -> Result<Value, Status> {
    let bare = |error: &dyn std::fmt::Display| Status::bad_request(error.to_string());
    if encoding == Encoding::Protobuf {
        let ty = roost_kinds::type_of(&expected.api_version(), &expected.kind);
        return roost_kinds::protobuf::decode(bytes, ty).map_err(|error| bare(&error));
    }
    let text: Cow<'_, [u8]> = match encoding {
        Encoding::Yaml => Cow::Owned(yaml::read(bytes).map_err(|error| bare(&error))?.value.to_string().into_bytes()),
        _ => Cow::Borrowed(bytes),
    };
    let found = json::type_meta(&text).map_err(|error| bare(&error))?;
    let (kind, version) = (found.kind.as_str(), found.api_version.as_str());
    if version == "v1" && UNVERSIONED.contains(&kind) {
        let own = &expected.kind;
        return Err(Status::bad_request(format!("converting (v1.{kind}) to (v1.{own}): unknown conversion")));
    }
    if !kind.is_empty() && kind != expected.kind {
        let version = if version.is_empty() { "meta.k8s.io/v1" } else { version };
        let why =
            format!("no kind {} is registered for version {} in scheme {}", quote(kind), quote(version), quote(SCHEME));
        return Err(Status::bad_request(why));
    }
    let ty = roost_kinds::type_of("v1", &expected.kind).ok_or_else(|| Status::internal("DeleteOptions has no type"))?;
    roost_kinds::json::read(&text, ty).map(|decoded| decoded.value).map_err(|error| bare(&error))
}

/// How much of a bad body a message shows.
const SUMMARY_BYTES: usize = 30;

fn summarize(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(SUMMARY_BYTES)];
    let tail = if bytes.len() > SUMMARY_BYTES { " ..." } else { "" };
    match bytes.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{tail}", String::from_utf8_lossy(shown)),
        Some(_) => {
            let mut hex = String::with_capacity(shown.len() * 2 + tail.len());
            for byte in shown {
                let _ = write!(hex, "{byte:02x}");
            }
            hex + tail
        }
    }
}
