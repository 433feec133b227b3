//! The shared listener: hosted planes by the names they are published under, and the management plane if it is here.

use std::sync::Arc;

use roost_apiserver::{Host, Hosts};

use super::EmbeddedRuntime;

/// Who is behind the shared listener.
pub struct Front {
    /// Whom clients mean that name nobody in particular; without one they are turned away.
    pub management: Option<Host>,
    /// Where the others are.
    pub runtime: Arc<EmbeddedRuntime>,
}

impl Hosts for Front {
    async fn host(&self, server_name: Option<&str>) -> Option<Host> {
        if let Some(name) = server_name
            && let Some(host) = self.runtime.host_named(name).await
        {
            return Some(host);
        }
        self.management.clone()
    }
}
