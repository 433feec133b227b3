//! The claims that every JSON web token has.

use serde_json::{Map, Value, json};

use super::Error;

/// A named object with its uid, as tokens refer to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ObjectReference {
    /// The object's name.
    pub name: String,
    /// The object's uid; empty when it is not known.
    pub uid: String,
}

impl ObjectReference {
    /// Refers to an object by its metadata.
    pub fn of(object: &Value) -> Self {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        Self { name: text("name"), uid: text("uid") }
    }

    pub(super) fn read(value: &Value) -> Result<Self, Error> {
        let object = match value {
            Value::Object(object) => object,
            Value::Null => return Ok(Self::default()),
            _ => return Err(malformed()),
        };
        Ok(Self { name: text(object, "name")?, uid: text(object, "uid")? })
    }

    pub(super) fn write(&self) -> Value {
        let mut object = Map::new();
        insert_text(&mut object, "name", &self.name);
        insert_text(&mut object, "uid", &self.uid);
        Value::Object(object)
    }
}

/// Who made a token, for whom, and when it is good. Times are seconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StandardClaims {
    /// Who made the token.
    pub issuer: String,
    /// Whom it speaks for.
    pub subject: String,
    /// Who may accept it.
    pub audiences: Vec<String>,
    /// When it ends.
    pub expires_at: Option<i64>,
    /// When it begins.
    pub not_before: Option<i64>,
    /// When it was made.
    pub issued_at: Option<i64>,
    /// Its own name.
    pub id: String,
}

impl StandardClaims {
    pub(super) fn read(claims: &Map<String, Value>) -> Result<Self, Error> {
        let audiences = match claims.get("aud") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::String(one)) => vec![one.clone()],
            Some(Value::Array(several)) => {
                let texts: Option<Vec<String>> = several.iter().map(|one| one.as_str().map(str::to_owned)).collect();
                texts.ok_or_else(malformed)?
            }
            Some(_) => return Err(malformed()),
        };
        Ok(Self {
            issuer: text(claims, "iss")?,
            subject: text(claims, "sub")?,
            audiences,
            expires_at: date(claims, "exp")?,
            not_before: date(claims, "nbf")?,
            issued_at: date(claims, "iat")?,
            id: text(claims, "jti")?,
        })
    }

    pub(super) fn write(&self, claims: &mut Map<String, Value>) {
        insert_text(claims, "iss", &self.issuer);
        insert_text(claims, "sub", &self.subject);
        insert_text(claims, "jti", &self.id);
        if !self.audiences.is_empty() {
            claims.insert("aud".into(), json!(self.audiences));
        }
        for (name, date) in [("exp", self.expires_at), ("nbf", self.not_before), ("iat", self.issued_at)] {
            if let Some(date) = date {
                claims.insert(name.into(), json!(date));
            }
        }
    }

    pub(super) fn check_time(&self, now: i64) -> Result<(), Error> {
        if self.not_before.is_some_and(|begin| now.saturating_add(super::LEEWAY) < begin) {
            return Err(Error::new("service account token is not valid yet"));
        }
        if self.expires_at.is_some_and(|end| now.saturating_sub(super::LEEWAY) > end) {
            return Err(Error::new("service account token has expired"));
        }
        if self.issued_at.is_some_and(|made| now.saturating_add(super::LEEWAY) < made) {
            return Err(Error::new("service account token is issued in the future"));
        }
        Ok(())
    }
}

pub(super) fn malformed() -> Error {
    Error::new("token claims could not be read")
}

pub(super) fn text(object: &Map<String, Value>, name: &str) -> Result<String, Error> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(malformed()),
    }
}

pub(super) fn date(object: &Map<String, Value>, name: &str) -> Result<Option<i64>, Error> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Number(number)) => {
            let whole = number.as_i64().or_else(|| number.as_f64().map(|float| float as i64));
            whole.map(Some).ok_or_else(malformed)
        }
        Some(_) => Err(malformed()),
    }
}

pub(super) fn insert_text(object: &mut Map<String, Value>, name: &str, text: &str) {
    if !text.is_empty() {
        object.insert(name.to_owned(), text.into());
    }
}
