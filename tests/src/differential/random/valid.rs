//! The valid objects that updates start from, on both servers.

use http::Method;
use serde_json::Value;

use super::schema::{Kind, NAMESPACE};
use crate::client::{Call, Client, ClientError};
use crate::differential::suite::{self, Servers, SuiteError};
use crate::differential::table::{self, TableError};

/// What each server wrote itself, and the variable that holds it.
pub(super) const OF_THE_SERVER: [(&str, &str); 3] =
    [("uid", "uid"), ("resourceVersion", "version"), ("creationTimestamp", "created")];

/// An object that both servers have.
#[derive(Debug)]
pub(super) struct Valid {
    /// Its path.
    pub(super) path: String,
    /// The object as stock has it, with variables for what each server wrote itself.
    pub(super) object: Value,
}

/// Creates the valid object of each kind on both servers, where it is not there yet.
pub(super) async fn create(servers: &Servers, kinds: &[Kind]) -> Result<Vec<Option<Valid>>, SuiteError> {
    for (name, client) in [("stock", &servers.stock), ("ours", &servers.ours)] {
        suite::prepare_namespace(client, name, NAMESPACE).await?;
    }
    let objects = read()?;
    let of_kind = |kind: &Kind| {
        let object =
            objects.iter().find(|object| object["apiVersion"] == kind.api_version && object["kind"] == kind.name)?;
        Some((format!("{}/{}", kind.collection, object.pointer("/metadata/name")?.as_str()?), object))
    };
    let wanted: Vec<Option<(String, &Value)>> = kinds.iter().map(of_kind).collect();
    for (kind, (path, object)) in kinds.iter().zip(&wanted).filter_map(|(kind, wanted)| Some((kind, wanted.as_ref()?)))
    {
        tokio::try_join!(
            create_missing(&servers.stock, kind, path, object),
            create_missing(&servers.ours, kind, path, object),
        )?;
    }
    let mut valid = Vec::new();
    for wanted in wanted {
        valid.push(match wanted {
            Some((path, _)) => Some(fetch(&servers.stock, path).await?),
            None => None,
        });
    }
    Ok(valid)
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
    if let Some(created) = object.pointer("/metadata/creationTimestamp").cloned() {
        replace(&mut object, &created, &Value::from("${created}"));
    }
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.remove("managedFields");
        for (field, variable) in OF_THE_SERVER {
            metadata.insert(field.to_owned(), Value::from(format!("${{{variable}}}")));
        }
    }
    Ok(Valid { path, object })
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
