//! Each rule, broken once.
