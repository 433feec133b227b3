//! Each rule, broken once.

use serde_json::{Value, json};

use crate::Config;

fn problems(version: &str, mut config: Value) -> Vec<String> {
    if config.get("ignition").is_none() {
        config["ignition"] = json!({});
    }
    config["ignition"]["version"] = version.into();
    let config = Config::from_value(config).unwrap();
    config.findings().iter().map(ToString::to_string).collect()
}

fn files(file: &Value) -> Value {
    json!({"storage": {"files": [file]}})
}

#[test]
fn every_rule_is_named_with_its_place() {
    let hash = |function: &str, digits: usize| format!("{function}-{}", "0".repeat(digits));
    let resource = |value: Value| files(&json!({"path": "/x", "contents": value}));
    let cases = [
        ("3.2.0", files(&json!({"path": "x"})), "storage.files[0].path: path not absolute"),
        ("3.2.0", files(&json!({"mode": 0o644})), "storage.files[0].path: path not specified"),
        ("3.2.0", files(&json!({"path": "/x/"})), "storage.files[0].path: path is not fully simplified"),
        ("3.2.0", files(&json!({"path": "/x", "mode": -1})), "storage.files[0].mode: illegal file mode"),
        ("3.2.0", resource(json!({"source": "nothing"})), "storage.files[0].contents.source: unable to parse url"),
        ("3.2.0", resource(json!({"source": "ftp://x"})), "storage.files[0].contents.source: invalid url scheme"),
        ("3.1.0", resource(json!({"source": "gs://x"})), "storage.files[0].contents.source: invalid url scheme"),
        (
            "3.3.0",
            resource(json!({"source": "arn:aws:s3:::b/k"})),
            "storage.files[0].contents.source: invalid url scheme",
        ),
        (
            "3.2.0",
            resource(json!({"source": "data:;base64,@"})),
            "storage.files[0].contents.source: malformed data URL",
        ),
        (
            "3.0.0",
            resource(json!({"source": "data:,", "verification": {"hash": hash("sha256", 64)}})),
            "storage.files[0].contents.verification.hash: unrecognized hash function",
        ),
        (
            "3.2.0",
            resource(json!({"source": "data:,", "verification": {"hash": hash("sha512", 64)}})),
            "storage.files[0].contents.verification.hash: incorrect size for hash sum",
        ),
        (
            "3.2.0",
            resource(json!({"verification": {"hash": hash("sha512", 128)}})),
            "storage.files[0].contents.verification.hash: source must be specified if verification is specified",
        ),
        (
            "3.2.0",
            resource(json!({"source": "data:,", "httpHeaders": [{"name": "a", "value": "b"}]})),
            "storage.files[0].contents.httpHeaders: cannot use HTTP headers with this source scheme",
        ),
        (
            "3.2.0",
            resource(json!({"source": "https://x", "httpHeaders": [{"name": "a", "value": ""}]})),
            "storage.files[0].contents.httpHeaders[0].value: unable to parse HTTP header",
        ),
        ("3.2.0", json!({"storage": {"links": [{"path": "/x"}]}}), "storage.links[0].target: link target is required"),
        (
            "3.2.0",
            json!({"storage": {"links": [{"path": "/x", "target": "/d", "hard": true}], "directories": [{"path": "/d"}]}}),
            "storage.links[0]: hard link target is a directory",
        ),
        (
            "3.2.0",
            json!({"storage": {"links": [{"path": "/x", "target": "/d"}, {"path": "/x/y", "target": "/d"}]}}),
            "storage.links[1]: link path includes link in config",
        ),
        (
            "3.2.0",
            json!({"storage": {"filesystems": [{"device": "/dev/x", "format": "none"}]}}),
            "storage.filesystems[0].format: invalid filesystem format",
        ),
        (
            "3.3.0",
            json!({"storage": {"filesystems": [{"device": "/dev/x", "format": "xfs", "label": "thirteen-long"}]}}),
            "storage.filesystems[0].label: filesystem labels cannot be longer than 12 characters when using xfs",
        ),
        (
            "3.3.0",
            json!({"storage": {"raid": [{"name": "r", "level": "raid0", "spares": 1, "devices": ["/dev/x"]}]}}),
            "storage.raid[0].level: spares unsupported for linear and raid0 arrays",
        ),
        (
            "3.4.0",
            json!({"storage": {"luks": [{"name": "l", "device": "/dev/x", "clevis": {"tang": [{"url": "http://t"}]}}]}}),
            "storage.luks[0].clevis.tang[0].thumbprint: thumbprint is required",
        ),
        (
            "3.5.0",
            json!({"storage": {"luks": [{"name": "l", "device": "/dev/x", "cex": {"enabled": true}, "clevis": {"tpm2": true}}]}}),
            "storage.luks[0].cex: cannot use cex with clevis",
        ),
        (
            "3.2.0",
            json!({"storage": {"disks": [{"device": "/dev/x", "partitions": [{"guid": "x", "number": 1}]}]}}),
            "storage.disks[0].partitions[0].guid: doesn't match the form \"01234567-89AB-CDEF-EDCB-A98765432101\"",
        ),
        (
            "3.2.0",
            json!({"systemd": {"units": [{"name": "a.service", "dropins": [{"name": "b"}]}]}}),
            "systemd.units[0].dropins[0].name: invalid systemd drop-in extension",
        ),
        (
            "3.2.0",
            json!({"systemd": {"units": [{"name": "a.service", "contents": "[A]\n"}]},
                   "storage": {"files": [{"path": "/etc/systemd/system/a.service"}]}}),
            "storage.files[0].path: path conflicts with systemd unit or dropin",
        ),
        (
            "3.2.0",
            json!({"passwd": {"users": [{"name": "a"}, {"name": "a"}]}}),
            "passwd.users[1]: duplicate entry defined",
        ),
        (
            "3.2.0",
            json!({"ignition": {"security": {"tls": {"certificateAuthorities": [{"verification": {"hash": hash("sha512", 128)}}]}}}}),
            "ignition.security.tls.certificateAuthorities[0]: source is required",
        ),
        (
            "3.1.0",
            json!({"ignition": {"proxy": {"httpProxy": "x"}}}),
            "ignition.proxy.httpProxy: proxies must be http(s)",
        ),
    ];
    for (version, config, problem) in cases {
        let found = problems(version, config);
        assert!(found.iter().any(|found| found == problem), "{found:?} does not say {problem:?}");
    }
}

#[test]
fn nothing_is_wrong_with_good_configs() {
    for (version, config) in [
        ("3.0.0", json!({})),
        ("3.4.0", files(&json!({"path": "/x", "contents": {"source": "arn:aws:s3:::bucket/key"}}))),
        (
            "3.1.0",
            files(
                &json!({"path": "/x", "contents": {"source": "https://x", "httpHeaders": [{"name": "a", "value": "b"}]}}),
            ),
        ),
        (
            "3.2.0",
            json!({"storage": {"disks": [{"device": "/dev/x", "partitions": [{"label": "a"}, {"number": 2, "startMiB": 0, "sizeMiB": 0}]}]}}),
        ),
        ("3.3.0", json!({"storage": {"links": [{"path": "/x", "target": "../y"}], "files": [{"path": "/xy/z"}]}})),
    ] {
        assert_eq!(problems(version, config), Vec::<String>::new());
    }
}
