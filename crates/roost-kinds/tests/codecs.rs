//! Objects that Go wrote in both encodings: the codecs here must agree with it to the byte.

#![expect(clippy::unwrap_used, reason = "a broken fixture may fail the test anywhere")]

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use roost_kinds::{Type, json, protobuf, type_of};
use serde_json::Value;

struct Fixture {
    name: String,
    api_version: String,
    kind: String,
    json: Value,
    protobuf: Vec<u8>,
}

impl Fixture {
    fn ty(&self) -> &'static Type {
        type_of(&self.api_version, &self.kind).unwrap()
    }
}

fn fixtures() -> Vec<Fixture> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let mut fixture: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let text = |name: &str| fixture[name].as_str().unwrap().to_owned();
        found.push(Fixture {
            name: path.file_stem().unwrap().to_string_lossy().into_owned(),
            api_version: text("apiVersion"),
            kind: text("kind"),
            protobuf: STANDARD.decode(text("protobuf")).unwrap(),
            json: fixture["json"].take(),
        });
    }
    assert!(found.len() >= 10);
    found
}

fn none_differs(check: impl Fn(&Fixture) -> Result<(), String>) {
    let differing: Vec<_> = fixtures()
        .iter()
        .filter_map(|fixture| check(fixture).err().map(|what| format!("{}: {what}", fixture.name)))
        .collect();
    assert!(differing.is_empty(), "{} differ:\n{}", differing.len(), differing.join("\n"));
}

/// Names the first place where two values differ.
fn difference(path: &str, ours: &Value, stock: &Value) -> Option<String> {
    match (ours, stock) {
        (Value::Object(ours), Value::Object(stock)) => {
            let keys: std::collections::BTreeSet<_> = ours.keys().chain(stock.keys()).collect();
            keys.into_iter().find_map(|key| match (ours.get(key), stock.get(key)) {
                (Some(ours), Some(stock)) => difference(&format!("{path}.{key}"), ours, stock),
                (ours, stock) => Some(format!("{path}.{key}: ours {ours:?}, stock {stock:?}")),
            })
        }
        (Value::Array(ours), Value::Array(stock)) if ours.len() == stock.len() => {
            (0..ours.len()).find_map(|index| difference(&format!("{path}[{index}]"), &ours[index], &stock[index]))
        }
        _ if ours == stock => None,
        _ => Some(format!("{path}: ours {ours}, stock {stock}")),
    }
}

#[test]
fn protobuf_is_read_as_go_reads_it() {
    none_differs(|fixture| {
        let ours = protobuf::decode(&fixture.protobuf, None).map_err(|error| error.to_string())?;
        difference("", &ours, &fixture.json).map_or(Ok(()), Err)
    });
}

#[test]
fn protobuf_is_written_as_go_writes_it() {
    none_differs(|fixture| {
        let ours = protobuf::encode(&fixture.json, fixture.ty());
        if ours == fixture.protobuf {
            return Ok(());
        }
        let first = ours.iter().zip(&fixture.protobuf).position(|(ours, stock)| ours != stock);
        Err(format!("first difference at {first:?}"))
    });
}

#[test]
fn json_that_go_wrote_is_taken_as_it_is() {
    none_differs(|fixture| {
        let text = fixture.json.to_string();
        let decoded = json::read(text.as_bytes(), fixture.ty()).map_err(|error| error.to_string())?;
        assert_eq!(decoded.findings, [""; 0], "{}", fixture.name);
        difference("", &decoded.value, &fixture.json).map_or(Ok(()), Err)
    });
}

#[test]
fn broken_protobuf_is_refused_without_harm() {
    for fixture in fixtures() {
        for length in 0..fixture.protobuf.len().min(200) {
            let _ = protobuf::decode(&fixture.protobuf[..length], None);
            let mut flipped = fixture.protobuf.clone();
            flipped[length] ^= 0x55;
            let _ = protobuf::decode(&flipped, None);
        }
    }
}

#[test]
fn watch_frames_carry_their_length_and_an_object_in_its_envelope() {
    let fixture = fixtures().into_iter().find(|fixture| fixture.kind == "Secret").unwrap();
    let frame = protobuf::watch_frame("ADDED", &fixture.protobuf);
    let (length, body) = frame.split_first_chunk::<4>().unwrap();
    assert_eq!(u32::from_be_bytes(*length) as usize, body.len());
    let event = protobuf::decode_message(body, type_of("v1", "WatchEvent").unwrap()).unwrap();
    assert_eq!(event["type"], "ADDED");
    assert_eq!(event["object"], fixture.json);
}
