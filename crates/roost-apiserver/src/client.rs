//! A `kube::Client` straight on a tenant's service: no port, no TLS, the same answers.

use std::sync::Arc;

use http::Request;
use roost_access::User;
use tower::ServiceExt as _;

use crate::access::InProcess;
use crate::cluster::Cluster;
use crate::service::ApiService;

impl Cluster {
    /// A client that acts as a superuser.
    pub fn client(self: &Arc<Self>) -> kube::Client {
        self.client_as(User::new("system:admin", ["system:masters", "system:authenticated"]))
    }

    /// A client that acts as the given user, with that user's rights.
    pub fn client_as(self: &Arc<Self>, user: User) -> kube::Client {
        let service = ApiService::new(Arc::clone(self)).map_request(move |mut request: Request<kube::client::Body>| {
            request.extensions_mut().insert(InProcess(user.clone()));
            request
        });
        kube::Client::new(service, "default")
    }
}
