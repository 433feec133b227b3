//! How kinds show themselves in a table: the columns of `kubectl get`.
