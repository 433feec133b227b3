//! The program from outside, without a management plane: what it prints, where, and with which exit code.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A home of its own, so that nothing of the user's is found.
struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        fs::write(folder.path().join("pull-secret.json"), r#"{"auths":{}}"#).expect("a file");
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run_as(&self, program: &Path, line: &str) -> Output {
        Command::new(program)
            .args(line.split_whitespace())
            .current_dir(self.folder.path())
            .env_clear()
            .env("HOME", self.folder.path())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .output()
            .expect("the program runs")
    }

    fn run(&self, line: &str) -> Output {
        self.run_as(Path::new(env!("CARGO_BIN_EXE_hcp")), line)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn mistakes_are_one_sentence_and_an_exit_code() {
    let home = Home::new();
    let cases = [
        ("create cluster none --name demo", 2, "error: --pull-secret is required\n"),
        ("create cluster none --pull-secret pull-secret.json", 2, "error: --name is required\n"),
        (
            "create cluster none --name demo --pull-secret missing.json",
            1,
            "error: the file missing.json of --pull-secret cannot be read: there is no such file\n",
        ),
        (
            "create cluster none --name demo --pull-secret pull-secret.json --cluster-cidr 10.0.0.0",
            2,
            "error: --cluster-cidr \"10.0.0.0\" is not a network in CIDR notation, such as 10.132.0.0/14\n",
        ),
        (
            "create cluster none --name demo --pull-secret pull-secret.json",
            1,
            "error: no management plane was found: no --kubeconfig, no KUBECONFIG, no running hcp up and no ~/.kube/config\nhint: start one here with: hcp up --detach\n",
        ),
        ("describe cluster ../secrets", 2, "error: --name \"../secrets\" is not a name: "),
        ("destroy nodepool", 2, "error: --name is required\n"),
        (
            "up --listen localhost:6443",
            2,
            "error: invalid value 'localhost:6443' for '--listen <ADDRESS>': expected an address and a port",
        ),
        (
            "up --service-cidr 10.0.0.0/31",
            2,
            "error: invalid value '10.0.0.0/31' for '--service-cidr <CIDR>': expected at least 8",
        ),
        (
            "up --server-name a_b",
            2,
            "error: invalid value 'a_b' for '--server-name <NAME>': expected a DNS name or an address",
        ),
        (
            "up --data-dir pull-secret.json --detach",
            1,
            "error: cannot make the data directory pull-secret.json\n  because: File exists (os error 17)\nhint: name a directory",
        ),
        ("status -o kubeconfig", 1, "error: no hcp up is running; start one with: hcp up --detach\n"),
        (
            "get clusters --kubeconfig missing",
            1,
            "error: the kubeconfig missing cannot be used\n  because: failed to read kubeconfig from '\"missing\"': No such file or directory (os error 2)\nhint: name another",
        ),
        (
            "operator",
            1,
            "error: no management plane was found: no --kubeconfig, no KUBECONFIG, no running hcp up and no ~/.kube/config\nhint: name the one to work for with --kubeconfig FILE\n",
        ),
    ];
    for (line, code, expected) in cases {
        let output = home.run(line);
        assert_eq!(output.status.code(), Some(code), "{line}");
        assert!(text(&output.stderr).starts_with(expected), "{line}: {}", text(&output.stderr));
        assert_eq!(text(&output.stdout), "", "{line}");
    }
    for line in ["create cluster aws", "frobnicate", "create cluster none --no-such-flag"] {
        assert_eq!(home.run(line).status.code(), Some(2), "{line}");
    }
}

#[test]
fn a_stranger_with_the_number_of_a_dead_process_is_left_alone() {
    let home = Home::new();
    let mut stranger = Command::new("sleep").arg("60").spawn().expect("a process");
    let records = home.path(".local/state/roost/instances");
    fs::create_dir_all(&records).unwrap();
    let pid = stranger.id();
    let record = format!(
        r#"{{"pid": {pid}, "dataDir": "/x", "server": "s", "kubeconfig": "k", "started": "t", "version": "v"}}"#
    );
    fs::write(records.join(format!("{pid}.json")), record).unwrap();
    let output = home.run("down");
    assert_eq!(text(&output.stderr), "error: no hcp up is running; start one with: hcp up --detach\n");
    assert!(stranger.try_wait().unwrap().is_none());
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

#[test]
fn rendering_needs_no_plane_and_shows_no_secret() {
    let home = Home::new();
    let line = "create cluster none --name demo --pull-secret pull-secret.json --render";
    let output = home.run(line);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    assert!(printed.starts_with("apiVersion: v1\nkind: Namespace\n"), "{printed}");
    assert!(printed.contains("kind: HostedCluster\n") && printed.contains("image: \"\"\n"), "{printed}");
    assert!(printed.contains("controllerAvailabilityPolicy: HighlyAvailable\n"), "{printed}");
    assert!(!printed.contains("kind: Secret"), "{printed}");
    assert!(text(&home.run(&format!("{line} --render-sensitive")).stdout).contains("kind: Secret\n"));

    let into = home.run(
        "create cluster none --name demo --pull-secret pull-secret.json --render-into out.yaml --render-sensitive",
    );
    assert!(into.status.success() && into.stdout.is_empty());
    assert!(fs::read_to_string(home.path("out.yaml")).unwrap().contains("kind: Secret\n"));
    assert_eq!(fs::metadata(home.path("out.yaml")).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn the_name_of_the_program_decides_defaults() {
    let home = Home::new();
    let hypershift = home.path("hypershift");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_hcp"), &hypershift).unwrap();
    let output = home.run_as(&hypershift, "create cluster none --name demo --pull-secret pull-secret.json --render");
    assert!(text(&output.stdout).contains("controllerAvailabilityPolicy: SingleReplica\n"));
}

#[test]
fn a_generated_key_is_one_that_ssh_knows() {
    let home = Home::new();
    let line =
        "create cluster none --name demo --pull-secret pull-secret.json --generate-ssh --render --render-sensitive";
    let printed = text(&home.run(line).stdout);
    let value = |key: &str| {
        let line = printed.lines().find_map(|line| line.trim().strip_prefix(key)).unwrap();
        base64::Engine::decode(&base64::engine::general_purpose::STANDARD, line).unwrap()
    };
    let public = String::from_utf8(value("id_rsa.pub: ")).unwrap();
    assert!(public.starts_with("ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAACAQ"), "{public}");
    assert!(value("id_rsa: ").starts_with(b"-----BEGIN PRIVATE KEY-----\n"));
}

#[test]
fn shells_and_manuals_are_served() {
    let home = Home::new();
    for (shell, contains) in [("bash", "complete -F _hcp"), ("zsh", "#compdef hcp"), ("fish", "complete -c hcp")] {
        let output = home.run(&format!("completion {shell}"));
        assert!(text(&output.stdout).contains(contains), "{shell}");
    }
    assert!(home.run("man pages").status.success());
    for page in ["hcp.1", "hcp-create-cluster-agent.1", "hcp-get.1"] {
        assert!(fs::read_to_string(home.path("pages").join(page)).unwrap().contains(".TH"), "{page}");
    }
}

#[test]
fn versions_are_told_without_a_plane() {
    let home = Home::new();
    let output = home.run("version --client-only -o json");
    let version: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(version["client"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(text(&home.run("version --commit-only").stdout).lines().count(), 1);
    let output = home.run("version");
    assert!(output.status.success());
    assert!(text(&output.stdout).starts_with("Client Version: roost "), "{}", text(&output.stdout));
    assert!(text(&output.stderr).starts_with("Server Version: unknown: "), "{}", text(&output.stderr));
}
