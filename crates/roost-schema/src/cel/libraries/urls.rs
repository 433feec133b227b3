//! URLs.

use std::collections::BTreeMap;
use std::sync::Arc;

use roost_object::field::quote;

use super::{Builtin, Invocation};
use crate::cel::value::{EvalError, Key, Map, Outcome, Text, Value};
use roost_object::url::Url;

pub(super) fn builtin(function: &str) -> Option<Builtin> {
    Some(match function {
        "url" => parse,
        "isURL" => |call| match call.args {
            [Value::String(text)] => Ok(Value::Bool(Url::parse(text).is_ok())),
            _ => call.no_such_overload(),
        },
        "getScheme" => |call| part(call, |url| &url.scheme),
        "getHost" => |call| part(call, |url| &url.host),
        "getHostname" => |call| part(call, Url::hostname),
        "getPort" => |call| part(call, Url::port),
        "getEscapedPath" => |call| part(call, |url| &url.escaped_path),
        "getQuery" => query,
        _ => return None,
    })
}

fn parse<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    let [Value::String(text)] = call.args else { return call.no_such_overload() };
    // What is no address of a request is refused, though a fragment is read as one only afterwards.
    match Url::parse(text).and_then(|_| Url::parse_with_fragment(text)) {
        Ok(url) => Ok(Value::Url(Arc::new(url))),
        Err(words) => {
            let shown = quote(text);
            Err(EvalError::Failed(format!("URL parse error during conversion from string: parse {shown}: {words}")))
        }
    }
}

fn part<'a>(call: &Invocation<'_, 'a>, pick: fn(&Url) -> &str) -> Outcome<'a> {
    match call.args {
        [Value::Url(url)] => Ok(Value::text(pick(url))),
        _ => call.no_such_overload(),
    }
}

fn query<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    let [Value::Url(url)] = call.args else { return call.no_such_overload() };
    let mut entries = BTreeMap::new();
    for (key, values) in url.query() {
        let values = values.into_iter().map(Value::text).collect();
        entries.insert(Key::String(Text::Shared(key.into())), Value::list(values));
    }
    Ok(Value::Map(Map::Values(Arc::new(entries))))
}
