//! The look at a body's `apiVersion` and `kind` that comes before everything else.

use super::{Kind, Reader, Source, SyntaxError};

/// What a body says it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypeMeta {
    /// `apiVersion`; empty when missing.
    pub api_version: String,
    /// `kind`; empty when missing.
    pub kind: String,
}

/// Why a body does not say what it is, in the words of the stock server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TypeMetaError {
    /// The body is not JSON.
    #[error("couldn't get version/kind; json parse error: {0}")]
    Syntax(SyntaxError),
    /// The body is JSON, but no object.
    #[error(
        "couldn't get version/kind; json parse error: json: cannot unmarshal {0} into Go value of type struct {{ \
         APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
    )]
    NotAnObject(&'static str),
    /// One of the two fields is no text.
    #[error(
        "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go struct field .{field} of \
         type string"
    )]
    NotAString {
        /// What was found.
        found: &'static str,
        /// `apiVersion` or `kind`.
        field: &'static str,
    },
    /// The version has more than one slash.
    #[error("unexpected GroupVersion string: {0}")]
    Version(String),
}

/// Reads `apiVersion` and `kind` of a JSON document and checks that the whole document is JSON.
pub fn type_meta(bytes: &[u8]) -> Result<TypeMeta, TypeMetaError> {
    let mut reader = Reader::new(bytes);
    let read = read(&mut reader).map_err(TypeMetaError::Syntax)?;
    reader.finish().map_err(TypeMetaError::Syntax)?;
    let found = read?;
    if found.api_version.matches('/').count() > 1 {
        return Err(TypeMetaError::Version(found.api_version));
    }
    Ok(found)
}

fn read(reader: &mut Reader<'_>) -> Result<Result<TypeMeta, TypeMetaError>, SyntaxError> {
    let mut found = TypeMeta::default();
    let mut complaint = None;
    match reader.peek()? {
        Kind::Object => {
            reader.enter()?;
            while let Some(key) = reader.key()? {
                // Here Go does not mind the case.
                let (target, field) = match &*key {
                    key if key.eq_ignore_ascii_case("apiVersion") => (&mut found.api_version, "apiVersion"),
                    key if key.eq_ignore_ascii_case("kind") => (&mut found.kind, "kind"),
                    _ => {
                        reader.skip()?;
                        continue;
                    }
                };
                match reader.peek()? {
                    Kind::String => *target = reader.string()?.into_owned(),
                    kind => {
                        if kind != Kind::Null && complaint.is_none() {
                            complaint = Some(TypeMetaError::NotAString { found: kind.go(), field });
                        }
                        reader.skip()?;
                    }
                }
            }
        }
        Kind::Null => reader.skip()?,
        kind => {
            reader.skip()?;
            complaint = Some(TypeMetaError::NotAnObject(kind.go()));
        }
    }
    Ok(complaint.map_or(Ok(found), Err))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_says_what_it_is_or_is_refused() {
        let fine = type_meta(br#"{"a":[1],"kind":"Pod","apiVersion":"v1"}"#).unwrap();
        assert_eq!(fine, TypeMeta { api_version: "v1".into(), kind: "Pod".into() });
        assert_eq!(type_meta(b"null").unwrap(), TypeMeta::default());
        let cases = [
            ("{", "couldn't get version/kind; json parse error: unexpected end of JSON input"),
            (
                r#"{"kind":5}"#,
                "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string",
            ),
            (
                "[]",
                "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }",
            ),
            (r#"{"apiVersion":"a/b/c"}"#, "unexpected GroupVersion string: a/b/c"),
        ];
        for (text, expected) in cases {
            assert_eq!(type_meta(text.as_bytes()).unwrap_err().to_string(), expected);
        }
    }
}
