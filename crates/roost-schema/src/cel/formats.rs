//! Named formats: checks of text that say what is wrong.

use roost_object::field::quote;
use roost_object::names;

use super::libraries::{Builtin, Invocation};
use super::value::{Outcome, Value};
use crate::structural::Type;
use crate::validate::format::Format;
use roost_object::url::Url;

/// A format of text by name.
pub struct NamedFormat {
    name: &'static str,
    check: fn(&str) -> Vec<String>,
    /// How long a pattern would be that checks the same, by which costs are counted.
    pub(crate) max_regex_size: u64,
}

impl std::fmt::Debug for NamedFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

static FORMATS: &[NamedFormat] = &[
    NamedFormat { name: "dns1123Label", check: names::is_dns1123_label, max_regex_size: 30 },
    NamedFormat { name: "dns1123Subdomain", check: names::is_dns1123_subdomain, max_regex_size: 60 },
    NamedFormat { name: "dns1035Label", check: names::is_dns1035_label, max_regex_size: 30 },
    NamedFormat { name: "qualifiedName", check: names::is_qualified_name, max_regex_size: 60 },
    NamedFormat {
        name: "dns1123LabelPrefix",
        check: |text| names::is_dns1123_label(&as_name(text)),
        max_regex_size: 30,
    },
    NamedFormat {
        name: "dns1123SubdomainPrefix",
        check: |text| names::is_dns1123_subdomain(&as_name(text)),
        max_regex_size: 60,
    },
    NamedFormat {
        name: "dns1035LabelPrefix",
        check: |text| names::is_dns1035_label(&as_name(text)),
        max_regex_size: 30,
    },
    NamedFormat { name: "labelValue", check: names::is_label_value, max_regex_size: 40 },
    NamedFormat {
        name: "uri",
        check: |text| match Url::parse(text) {
            Ok(_) => Vec::new(),
            Err(words) => vec![format!("parse {}: {words}", quote(text))],
        },
        max_regex_size: 1103,
    },
    NamedFormat {
        name: "uuid",
        check: |text| plain("uuid", text, "does not match the UUID format"),
        max_regex_size: 70,
    },
    NamedFormat { name: "byte", check: |text| plain("byte", text, "invalid base64"), max_regex_size: 84 },
    NamedFormat { name: "date", check: |text| plain("date", text, "invalid date"), max_regex_size: 71 },
    NamedFormat { name: "datetime", check: |text| plain("datetime", text, "invalid datetime"), max_regex_size: 71 },
];

/// A prefix as the name it could become: a trailing dash is followed by something.
fn as_name(prefix: &str) -> String {
    match prefix.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => {
            let mut characters = rest.chars();
            characters.next_back();
            format!("{}a", characters.as_str())
        }
        _ => prefix.to_owned(),
    }
}

fn plain(format: &str, text: &str, words: &str) -> Vec<String> {
    let accepted = Format::parse(format, Type::String).is_some_and(|format| format.accepts(text));
    if accepted { Vec::new() } else { vec![words.to_owned()] }
}

pub(super) fn builtin(function: &str) -> Option<Builtin> {
    match function {
        "validate" => Some(validate),
        "format.named" => Some(|call| match call.args {
            [Value::String(name)] => {
                let format = FORMATS.iter().find(|format| format.name == name.as_ref());
                Ok(format.map_or(Value::Optional(None), |format| Value::some(Value::Format(format))))
            }
            _ => call.no_such_overload(),
        }),
        _ => {
            function.strip_prefix("format.").filter(|name| FORMATS.iter().any(|known| known.name == *name)).map(|_| {
                let named: Builtin = |call| {
                    let name = call.function.strip_prefix("format.").unwrap_or_default();
                    match FORMATS.iter().find(|format| format.name == name) {
                        Some(format) => Ok(Value::Format(format)),
                        None => call.no_such_overload(),
                    }
                };
                named
            })
        }
    }
}

fn validate<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    let [Value::Format(format), Value::String(text)] = call.args else { return call.no_such_overload() };
    let problems = (format.check)(text);
    if problems.is_empty() {
        return Ok(Value::Optional(None));
    }
    Ok(Value::some(Value::list(problems.into_iter().map(Value::text).collect())))
}
