//! The valid objects that updates start from, on both servers.

use http::Method;
use serde_json::Value;

use super::schema::{Kind, NAMESPACE};
use crate::client::{Call, Client, ClientError};
use crate::differential::suite::{self, Servers, SuiteError};
use crate::differential::table::{self, TableError};

/// What each server wrote itself, and the variable that holds it.
const OF_THE_SERVER: [(&str, &str); 3] =
    [("uid", "uid"), ("resourceVersion", "version"), ("creationTimestamp", "created")];

/// An object that both servers have.
#[derive(Debug)]
pub(super) struct Valid {
    /// Where it is read and written.
    pub(super) path: String,
    /// Where what each server wrote itself can be read.
    pub(super) whole: String,
    /// The variables that stand for it, and the pointers to it.
    pub(super) captures: Vec<(String, String)>,
    /// The object as stock has it, with variables for what each server wrote itself.
    pub(super) object: Value,
}

/// Creates the valid objects of each kind on both servers, where they are not there yet.
pub(super) async fn create(servers: &Servers, kinds: &[Kind]) -> Result<Vec<Vec<Valid>>, SuiteError> {
    for (name, client) in [("stock", &servers.stock), ("ours", &servers.ours)] {
        suite::prepare_namespace(client, name, NAMESPACE).await?;
    }
    let objects = read()?;
    let mut valid = Vec::new();
    for kind in kinds {
        let mut of_kind = Vec::new();
        for object in &objects {
            let is_of_kind = object["apiVersion"] == kind.api_version && object["kind"] == kind.whole();
            let Some(name) = object.pointer("/metadata/name").and_then(Value::as_str).filter(|_| is_of_kind) else {
                continue;
            };
            let path = format!("{}/{name}", kind.collection);
            tokio::try_join!(
                create_missing(&servers.stock, kind, &path, object),
                create_missing(&servers.ours, kind, &path, object),
            )?;
            let whole = fetch(&servers.stock, path).await?;
            of_kind.push(match &kind.part {
                Some(part) => part_of(&servers.stock, &part.name, whole).await?,
                None => whole,
            });
        }
        valid.push(of_kind);
    }
    Ok(valid)
}

/// What stands beside an object, or the object where only it can be read.
async fn part_of(stock: &Client, part: &str, whole: Valid) -> Result<Valid, SuiteError> {
    let path = format!("{}/{part}", whole.path);
    match fetch(stock, path.clone()).await {
        Err(SuiteError::Valid { .. }) => Ok(Valid { path, ..whole }),
        read => read,
    }
}

fn read() -> Result<Vec<Value>, TableError> {
    let path = suite::directory().join("random").join("objects.yaml");
    let text = std::fs::read_to_string(&path).map_err(|source| TableError::Read { path: path.clone(), source })?;
    table::parse(&path, &text)
}

async fn create_missing(client: &Client, kind: &Kind, path: &str, object: &Value) -> Result<(), ClientError> {
    if !client.send(Call::get(path)).await?.status.is_success() {
        client.send(Call::new(Method::POST, kind.collection.as_str()).json(object)).await?;
    }
    Ok(())
}

/// Reads it from stock, which is right; what ours lacks shows itself in every update.
async fn fetch(stock: &Client, path: String) -> Result<Valid, SuiteError> {
    let answer = stock.send(Call::get(path.as_str())).await?;
    if !answer.status.is_success() {
        let answer = String::from_utf8_lossy(&answer.body).into_owned();
        return Err(SuiteError::Valid { name: path, answer });
    }
    let mut object = answer.json();
    let mut captures: Vec<(String, String)> =
        OF_THE_SERVER.iter().map(|(field, variable)| ((*variable).to_owned(), format!("/metadata/{field}"))).collect();
    if let Some(status) = object.get_mut("status") {
        take_times(status, "/status", &mut captures);
    }
    if let Some(created) = object.pointer("/metadata/creationTimestamp").cloned() {
        replace(&mut object, &created, &Value::from("${created}"));
    }
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.remove("managedFields");
        for (field, variable) in OF_THE_SERVER {
            metadata.insert(field.to_owned(), Value::from(format!("${{{variable}}}")));
        }
    }
    Ok(Valid { whole: path.clone(), path, object, captures })
}

/// Puts variables in the place of the times in a status, which each server wrote at a moment of its own.
fn take_times(value: &mut Value, path: &str, captures: &mut Vec<(String, String)>) {
    match value {
        Value::Array(elements) => {
            for (number, element) in elements.iter_mut().enumerate() {
                take_times(element, &format!("{path}/{number}"), captures);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                take_times(field, &format!("{path}/{name}"), captures);
            }
        }
        Value::String(text) if roost_object::time::Timestamp::parse(text).is_ok() => {
            let variable = format!("time{}", captures.len());
            *text = format!("${{{variable}}}");
            captures.push((variable, path.to_owned()));
        }
        _ => {}
    }
}

/// Puts a variable in the place of a text. What a server did as it created the object has the time of the creation, and the
/// servers do not create theirs in the same second.
fn replace(value: &mut Value, text: &Value, variable: &Value) {
    match value {
        Value::Array(elements) => elements.iter_mut().for_each(|element| replace(element, text, variable)),
        Value::Object(fields) => fields.values_mut().for_each(|field| replace(field, text, variable)),
        value if value == text => *value = variable.clone(),
        _ => {}
    }
}
