//! Reading a collection, whole or in pages, at one revision.

use std::sync::Arc;

use bytes::{BufMut, BytesMut};
use http::Response;
use roost_object::field::{Error, Path};
use roost_object::status::{Cause, Details};
use roost_object::{Status, Value};
use roost_store::{Entry, ListError, ListQuery, Page, Revision};

use super::continuation::Continuation;
use super::selection::Selection;
use super::table::present_list;
use crate::call::Call;
use crate::cluster::Cluster;
use crate::conversion;
use crate::negotiate::Format;
use crate::options::{ListOptions, Match};
use crate::resource::Resource;
use crate::respond::{self, Body};

/// What a list says about itself.
#[derive(Default)]
pub(crate) struct ListMeta {
    /// The revision of all items.
    pub(crate) revision: Revision,
    /// Where the next page starts; empty at the end.
    pub(crate) continue_token: String,
    /// How many items follow, when that is known.
    pub(crate) remaining: Option<u64>,
}

/// Answers with a list in the agreed form.
pub(crate) async fn list(
    call: &Call,
    resource: &Resource,
    namespace: &str,
    options: &ListOptions,
    format: &Format,
) -> Result<Response<Body>, Status> {
    let selection = Selection::parse(options, resource)?;
    let page = read_page(call, resource, namespace, options, &selection)?;
    if format.is_plain() && selection.is_everything() && resource.is_served_as_stored() {
        let meta = meta_of(&page, page.more, page.entries.last(), namespace);
        if let Some(answer) = write_plain(call, resource, &page, &meta)? {
            return Ok(answer);
        }
    }
    let (meta, objects) = choose(call, resource, namespace, options, &selection, &page).await?;
    present_list(call, resource, format, &meta, objects)
}

/// The objects that a list is about, in the served version.
pub(crate) async fn select(
    call: &Call,
    resource: &Resource,
    namespace: &str,
    options: &ListOptions,
) -> Result<(ListMeta, Vec<Value>), Status> {
    let selection = Selection::parse(options, resource)?;
    let page = read_page(call, resource, namespace, options, &selection)?;
    choose(call, resource, namespace, options, &selection, &page).await
}

/// Reads a page of the collection at the revision that the options ask for.
fn read_page(
    call: &Call,
    resource: &Resource,
    namespace: &str,
    options: &ListOptions,
    selection: &Selection,
) -> Result<Page, Status> {
    let store = &call.cluster.store;
    let at = Position::of(options, store.revision())?;
    let prefix = (resource.namespaced && !namespace.is_empty()).then(|| format!("{namespace}/"));
    let from = at.from.map(|from| format!("{}{from}", prefix.as_deref().unwrap_or_default()));
    let query = ListQuery {
        prefix: prefix.as_deref(),
        from: from.as_deref(),
        limit: if selection.is_everything() { limit_of(options, resource) } else { 0 },
        at: at.revision,
    };
    let collection = resource.collection(&call.cluster.tenant);
    let mut page = store.list(&collection, query).map_err(|error| expired(&error, options))?;
    page.entries.retain(|entry| selection.could_mean(&entry.name));
    Ok(page)
}

/// How many items a page has at most. Whoever is content with any revision gets all that stock's cache has, whatever the
/// limit; events are not cached.
fn limit_of(options: &ListOptions, resource: &Resource) -> usize {
    let cached = options.resource_version == "0" && resource.kind != "Event";
    if cached { 0 } else { options.limit }
}

/// The objects of a page that are meant, cut at the limit.
async fn choose(
    call: &Call,
    resource: &Resource,
    namespace: &str,
    options: &ListOptions,
    selection: &Selection,
    page: &Page,
) -> Result<(ListMeta, Vec<Value>), Status> {
    let limit = limit_of(options, resource);
    let mut objects = Vec::with_capacity(page.entries.len().min(1024));
    let mut last = None;
    let mut more = page.more;
    let mut converted = served_by_webhook(&call.cluster, resource, &page.entries).await?.into_iter();
    for entry in &page.entries {
        let object = match converted.next() {
            Some(object) => object,
            None => call.cluster.decode_served(resource, entry)?,
        };
        if !selection.matches(resource, &object) {
            continue;
        }
        if limit > 0 && objects.len() == limit {
            more = true;
            break;
        }
        objects.push(object);
        last = Some(entry);
    }
    let mut meta = meta_of(page, more, last, namespace);
    if !selection.is_everything() {
        meta.remaining = None;
    }
    Ok((meta, objects))
}

/// Entries as a webhook converts them, in one call; nothing where no webhook does.
pub(super) async fn served_by_webhook(
    cluster: &Arc<Cluster>,
    resource: &Resource,
    entries: &[Entry],
) -> Result<Vec<Value>, Status> {
    if resource.webhook().is_none() {
        return Ok(Vec::new());
    }
    let objects = entries.iter().map(|entry| cluster.decode(resource, entry)).collect::<Result<_, _>>()?;
    conversion::to_served(cluster, resource, objects).await
}

fn meta_of(page: &Page, more: bool, last: Option<&Entry>, namespace: &str) -> ListMeta {
    let continue_token = match last {
        Some(last) if more => {
            let below = last.name.strip_prefix(namespace).filter(|below| below.starts_with('/'));
            Continuation::encode(Some(page.revision), below.unwrap_or(&last.name))
        }
        _ => String::new(),
    };
    ListMeta { revision: page.revision, continue_token, remaining: more.then_some(page.remaining) }
}

/// The fast way: stored bytes are copied, nothing is parsed. None when some object must be brought up to date first.
fn write_plain(
    call: &Call,
    resource: &Resource,
    page: &Page,
    meta: &ListMeta,
) -> Result<Option<Response<Body>>, Status> {
    let size: usize = page.entries.iter().map(|entry| entry.value.len() + 64).sum();
    let mut out = BytesMut::with_capacity(size + 256);
    let custom = resource.as_custom().is_some();
    let meta = if custom { meta.to_value(true).to_string() } else { meta.ordered() };
    let names: [(&[u8], &str); 2] = if custom {
        [(b"{\"apiVersion\":\"", &resource.api_version), (b"\",\"items\":[", "")]
    } else {
        [(b"{\"kind\":\"", &resource.list_kind), (b"\",\"apiVersion\":\"", &resource.api_version)]
    };
    for (name, value) in names {
        out.put_slice(name);
        out.put_slice(value.as_bytes());
    }
    if !custom {
        out.put_slice(b"\",\"metadata\":");
        out.put_slice(meta.as_bytes());
        out.put_slice(b",\"items\":[");
    }
    let item_kind = if custom { &*resource.kind } else { "" };
    for (index, entry) in page.entries.iter().enumerate() {
        if index > 0 {
            out.put_u8(b',');
        }
        let stored = call.cluster.open(resource, entry)?;
        if !resource.is_current(&stored, entry.modified) {
            return Ok(None);
        }
        stored.write_json(&mut out, &resource.api_version, item_kind, entry.modified);
    }
    if custom {
        out.put_slice(b"],\"kind\":\"");
        out.put_slice(resource.list_kind.as_bytes());
        out.put_slice(b"\",\"metadata\":");
        out.put_slice(meta.as_bytes());
        out.put_slice(b"}\n");
    } else {
        out.put_slice(b"]}\n");
    }
    Ok(Some(respond::bytes(200, "application/json", out.freeze())))
}

impl ListMeta {
    /// The list's metadata. Lists of custom resources always have a continue token, be it empty.
    pub(crate) fn to_value(&self, custom: bool) -> Value {
        let mut meta = roost_object::Map::new();
        if custom {
            meta.insert("continue".into(), "".into());
        }
        // What is not stored has no version.
        if self.revision != Revision::default() {
            meta.insert("resourceVersion".into(), self.revision.to_string().into());
        }
        if !self.continue_token.is_empty() {
            meta.insert("continue".into(), self.continue_token.as_str().into());
        }
        if let Some(remaining) = self.remaining.filter(|remaining| *remaining > 0) {
            meta.insert("remainingItemCount".into(), remaining.into());
        }
        Value::Object(meta)
    }

    /// The text of the metadata of a built-in kind's list, with its fields in Go's order.
    fn ordered(&self) -> String {
        let meta = self.to_value(false);
        let field = |name: &&str| Some(format!("\"{name}\":{}", meta.get(*name)?));
        let fields: Vec<String> =
            ["resourceVersion", "continue", "remainingItemCount"].iter().filter_map(field).collect();
        format!("{{{}}}", fields.join(","))
    }
}

/// At which revision and with which key, below the namespace that is listed, a list starts.
struct Position {
    revision: Option<Revision>,
    from: Option<String>,
}

impl Position {
    fn of(options: &ListOptions, current: Revision) -> Result<Position, Status> {
        if !options.continue_token.is_empty() {
            let continuation = Continuation::decode(&options.continue_token)?;
            if !options.resource_version.is_empty() && options.resource_version != "0" {
                return Err(Status::bad_request("specifying resource version is not allowed when using continue"));
            }
            if let Some(wanted) = continuation.revision {
                not_in_future(wanted, current)?;
            }
            return Ok(Position { revision: continuation.revision, from: Some(continuation.from) });
        }
        if options.resource_version.is_empty() || options.resource_version == "0" {
            return Ok(Position { revision: None, from: None });
        }
        let wanted = parse_revision(&options.resource_version)?;
        not_in_future(wanted, current)?;
        let exact = match options.resource_version_match {
            Some(Match::Exact) => true,
            Some(Match::NotOlderThan) => false,
            None => options.limit > 0,
        };
        Ok(Position { revision: exact.then_some(wanted), from: None })
    }
}

/// Reads a revision from a query.
pub(crate) fn parse_revision(text: &str) -> Result<Revision, Status> {
    parse_unsigned(text).map_err(|why| {
        let error = Error::invalid(&Path::new("resourceVersion"), text, why);
        Status::bad_request(format!("invalid resource version: {error}"))
    })
}

/// A number without a sign, or why Go takes it for none.
pub(crate) fn parse_unsigned(text: &str) -> Result<u64, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.then(|| text.parse().ok());
    number.flatten().ok_or_else(|| {
        let why = if digits { "value out of range" } else { "invalid syntax" };
        format!("strconv.ParseUint: parsing {}: {why}", roost_object::field::quote(text))
    })
}

/// Reads a revision from the query of a get or watch, which stock refuses in another way than that of a list.
pub(crate) fn parse_watch_revision(text: &str) -> Result<Revision, Status> {
    parse_revision(text).map_err(|status| {
        let message = status.message.trim_start_matches("invalid resource version: ").to_owned();
        Status::failure(500, "", message)
    })
}

/// Refuses a revision that has not happened yet.
pub(crate) fn not_in_future(wanted: Revision, current: Revision) -> Result<(), Status> {
    if wanted <= current {
        return Ok(());
    }
    let cause = Cause {
        reason: "ResourceVersionTooLarge".into(),
        message: "Too large resource version".into(),
        ..Cause::default()
    };
    let message = format!("Timeout: Too large resource version: {wanted}, current: {current}");
    Err(Status::failure(504, "Timeout", message).with_details(Details {
        causes: vec![cause],
        retry_after_seconds: 1,
        ..Details::default()
    }))
}

/// The revision is gone; a paged caller gets a token to go on with what is there now.
fn expired(error: &ListError, options: &ListOptions) -> Status {
    match error {
        ListError::Compacted(_) if !options.continue_token.is_empty() => Status::expired(
            "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.",
        ),
        ListError::Compacted(_) => Status::expired("The resourceVersion for the provided list is too old."),
        ListError::Future { .. } => Status::timeout("Too large resource version"),
    }
}
