//! What holds for all configs.

use proptest::prelude::*;

use crate::arbitrary::{any_config, config};
use crate::{Config, ConfigError, SpecVersion};

proptest! {
    #[test]
    fn what_is_written_is_read(config in any_config()) {
        let bytes = config.to_bytes();
        let again = Config::parse(&bytes).unwrap();
        prop_assert_eq!(&again, &config);
        prop_assert_eq!(again.to_bytes(), bytes);
    }

    #[test]
    fn spelling_does_not_matter(config in any_config()) {
        let pretty = serde_json::to_vec_pretty(&config.to_value()).unwrap();
        prop_assert_eq!(Config::parse(&pretty).unwrap(), config);
    }

    #[test]
    fn merging_with_nothing_changes_nothing(config in any_config()) {
        let nothing = Config::new(SpecVersion::V3_0);
        prop_assert_eq!(config.clone().merge(nothing.clone()), config.clone());
        prop_assert_eq!(nothing.merge(config.clone()), config);
    }

    /// A header without a value removes only what stands before it, and so does a link at a directory's path. Without
    /// such removals it does not matter which neighbours are merged first.
    #[test]
    fn merging_is_associative(
        first in config(SpecVersion::V3_5),
        second in config(SpecVersion::V3_5),
        third in config(SpecVersion::V3_5),
    ) {
        let [first, second, third] = [&first, &second, &third].map(without_removals);
        let left = first.clone().merge(second.clone()).merge(third.clone());
        let right = first.merge(second.merge(third));
        prop_assert_eq!(left.to_value(), right.to_value());
    }

    #[test]
    fn the_child_is_right(parent in config(SpecVersion::V3_4), child in config(SpecVersion::V3_4)) {
        let merged = parent.clone().merge(child.clone());
        for file in child.files() {
            let kept = merged.file(file.path()).expect("files of the child are there");
            prop_assert_eq!(kept.mode(), file.mode().or(parent.file(file.path()).and_then(|file| file.mode())));
        }
        for unit in child.units() {
            let kept = merged.unit(unit.name()).expect("units of the child are there");
            prop_assert!(unit.contents().is_none() || unit.contents() == kept.contents());
        }
        let mut paths: Vec<&str> = merged.files().map(|file| file.path())
            .chain(merged.directories().map(|directory| directory.path()))
            .chain(merged.links().map(|link| link.path()))
            .collect();
        let all = paths.len();
        paths.sort_unstable();
        paths.dedup();
        prop_assert_eq!(paths.len(), all, "no path twice");
    }

    #[test]
    fn translation_loses_nothing_silently(config in any_config(), version in 0..SpecVersion::ALL.len()) {
        let version = SpecVersion::ALL[version];
        match config.translate(version) {
            Ok(translated) => {
                prop_assert_eq!(translated.version(), version);
                prop_assert_eq!(&Config::parse(&translated.to_bytes()).unwrap(), &translated);
                let back = translated.translate(config.version()).unwrap();
                if version >= config.version() {
                    prop_assert_eq!(back, config);
                }
            }
            Err(ConfigError::Untranslatable { fields, .. }) => {
                prop_assert!(version < config.version());
                prop_assert!(!fields.is_empty());
            }
            Err(error) => prop_assert!(false, "{error}"),
        }
    }

    #[test]
    fn no_bytes_break_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        if let Ok(config) = Config::parse(&bytes) {
            let _ = config.findings();
        }
    }

    #[test]
    fn no_text_near_a_config_breaks_the_reader(config in any_config(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = config.to_bytes();
        let index = at.index(bytes.len());
        bytes[index] = byte;
        if let Ok(config) = Config::parse(&bytes) {
            let _ = config.findings();
            let _ = config.translate(SpecVersion::V3_0);
        }
    }
}

/// Takes out every header without a value, and all but one of the lists that remove from each other.
fn without_removals(config: &Config) -> Config {
    fn visit(value: &mut serde_json::Value) {
        match value {
            serde_json::Value::Object(fields) => {
                if let Some(serde_json::Value::Array(headers)) = fields.get_mut("httpHeaders") {
                    headers.retain(|header| header.get("value").is_some());
                }
                for list in ["directories", "links", "shouldNotExist"] {
                    fields.remove(list);
                }
                fields.values_mut().for_each(visit);
            }
            serde_json::Value::Array(items) => items.iter_mut().for_each(visit),
            _ => {}
        }
    }
    let mut value = config.to_value();
    visit(&mut value);
    Config::from_value(value).expect("still a config")
}

#[test]
fn depth_size_and_count_are_bounded() {
    let deep = |open: &str, close: &str| {
        let times = 1_000_000;
        let text =
            format!("{{\"ignition\":{{\"version\":\"3.2.0\"}},\"x\":{}{}}}", open.repeat(times), close.repeat(times));
        Config::parse(text.as_bytes()).unwrap_err()
    };
    assert!(matches!(deep("[", "]"), ConfigError::TooDeep { .. }));
    assert!(matches!(deep("{\"a\":", "}"), ConfigError::TooDeep { .. }));
    assert!(matches!(Config::parse("[".repeat(1_000_000).as_bytes()), Err(ConfigError::TooDeep { .. })));
    let many = format!("{{\"ignition\":{{\"version\":\"3.2.0\"}},\"x\":[{}0]}}", "0,".repeat(300_000));
    assert!(matches!(Config::parse(many.as_bytes()), Err(ConfigError::TooMany { .. })));
    let large = format!("{{\"ignition\":{{\"version\":\"3.2.0\"}},\"x\":\"{}\"}}", "x".repeat(17 << 20));
    assert!(matches!(Config::parse(large.as_bytes()), Err(ConfigError::TooLarge { .. })));
    let quoted = format!("{{\"ignition\":{{\"version\":\"3.2.0\"}},\"x\":\"{}\"}}", "[,\\\"{".repeat(300_000));
    assert!(Config::parse(quoted.as_bytes()).is_ok(), "brackets in texts are no depth");
}
