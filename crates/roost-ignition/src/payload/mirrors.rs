//! Image mirrors in the words of each runtime.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::pool::{Mirror, Runtime};
use super::{RenderError, paths};
use crate::config::Config;

/// Writes all mirrors, those of a source that several name together.
pub(super) fn put(runtime: Runtime, mirrors: &[&Mirror], config: &mut Config) -> Result<(), RenderError> {
    let sources = joined(mirrors)?;
    if sources.is_empty() {
        return Ok(());
    }
    match runtime {
        Runtime::CriO => config.put_file(paths::REGISTRIES, 0o644, registries_conf(&sources).as_bytes()),
        Runtime::Containerd => {
            for (host, text) in hosts_toml(&sources)? {
                config.put_file(&format!("{}/{host}/hosts.toml", paths::CONTAINERD_REGISTRIES), 0o644, text.as_bytes());
            }
        }
    }
    Ok(())
}

/// What is known about a source: where else it is, and whether it is never asked.
type Sources<'a> = BTreeMap<&'a str, (Vec<&'a str>, bool)>;

fn joined<'a>(mirrors: &[&'a Mirror]) -> Result<Sources<'a>, RenderError> {
    let mut sources = Sources::new();
    let mut sorted = mirrors.to_vec();
    sorted.sort();
    for mirror in sorted {
        let places = sources.entry(mirror.source.as_str()).or_default();
        places.1 |= mirror.never_contact_source;
        for place in &mirror.mirrors {
            if !places.0.contains(&place.as_str()) {
                places.0.push(place);
            }
        }
    }
    for (source, (places, _)) in &sources {
        for reference in std::iter::once(source).chain(places) {
            if !is_reference(reference) {
                return Err(RenderError::Pool {
                    field: "mirrors",
                    problem: format!("{reference:?} is neither a registry nor a repository"),
                });
            }
        }
    }
    Ok(sources)
}

/// A registry's host, with or without a repository, and nothing that could end a quoted text or leave a directory.
fn is_reference(text: &str) -> bool {
    let (host, repository) = text.split_once('/').unwrap_or((text, "x"));
    let host = host.strip_prefix("*.").unwrap_or(host);
    let is_part = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
            && !part.starts_with('.')
    };
    let name = host.split(':').next().unwrap_or_default();
    let port_is_number = host.split_once(':').is_none_or(|(_, port)| port.parse::<u16>().is_ok());
    is_part(name) && port_is_number && repository.split('/').all(is_part) && text.len() <= 512
}

fn registries_conf(sources: &Sources<'_>) -> String {
    let mut text = String::new();
    for (source, (places, never)) in sources {
        if !text.is_empty() {
            text.push('\n');
        }
        let name = if source.starts_with("*.") { "prefix" } else { "location" };
        let _ = writeln!(text, "[[registry]]\n{name} = \"{source}\"");
        if name == "location" {
            let _ = writeln!(text, "prefix = \"\"");
        }
        if *never {
            text.push_str("blocked = true\n");
        }
        for place in places {
            let _ = writeln!(text, "\n[[registry.mirror]]\nlocation = \"{place}\"\npull-from-mirror = \"digest-only\"");
        }
    }
    text
}

/// containerd knows mirrors of whole registries, and asks a mirror with the path that it would ask the registry with.
/// So a repository can be mirrored only where the mirror keeps its path, perhaps behind a prefix.
fn hosts_toml(sources: &Sources<'_>) -> Result<BTreeMap<String, String>, RenderError> {
    let mut by_host: BTreeMap<&str, (Vec<String>, bool)> = BTreeMap::new();
    for (source, (places, never)) in sources {
        let (host, repository) = source.split_once('/').map_or((*source, None), |(host, path)| (host, Some(path)));
        let unsupported = |problem: String| Err(RenderError::Pool { field: "mirrors", problem });
        if host.starts_with("*.") {
            return unsupported(format!("{source}: containerd has no mirrors for all hosts of a domain"));
        }
        let (urls, never_ask) = by_host.entry(host).or_default();
        if *never && repository.is_some() {
            return unsupported(format!("{source}: containerd can only leave out whole registries, not repositories"));
        }
        *never_ask |= never;
        for place in places {
            let (mirror, path) = place.split_once('/').unwrap_or((place, ""));
            let prefix = match repository {
                None => Some(path),
                Some(repository) if path == repository => Some(""),
                Some(repository) => path.strip_suffix(repository).and_then(|prefix| prefix.strip_suffix('/')),
            };
            let Some(prefix) = prefix else {
                return unsupported(format!(
                    "{source} → {place}: containerd finds a mirrored repository only under the path that it has at the source"
                ));
            };
            let url =
                if prefix.is_empty() { format!("https://{mirror}") } else { format!("https://{mirror}/v2/{prefix}") };
            if !urls.contains(&url) {
                urls.push(url);
            }
        }
    }
    let mut files = BTreeMap::new();
    for (host, (urls, never)) in by_host {
        // An unreachable server is the only way to say that the source is never asked: the first mirror stands for it.
        let server =
            if never { urls.first().cloned().unwrap_or_default() } else { format!("https://{}", upstream(host)) };
        let mut text = format!("server = \"{server}\"\n");
        for url in urls {
            let _ = writeln!(text, "\n[host.\"{url}\"]\ncapabilities = [\"pull\", \"resolve\"]");
            if url.contains("/v2/") {
                text.push_str("override_path = true\n");
            }
        }
        files.insert(host.to_owned(), text);
    }
    Ok(files)
}

/// Where a registry really answers.
fn upstream(host: &str) -> &str {
    if host == "docker.io" { "registry-1.docker.io" } else { host }
}

#[cfg(test)]
mod tests {
    use super::{hosts_toml, is_reference, joined, registries_conf};
    use crate::payload::Mirror;

    fn mirror(source: &str, mirrors: &[&str], never: bool) -> Mirror {
        let mirrors = mirrors.iter().map(|&place| place.to_owned()).collect();
        Mirror { source: source.to_owned(), mirrors, never_contact_source: never }
    }

    #[test]
    fn crio_mirrors_repositories() {
        let mirrors = [mirror("quay.io/a/b", &["local:5000/x/y"], true), mirror("quay.io/a/b", &["other/z"], false)];
        let text = registries_conf(&joined(&mirrors.iter().collect::<Vec<_>>()).unwrap());
        assert_eq!(
            text,
            "[[registry]]\nlocation = \"quay.io/a/b\"\nprefix = \"\"\nblocked = true\n\n[[registry.mirror]]\n\
             location = \"local:5000/x/y\"\npull-from-mirror = \"digest-only\"\n\n[[registry.mirror]]\n\
             location = \"other/z\"\npull-from-mirror = \"digest-only\"\n"
        );
    }

    #[test]
    fn containerd_mirrors_registries() {
        let mirrors =
            [mirror("docker.io", &["local:5000/hub"], false), mirror("quay.io/a/b", &["local:5000/q/a/b"], false)];
        let files = hosts_toml(&joined(&mirrors.iter().collect::<Vec<_>>()).unwrap()).unwrap();
        assert_eq!(
            files["docker.io"],
            "server = \"https://registry-1.docker.io\"\n\n[host.\"https://local:5000/v2/hub\"]\n\
             capabilities = [\"pull\", \"resolve\"]\noverride_path = true\n"
        );
        assert!(files["quay.io"].contains("[host.\"https://local:5000/v2/q\"]"));
        let moved = [mirror("quay.io/a/b", &["local:5000/other"], false)];
        assert!(hosts_toml(&joined(&moved.iter().collect::<Vec<_>>()).unwrap()).is_err());
    }

    #[test]
    fn references_cannot_leave_their_place() {
        for good in ["quay.io", "local:5000", "quay.io/a/b-c_d", "*.example.com", "10.0.0.1:5000/x"] {
            assert!(is_reference(good), "{good}");
        }
        for bad in ["", "a\"b", "../x", "quay.io/../x", "a b", "a//b", "a:port", "https://x", "a/b\n"] {
            assert!(!is_reference(bad), "{bad}");
        }
    }
}
