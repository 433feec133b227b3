//! Ignition's rules, one by one.

use serde_json::{Value, json};

use crate::{Config, SpecVersion};

fn config(version: &str, sections: &Value) -> Config {
    let mut value = sections.clone();
    if value.get("ignition").is_none() {
        value["ignition"] = json!({});
    }
    value["ignition"]["version"] = version.into();
    Config::from_value(value).unwrap()
}

/// Merges sections of spec 3.5 and leaves out what says only the version.
fn merged(parent: &Value, child: &Value) -> Value {
    let mut value = config("3.5.0", parent).merge(config("3.5.0", child)).to_value();
    value["ignition"].as_object_mut().unwrap().remove("version");
    if value["ignition"].as_object().unwrap().is_empty() {
        value.as_object_mut().unwrap().remove("ignition");
    }
    value
}

#[test]
fn each_rule() {
    let storage = |value: Value| json!({"storage": value});
    let units = |value: Value| json!({"systemd": {"units": value}});
    let cases = [
        (
            "fields that both have are the child's, others stay",
            storage(
                json!({"files": [{"path": "/a", "mode": 1, "overwrite": true, "contents": {"source": "data:,a"}}]}),
            ),
            storage(json!({"files": [{"path": "/a", "mode": 2, "contents": {"compression": "gzip"}}]})),
            storage(
                json!({"files": [{"path": "/a", "mode": 2, "overwrite": true, "contents": {"source": "data:,a", "compression": "gzip"}}]}),
            ),
        ),
        (
            "the parent's order, then what is new",
            storage(json!({"files": [{"path": "/b"}, {"path": "/a"}]})),
            storage(json!({"files": [{"path": "/c"}, {"path": "/a"}, {"path": "/0"}]})),
            storage(json!({"files": [{"path": "/b"}, {"path": "/a"}, {"path": "/c"}, {"path": "/0"}]})),
        ),
        (
            "appended contents add up, the same ones too",
            storage(json!({"files": [{"path": "/a", "append": [{"source": "data:,a"}]}]})),
            storage(json!({"files": [{"path": "/a", "append": [{"source": "data:,a"}, {"source": "data:,b"}]}]})),
            storage(
                json!({"files": [{"path": "/a", "append": [{"source": "data:,a"}, {"source": "data:,a"}, {"source": "data:,b"}]}]}),
            ),
        ),
        (
            "a link takes the place of a file, a file that of a directory",
            storage(json!({"files": [{"path": "/a"}], "directories": [{"path": "/d"}, {"path": "/e"}]})),
            storage(json!({"links": [{"path": "/a", "target": "/t"}], "files": [{"path": "/d"}]})),
            storage(
                json!({"links": [{"path": "/a", "target": "/t"}], "files": [{"path": "/d"}], "directories": [{"path": "/e"}]}),
            ),
        ),
        (
            "options of filesystems add up, fields are the child's",
            storage(
                json!({"filesystems": [{"device": "/d", "options": ["a"], "mountOptions": ["m"], "format": "xfs"}]}),
            ),
            storage(json!({"filesystems": [{"device": "/d", "options": ["a"], "format": "ext4"}]})),
            storage(
                json!({"filesystems": [{"device": "/d", "options": ["a", "a"], "mountOptions": ["m"], "format": "ext4"}]}),
            ),
        ),
        (
            "partitions are known by number, or else by label",
            storage(json!({"disks": [{"device": "/d", "partitions": [{"number": 1, "label": "a"}, {"label": "b"}]}]})),
            storage(
                json!({"disks": [{"device": "/d", "partitions": [{"number": 1, "sizeMiB": 5}, {"label": "b", "sizeMiB": 6}, {"label": "a"}]}]}),
            ),
            storage(
                json!({"disks": [{"device": "/d", "partitions": [{"number": 1, "label": "a", "sizeMiB": 5}, {"label": "b", "sizeMiB": 6}, {"label": "a"}]}]}),
            ),
        ),
        (
            "units and their additions are known by name",
            units(json!([{"name": "a.service", "enabled": true, "dropins": [{"name": "x.conf", "contents": "1"}]}])),
            units(json!([{"name": "a.service", "dropins": [{"name": "x.conf", "contents": "2"}, {"name": "y.conf"}]}])),
            units(
                json!([{"name": "a.service", "enabled": true, "dropins": [{"name": "x.conf", "contents": "2"}, {"name": "y.conf"}]}]),
            ),
        ),
        (
            "keys and groups of users are sets",
            json!({"passwd": {"users": [{"name": "core", "sshAuthorizedKeys": ["a", "b"], "groups": ["g"]}]}}),
            json!({"passwd": {"users": [{"name": "core", "sshAuthorizedKeys": ["b", "c"]}]}}),
            json!({"passwd": {"users": [{"name": "core", "sshAuthorizedKeys": ["a", "b", "c"], "groups": ["g"]}]}}),
        ),
        (
            "a kernel argument is wanted or unwanted, not both",
            json!({"kernelArguments": {"shouldExist": ["a", "b"], "shouldNotExist": ["c"]}}),
            json!({"kernelArguments": {"shouldExist": ["c"], "shouldNotExist": ["a"]}}),
            json!({"kernelArguments": {"shouldExist": ["b", "c"], "shouldNotExist": ["a"]}}),
        ),
        (
            "a header without a value removes the parent's",
            json!({"ignition": {"config": {"replace": {"source": "http://x", "httpHeaders": [{"name": "a", "value": "1"}, {"name": "b", "value": "2"}]}}}}),
            json!({"ignition": {"config": {"replace": {"httpHeaders": [{"name": "a"}, {"name": "b", "value": "3"}]}}}}),
            json!({"ignition": {"config": {"replace": {"source": "http://x", "httpHeaders": [{"name": "b", "value": "3"}]}}}}),
        ),
        (
            "configs and authorities are known by their source",
            json!({"ignition": {"config": {"merge": [{"source": "http://a"}]}, "security": {"tls": {"certificateAuthorities": [{"source": "http://c"}]}}}}),
            json!({"ignition": {"config": {"merge": [{"source": "http://a", "compression": "gzip"}, {"source": "http://b"}]}}}),
            json!({"ignition": {"config": {"merge": [{"source": "http://a", "compression": "gzip"}, {"source": "http://b"}]}, "security": {"tls": {"certificateAuthorities": [{"source": "http://c"}]}}}}),
        ),
    ];
    for (rule, parent, child, expected) in cases {
        assert_eq!(merged(&parent, &child), expected, "{rule}");
    }
}

#[test]
fn the_higher_version_counts() {
    let none = json!({});
    let merge = |parent: &str, child: &str| config(parent, &none).merge(config(child, &none));
    assert_eq!(merge("3.1.0", "3.4.0").version(), SpecVersion::V3_4);
    assert_eq!(merge("3.4.0", "3.1.0").to_value(), json!({"ignition": {"version": "3.4.0"}}));
}
