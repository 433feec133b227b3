//! The built-in kinds as generated tables, and the codecs that read them: JSON as Go reads it, protobuf, discovery, OpenAPI.
