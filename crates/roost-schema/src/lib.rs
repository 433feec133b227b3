//! Custom resources: structural schemas, pruning, defaulting, validation, CEL rules and printer columns.
