//! Protobuf without its schema: enough to compare two messages field by field.

use serde_json::{Map, Value, json};

/// The prefix of every protobuf body of Kubernetes.
const MAGIC: &[u8] = b"k8s\0";

/// Deeper messages are shown as bytes.
const LARGEST_DEPTH: usize = 30;

/// Numbers in this range are seconds since 1970, not counts.
const SECONDS: std::ops::Range<u64> = 1_600_000_000..4_000_000_000;

/// Describes a protobuf body as JSON: field numbers and what they hold.
pub fn describe(body: &[u8]) -> Value {
    match body.strip_prefix(MAGIC) {
        Some(message) => json!({"protobuf": message_of(message, LARGEST_DEPTH).unwrap_or_else(|| bytes_of(message))}),
        None => json!({"without the prefix": message_of(body, LARGEST_DEPTH).unwrap_or_else(|| bytes_of(body))}),
    }
}

fn bytes_of(bytes: &[u8]) -> Value {
    Value::from(String::from_utf8_lossy(bytes).into_owned())
}

fn message_of(mut bytes: &[u8], depth: usize) -> Option<Value> {
    if depth == 0 {
        return None;
    }
    let mut fields: Map<String, Value> = Map::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        let number = key >> 3;
        if number == 0 {
            return None;
        }
        let value = match key & 7 {
            0 => number_of(varint(&mut bytes)?),
            1 => fixed::<8>(&mut bytes).map(|value| json!(f64::from_le_bytes(value)))?,
            2 => {
                let length = usize::try_from(varint(&mut bytes)?).ok()?;
                let (content, rest) = bytes.split_at_checked(length)?;
                bytes = rest;
                content_of(content, depth - 1)
            }
            5 => fixed::<4>(&mut bytes).map(|value| json!(u32::from_le_bytes(value)))?,
            _ => return None,
        };
        // Zero-padded numbers sort as numbers do.
        let list = fields.entry(format!("{number:03}")).or_insert_with(|| json!([]));
        list.as_array_mut()?.push(value);
    }
    Some(Value::Object(fields))
}

fn content_of(content: &[u8], depth: usize) -> Value {
    if let Ok(text) = std::str::from_utf8(content)
        && !text.chars().any(|letter| letter.is_control() && !matches!(letter, '\n' | '\t'))
        && !looks_like_message(content)
    {
        return Value::from(text);
    }
    if let Some(body) = content.strip_prefix(MAGIC) {
        return json!({"protobuf": message_of(body, depth)});
    }
    message_of(content, depth).unwrap_or_else(|| bytes_of(content))
}

/// A text that begins with a line break may be a message whose first field is a string; no text of an API object does.
fn looks_like_message(content: &[u8]) -> bool {
    content.first().is_some_and(|first| *first == b'\n' || *first == b'\t') && message_of(content, 2).is_some()
}

fn number_of(value: u64) -> Value {
    if SECONDS.contains(&value) { Value::from("<time>") } else { Value::from(value) }
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for position in 0..10 {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(first & 0x7f).checked_shl(position * 7)?;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn fixed<const LENGTH: usize>(bytes: &mut &[u8]) -> Option<[u8; LENGTH]> {
    let (value, rest) = bytes.split_first_chunk::<LENGTH>()?;
    *bytes = rest;
    Some(*value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::describe;

    #[test]
    fn fields_are_shown_by_number() {
        let body = b"k8s\0\x0a\x0c\x0a\x02v1\x12\x06Secret\x18\x05";
        assert_eq!(describe(body), json!({"protobuf": {"001": [{"001": ["v1"], "002": ["Secret"]}], "003": [5]}}));
    }

    #[test]
    fn rubbish_is_shown_as_text() {
        assert_eq!(describe(b"hello"), json!({"without the prefix": "hello"}));
    }
}
