//! TEMPORARY shims while neighbours land.
pub(crate) mod yaml {
    use roost_object::json::{self, Document, SyntaxError};
    pub(crate) fn read(bytes: &[u8]) -> Result<Document, SyntaxError> { json::read(bytes) }
    pub(crate) fn write(value: &serde_json::Value) -> String { value.to_string() }
}
