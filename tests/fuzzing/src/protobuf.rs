//! Objects in protobuf.

use roost_kinds::protobuf::{Envelope, decode, encode};

/// A body in protobuf of whatever kind its envelope names; what can be read stays what it is in protobuf and in JSON.
pub fn protobuf(data: &[u8]) {
    let Ok(envelope) = Envelope::open(data) else { return };
    let Some(ty) = roost_kinds::type_of(&envelope.api_version, &envelope.kind) else { return };
    let Ok(object) = decode(data, Some(ty)) else { return };
    let again = decode(&encode(&object, ty), Some(ty));
    assert_eq!(again.as_ref(), Ok(&object), "an object stays what it is in protobuf");
    let mut written = Vec::new();
    roost_kinds::json::write(&mut written, &object, ty);
    assert!(roost_object::json::read(&written).is_ok(), "an object can be written as JSON");
}
