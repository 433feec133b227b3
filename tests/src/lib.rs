//! End-to-end tests: Roost beside the stock parts.
