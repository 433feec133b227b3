//! The shared listener: the management plane, and hosted planes by the names they are published under.

use std::sync::Arc;

use roost_apiserver::{Host, Hosts};

use super::EmbeddedRuntime;

/// Who is behind the management plane's own listener.
pub struct Front {
    /// Whom clients mean that name nobody in particular.
    pub management: Host,
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
        Some(self.management.clone())
    }
}
