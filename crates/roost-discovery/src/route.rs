//! From the head of a request to the call that it is. Pure.

use std::time::Duration;

use http::{HeaderMap, Method, Uri};
use roost_host::identity::is_host_id;
use roost_host::wire::{BASE, PREFER_HEADER};

use crate::registry::FileQuery;

/// The longest that a host is left without an answer: less than what proxies on the way put up with.
const LONGEST_WAIT: Duration = Duration::from_secs(50);
/// Parameters of one request that are read.
const MAX_PARAMETERS: usize = 32;

/// A call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Health,
    Register {
        infra_env: String,
    },
    Instructions {
        infra_env: String,
        host: String,
    },
    Reply {
        infra_env: String,
        host: String,
    },
    Progress {
        infra_env: String,
        host: String,
    },
    Ignition {
        infra_env: String,
        host: String,
    },
    SendLogs {
        infra_env: String,
        host: String,
    },
    Logs {
        infra_env: String,
        host: String,
    },
    LogsProgress {
        infra_env: String,
        host: String,
    },
    File {
        infra_env: String,
        query: FileQuery,
    },
    Environment {
        infra_env: String,
    },
    /// The path is one of ours, but nobody calls it in this way.
    WrongMethod,
    /// Nothing of this service.
    Other,
}

/// Reads a request's method and address.
pub(crate) fn read(method: &Method, uri: &Uri) -> Call {
    let path = uri.path();
    if matches!(path, "/health" | "/ready" | "/live" | "/healthz") {
        return Call::Health;
    }
    let Some(rest) = path.strip_prefix(BASE) else { return Call::Other };
    let parts: Vec<&str> = rest.trim_start_matches('/').split('/').collect();
    let id = |text: &str| text.to_ascii_lowercase();
    let (wanted, call) = match parts.as_slice() {
        ["infra-envs", infra_env] => (Method::GET, Call::Environment { infra_env: id(infra_env) }),
        ["infra-envs", infra_env, "hosts"] => (Method::POST, Call::Register { infra_env: id(infra_env) }),
        ["infra-envs", infra_env, "downloads", "files"] => {
            (Method::GET, Call::File { infra_env: id(infra_env), query: file(uri) })
        }
        ["infra-envs", infra_env, "hosts", host, "instructions"] => {
            let (infra_env, host) = (id(infra_env), id(host));
            if *method == Method::POST {
                (Method::POST, Call::Reply { infra_env, host })
            } else {
                (Method::GET, Call::Instructions { infra_env, host })
            }
        }
        ["infra-envs", infra_env, "hosts", host, "progress"] => {
            (Method::PUT, Call::Progress { infra_env: id(infra_env), host: id(host) })
        }
        ["infra-envs", infra_env, "hosts", host, "logs-progress"] => {
            (Method::PUT, Call::LogsProgress { infra_env: id(infra_env), host: id(host) })
        }
        // Whose logs they are stands behind the path; the cluster is the host's own.
        ["clusters", _, "logs"] => {
            let named = |name: &str| id(&parameter(uri, name).unwrap_or_default());
            let (infra_env, host) = (named("infra_env_id"), named("host_id"));
            if *method == Method::POST {
                (Method::POST, Call::SendLogs { infra_env, host })
            } else {
                (Method::GET, Call::Logs { infra_env, host })
            }
        }
        // Upstream has this one path in the singular.
        ["infra-env" | "infra-envs", infra_env, "hosts", host, "downloads", "ignition"] => {
            (Method::GET, Call::Ignition { infra_env: id(infra_env), host: id(host) })
        }
        _ => return Call::Other,
    };
    if *method == wanted { call } else { Call::WrongMethod }
}

impl Call {
    /// The environment that a call is about.
    pub(crate) fn infra_env(&self) -> Option<&str> {
        match self {
            Call::Register { infra_env }
            | Call::Instructions { infra_env, .. }
            | Call::Reply { infra_env, .. }
            | Call::Progress { infra_env, .. }
            | Call::Ignition { infra_env, .. }
            | Call::SendLogs { infra_env, .. }
            | Call::Logs { infra_env, .. }
            | Call::LogsProgress { infra_env, .. }
            | Call::File { infra_env, .. }
            | Call::Environment { infra_env } => Some(infra_env),
            Call::Health | Call::WrongMethod | Call::Other => None,
        }
    }

    /// Whether all ids in a call can be ids.
    pub(crate) fn is_well_formed(&self) -> bool {
        let host = match self {
            Call::Instructions { host, .. }
            | Call::Reply { host, .. }
            | Call::Progress { host, .. }
            | Call::SendLogs { host, .. }
            | Call::Logs { host, .. }
            | Call::LogsProgress { host, .. }
            | Call::Ignition { host, .. } => Some(host),
            _ => None,
        };
        self.infra_env().is_none_or(is_host_id) && host.is_none_or(|host| is_host_id(host))
    }

    /// Whether the token may stand in the address, because what asks can send no header.
    pub(crate) fn is_download(&self) -> bool {
        matches!(self, Call::File { .. } | Call::Environment { .. } | Call::Ignition { .. } | Call::Logs { .. })
    }
}

fn file(uri: &Uri) -> FileQuery {
    FileQuery {
        name: parameter(uri, "file_name").unwrap_or_default(),
        address: parameter(uri, "mac").unwrap_or_default(),
        script_type: parameter(uri, "ipxe_script_type").unwrap_or_default(),
    }
}

/// A parameter of an address.
pub(crate) fn parameter(uri: &Uri, name: &str) -> Option<String> {
    let query = uri.query().unwrap_or_default();
    let mut pairs = form_urlencoded::parse(query.as_bytes()).take(MAX_PARAMETERS);
    pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

/// How long a host says that it waits.
pub(crate) fn wait(headers: &HeaderMap) -> Duration {
    let preferences = headers.get_all(PREFER_HEADER).iter().filter_map(|value| value.to_str().ok());
    let mut seconds = preferences
        .flat_map(|text| text.split([',', ';']))
        .filter_map(|preference| preference.trim().strip_prefix("wait=")?.parse::<u64>().ok());
    Duration::from_secs(seconds.next().unwrap_or_default()).min(LONGEST_WAIT)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const ONE: &str = "770980f8-07d0-4824-899c-0da82a7555a5";
    const TWO: &str = "234d87fe-73a2-85ec-e57a-3a0a3c8aaf1f";

    fn call(method: &Method, path: &str) -> Call {
        let path = path.replace("ONE", ONE).replace("TWO", TWO);
        read(method, &path.parse().unwrap())
    }

    #[test]
    fn paths_are_upstreams() {
        let (infra_env, host) = (ONE.to_owned(), TWO.to_owned());
        let base = "/api/assisted-install/v2";
        assert_eq!(
            call(&Method::POST, &format!("{base}/infra-envs/ONE/hosts")),
            Call::Register { infra_env: infra_env.clone() }
        );
        assert_eq!(
            call(&Method::GET, &format!("{base}/infra-envs/ONE/hosts/TWO/instructions?timestamp=1")),
            Call::Instructions { infra_env: infra_env.clone(), host: host.clone() }
        );
        assert_eq!(
            call(&Method::POST, &format!("{base}/infra-envs/ONE/hosts/TWO/instructions")),
            Call::Reply { infra_env: infra_env.clone(), host: host.clone() }
        );
        assert_eq!(
            call(&Method::GET, &format!("{base}/infra-env/ONE/hosts/TWO/downloads/ignition")),
            Call::Ignition { infra_env: infra_env.clone(), host }
        );
        let logs = format!("{base}/clusters/space%2Fdemo/logs?logs_type=host&infra_env_id=ONE&host_id=TWO");
        let (mine, theirs) = (infra_env.clone(), TWO.to_owned());
        assert_eq!(call(&Method::POST, &logs), Call::SendLogs { infra_env: mine.clone(), host: theirs.clone() });
        assert_eq!(call(&Method::GET, &logs), Call::Logs { infra_env: mine, host: theirs });
        assert!(!call(&Method::GET, &format!("{base}/clusters/demo/logs?host_id=TWO")).is_well_formed());
        let query = FileQuery {
            name: "ipxe-script".to_owned(),
            address: "52:54:00:00:00:01".to_owned(),
            ..FileQuery::default()
        };
        assert_eq!(
            call(
                &Method::GET,
                &format!("{base}/infra-envs/ONE/downloads/files?file_name=ipxe-script&mac=52%3A54:00:00:00:01")
            ),
            Call::File { infra_env, query }
        );
        assert_eq!(call(&Method::DELETE, &format!("{base}/infra-envs/ONE/hosts")), Call::WrongMethod);
        assert_eq!(call(&Method::GET, "/images/x/pxe-initrd"), Call::Other);
    }

    #[test]
    fn ids_are_ids() {
        let base = "/api/assisted-install/v2/infra-envs";
        assert!(call(&Method::GET, &format!("{base}/ONE/hosts/TWO/instructions")).is_well_formed());
        assert!(!call(&Method::GET, &format!("{base}/ONE/hosts/..%2f..%2fx/instructions")).is_well_formed());
        assert!(!call(&Method::POST, &format!("{base}/one/hosts")).is_well_formed());
    }

    #[test]
    fn nobody_waits_for_ever() {
        let wait_of = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert("prefer", HeaderValue::from_static(text));
            wait(&headers).as_secs()
        };
        assert_eq!((wait_of("wait=30"), wait_of("respond-async, wait=99999"), wait_of("wait=-1")), (30, 50, 0));
    }
}
