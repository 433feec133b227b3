//! Keys, certificates, signing requests and kubeconfigs.
