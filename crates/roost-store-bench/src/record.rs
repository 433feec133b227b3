//! Owns how a record is laid out in a database's value: the same for all databases.

use roost_store::journal::Record;

const PUT: u8 = 1;
const DELETE: u8 = 2;
const DROP_TENANT: u8 = 3;

/// Kind, lengths of the two names, names, value.
pub(crate) fn encode(record: Record<'_>, bytes: &mut Vec<u8>) {
    let (kind, collection, name, value) = match record {
        Record::Put { collection, name, value } => (PUT, collection, name, value),
        Record::Delete { collection, name } => (DELETE, collection, name, &[][..]),
        Record::DropTenant { tenant } => (DROP_TENANT, tenant, "", &[][..]),
    };
    bytes.clear();
    bytes.push(kind);
    bytes.extend_from_slice(&(collection.len() as u16).to_le_bytes());
    bytes.extend_from_slice(&(name.len() as u16).to_le_bytes());
    bytes.extend_from_slice(collection.as_bytes());
    bytes.extend_from_slice(name.as_bytes());
    bytes.extend_from_slice(value);
}

/// None for bytes that `encode` did not make.
pub(crate) fn decode(bytes: &[u8]) -> Option<Record<'_>> {
    let (kind, rest) = bytes.split_first()?;
    let (collection_length, rest) = rest.split_first_chunk()?;
    let (name_length, rest) = rest.split_first_chunk()?;
    let (collection, rest) = rest.split_at_checked(u16::from_le_bytes(*collection_length).into())?;
    let (name, value) = rest.split_at_checked(u16::from_le_bytes(*name_length).into())?;
    let collection = std::str::from_utf8(collection).ok()?;
    let name = std::str::from_utf8(name).ok()?;
    match *kind {
        PUT => Some(Record::Put { collection, name, value }),
        DELETE => Some(Record::Delete { collection, name }),
        DROP_TENANT => Some(Record::DropTenant { tenant: collection }),
        _ => None,
    }
}
