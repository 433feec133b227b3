//! A Kubernetes API server as a library.
