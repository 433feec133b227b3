//! A plane that is awake.

use std::sync::Arc;

use parking_lot::Mutex;
use roost_access::token::TokenIssuer;
use roost_apiserver::{Cluster, ClusterConfig, Host, Identity, ServingCertificate, tls_config};
use roost_pki::{Certificate, CertificateAuthority, CertificateBundle, Issued, PrivateKey, PublicKey};
use roost_store::Store;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use crate::RuntimeError;
use crate::plane::{Health, Plane, PlaneKeys};

/// A plane's API in this process.
pub(super) struct Tenant {
    pub(super) host: Host,
    certificate: Arc<ServingCertificate>,
    /// The keys in use, to see whether others are wanted.
    keys: Mutex<PlaneKeys>,
}

impl Tenant {
    pub(super) async fn start(store: &Store, plane: &Plane) -> Result<Tenant, RuntimeError> {
        let (chain, key) = serving(&plane.keys)?;
        let certificate = ServingCertificate::new(chain, key).map_err(RuntimeError::Tls)?;
        let tls = Arc::new(tls_config(Arc::clone(&certificate)).map_err(RuntimeError::Tls)?);
        let config = ClusterConfig {
            service_cidr: plane.service_network,
            encryption_key: plane.encryption_key.as_ref().map(|key| *key.expose()),
            advertised: plane.advertised.map(|address| (address, plane.port)),
            workloads: true,
            ..ClusterConfig::default()
        };
        let cluster = Cluster::new(&plane.id.to_string(), store.clone(), config, identity(&plane.keys)?);
        cluster.bootstrap().await.map_err(|status| RuntimeError::Bootstrap(status.message))?;
        Ok(Tenant { host: Host { cluster, tls }, certificate, keys: Mutex::new(plane.keys.clone()) })
    }

    /// Takes over other keys, without a connection being dropped. True when they were others.
    pub(super) fn update(&self, plane: &Plane) -> Result<bool, RuntimeError> {
        let mut keys = self.keys.lock();
        if *keys == plane.keys {
            return Ok(false);
        }
        let (chain, key) = serving(&plane.keys)?;
        self.host.cluster.set_identity(identity(&plane.keys)?);
        self.certificate.replace(chain, key).map_err(RuntimeError::Tls)?;
        keys.clone_from(&plane.keys);
        Ok(true)
    }

    /// Asks the API itself.
    pub(super) async fn health(&self) -> Health {
        let Ok(request) = http::Request::get("/readyz").body(Vec::new()) else {
            return Health::Failing("/readyz is not a path".to_owned());
        };
        match self.host.cluster.client().request_text(request).await {
            Ok(_) => Health::Ready,
            Err(error) => Health::Failing(error.to_string()),
        }
    }
}

fn serving(keys: &PlaneKeys) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), RuntimeError> {
    let unusable = |source| RuntimeError::Keys { what: "the serving certificate", source };
    let chain = CertificateBundle::from_pem(&keys.serving_certificate).map_err(unusable)?;
    let key = PrivateKey::from_pem(keys.serving_key.expose()).map_err(unusable)?;
    let der = key.to_pkcs8_der().map_err(unusable)?;
    let chain = chain.certificates().iter().map(roost_pki::Certificate::to_tls).collect();
    Ok((chain, PrivateKeyDer::Pkcs8(der.into_exposed().into())))
}

fn identity(keys: &PlaneKeys) -> Result<Identity, RuntimeError> {
    let unusable = |what| move |source| RuntimeError::Keys { what, source };
    let token_key = PrivateKey::from_pem(keys.token_key.expose()).map_err(unusable("the token signing key"))?;
    let mut token_trust = vec![token_key.public_key().clone()];
    for key in PublicKey::all_from_pem(&keys.token_trust).map_err(unusable("the keys that tokens are verified with"))? {
        if !token_trust.contains(&key) {
            token_trust.push(key);
        }
    }
    let kubelet_client = Issued {
        certificate: Certificate::from_pem(&keys.kubelet_client_certificate)
            .map_err(unusable("the certificate for kubelets"))?,
        key: PrivateKey::from_pem(keys.kubelet_client_key.expose()).map_err(unusable("the key for kubelets"))?,
    };
    Ok(Identity {
        authority: CertificateAuthority::from_pem(&keys.signer_certificate, &keys.signer_key)
            .map_err(unusable("the authority that signs certificate requests"))?,
        serving_trust: CertificateBundle::from_pem(&keys.serving_trust)
            .map_err(unusable("the trust bundle of the serving certificate"))?,
        client_trust: CertificateBundle::from_pem(&keys.client_trust)
            .map_err(unusable("the trust bundle for client certificates"))?,
        token_issuer: TokenIssuer::new(keys.issuer.clone(), token_key),
        token_trust,
        kubelet_client: Some(kubelet_client),
    })
}
