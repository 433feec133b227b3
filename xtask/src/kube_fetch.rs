//! `cargo xtask kube fetch`: builds the stock binaries from their Go modules.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use roost_tests::assets::{KUBERNETES_VERSION, directory, repository};

use crate::command_line::KubeFetch;
use crate::task::{self, TaskError};

/// How a binary is made.
enum Recipe {
    /// `go build` of a package of Kubernetes.
    Kubernetes(&'static str),
    /// `go test -c` of a package of Kubernetes.
    KubernetesTest(&'static str),
    /// `go build` of etcd, which has a module of its own.
    Etcd(&'static str),
}

struct Part {
    name: &'static str,
    recipe: Recipe,
}

/// What the comparisons need comes first, what takes longest comes last.
const PARTS: &[Part] = &[
    Part { name: "etcd", recipe: Recipe::Etcd("go.etcd.io/etcd/server/v3") },
    Part { name: "kube-apiserver", recipe: Recipe::Kubernetes("k8s.io/kubernetes/cmd/kube-apiserver") },
    Part { name: "kubectl", recipe: Recipe::Kubernetes("k8s.io/kubernetes/cmd/kubectl") },
    Part {
        name: "kube-controller-manager",
        recipe: Recipe::Kubernetes("k8s.io/kubernetes/cmd/kube-controller-manager"),
    },
    Part { name: "kube-scheduler", recipe: Recipe::Kubernetes("k8s.io/kubernetes/cmd/kube-scheduler") },
    Part { name: "kubelet", recipe: Recipe::Kubernetes("k8s.io/kubernetes/cmd/kubelet") },
    Part { name: "kube-proxy", recipe: Recipe::Kubernetes("k8s.io/kubernetes/cmd/kube-proxy") },
    Part { name: "e2e.test", recipe: Recipe::KubernetesTest("k8s.io/kubernetes/test/e2e") },
];

/// The binaries without which the checks of `cargo xtask test` cannot run.
pub(crate) const NEEDED_BY_TESTS: &[&str] =
    &["etcd", "kube-apiserver", "kubectl", "kube-controller-manager", "kube-scheduler"];

/// Builds what is missing.
pub(crate) fn run(arguments: &KubeFetch) -> Result<(), TaskError> {
    for name in &arguments.only {
        if !PARTS.iter().any(|part| part.name == name) {
            let known: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
            return Err(TaskError::Found(format!("there is no part {name}\nhint: the parts are {}", known.join(", "))));
        }
    }
    let chosen = |part: &&Part| arguments.only.is_empty() || arguments.only.iter().any(|name| name == part.name);
    fetch(PARTS.iter().filter(chosen), arguments.force)
}

/// Builds those of the named binaries that are missing.
pub(crate) fn fetch_missing(names: &[&str]) -> Result<(), TaskError> {
    fetch(PARTS.iter().filter(|part| names.contains(&part.name)), false)
}

fn fetch<'a>(parts: impl Iterator<Item = &'a Part>, force: bool) -> Result<(), TaskError> {
    let directory = directory();
    std::fs::create_dir_all(&directory).map_err(|source| TaskError::File { path: directory.clone(), source })?;
    for part in parts {
        let target = directory.join(part.name);
        if !force && is_up_to_date(part, &target) {
            eprintln!("{} is there", target.display());
            continue;
        }
        let start = Instant::now();
        eprintln!("building {}", part.name);
        build(part, &target)?;
        eprintln!("{} built in {} s", target.display(), start.elapsed().as_secs());
    }
    Ok(())
}

/// The directory is named after the version, so a binary in it is up to date unless somebody put another one there.
fn is_up_to_date(part: &Part, target: &Path) -> bool {
    if !target.is_file() {
        return false;
    }
    let said = match part.recipe {
        // The test binary and kubectl have no plain `--version`; their build information says the version.
        Recipe::Etcd(_) => Command::new(target).arg("--version").output(),
        Recipe::Kubernetes(_) | Recipe::KubernetesTest(_) => {
            Command::new("go").args(["version", "-m"]).arg(target).output()
        }
    };
    match (said, &part.recipe) {
        (Ok(output), Recipe::Etcd(_)) => String::from_utf8_lossy(&output.stdout).contains(&etcd_version()),
        (Ok(output), _) => {
            String::from_utf8_lossy(&output.stdout).contains(&format!("k8s.io/kubernetes\t{KUBERNETES_VERSION}"))
        }
        // Without Go the binary cannot be rebuilt anyway.
        (Err(_), _) => true,
    }
}

fn etcd_version() -> String {
    let text = std::fs::read_to_string(module("etcd").join("go.mod")).unwrap_or_default();
    let version = text.lines().find_map(|line| line.strip_prefix("require go.etcd.io/etcd/server/v3 v"));
    version.unwrap_or_default().trim().to_owned()
}

fn module(name: &str) -> PathBuf {
    repository().join("xtask").join("kube").join(name)
}

fn build(part: &Part, target: &Path) -> Result<(), TaskError> {
    // A build that is interrupted must not leave half a binary under the final name.
    let unfinished = target.with_extension("unfinished");
    let mut command = Command::new("go");
    command.env("CGO_ENABLED", "0").env("GOFLAGS", "-mod=mod -buildvcs=false");
    match part.recipe {
        Recipe::Etcd(package) => {
            command.current_dir(module("etcd")).args(["build", "-ldflags", "-s -w", "-o"]);
            command.arg(&unfinished).arg(package);
        }
        Recipe::Kubernetes(package) => {
            command.current_dir(module("")).args(["build", "-ldflags"]).arg(version_flags()).arg("-o");
            command.arg(&unfinished).arg(package);
        }
        Recipe::KubernetesTest(package) => {
            command.current_dir(module("")).args(["test", "-c", "-ldflags"]).arg(version_flags()).arg("-o");
            command.arg(&unfinished).arg(package);
        }
    }
    task::run(&mut command)?;
    std::fs::rename(&unfinished, target).map_err(|source| TaskError::File { path: target.to_owned(), source })
}

/// The version that the binaries say they are, in the places where Kubernetes' own build puts it.
fn version_flags() -> String {
    let mut numbers = KUBERNETES_VERSION.trim_start_matches('v').split('.');
    let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    let mut flags = "-s -w".to_owned();
    for place in ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"] {
        for (name, value) in [("gitVersion", KUBERNETES_VERSION), ("gitMajor", major), ("gitMinor", minor)] {
            flags = format!("{flags} -X {place}.{name}={value}");
        }
    }
    flags
}
