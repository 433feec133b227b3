//! `ContainerRuntimeConfig`: a few settings of the container runtime.

use serde_json::Value;

/// The settings that are understood; texts were checked and can stand between quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::payload) struct RuntimeSettings {
    pub(in crate::payload) log_level: Option<String>,
    pub(in crate::payload) log_size_max: Option<u64>,
    pub(in crate::payload) overlay_size: Option<String>,
    pub(in crate::payload) pids_limit: Option<i64>,
    pub(in crate::payload) default_runtime: Option<String>,
}

impl RuntimeSettings {
    /// The first setting that only CRI-O has.
    pub(in crate::payload) fn only_for_crio(&self) -> Option<&'static str> {
        [
            ("logLevel", self.log_level.is_some()),
            ("logSizeMax", self.log_size_max.is_some()),
            ("overlaySize", self.overlay_size.is_some()),
            ("pidsLimit", self.pids_limit.is_some()),
        ]
        .into_iter()
        .find_map(|(name, is_set)| is_set.then_some(name))
    }

    pub(super) fn merge(&mut self, later: Self) {
        self.log_level = later.log_level.or(self.log_level.take());
        self.log_size_max = later.log_size_max.or(self.log_size_max);
        self.overlay_size = later.overlay_size.or(self.overlay_size.take());
        self.pids_limit = later.pids_limit.or(self.pids_limit);
        self.default_runtime = later.default_runtime.or(self.default_runtime.take());
    }
}

pub(super) fn read(manifest: &Value) -> Result<RuntimeSettings, String> {
    let Some(config) = manifest.pointer("/spec/containerRuntimeConfig").and_then(Value::as_object) else {
        return Err("spec.containerRuntimeConfig must be an object".to_owned());
    };
    let mut settings = RuntimeSettings::default();
    for (name, value) in config {
        let wrong = |expected: &str| format!("spec.containerRuntimeConfig.{name} must be {expected}");
        match name.as_str() {
            _ if value.is_null() => {}
            "logLevel" => {
                let level = value.as_str().filter(|level| {
                    matches!(*level, "fatal" | "panic" | "error" | "warn" | "info" | "debug" | "trace")
                });
                settings.log_level = Some(level.ok_or_else(|| wrong("a level such as info"))?.to_owned());
            }
            "defaultRuntime" => {
                let runtime = value.as_str().filter(|runtime| matches!(*runtime, "runc" | "crun"));
                settings.default_runtime = Some(runtime.ok_or_else(|| wrong("runc or crun"))?.to_owned());
            }
            "pidsLimit" => {
                let limit = value.as_i64().filter(|limit| *limit == -1 || *limit == 0 || *limit >= 20);
                settings.pids_limit = Some(limit.ok_or_else(|| wrong("-1, 0 or at least 20"))?);
            }
            "logSizeMax" => settings.log_size_max = Some(bytes(value).ok_or_else(|| wrong("a size such as 8Mi"))?),
            "overlaySize" => {
                let size = bytes(value).ok_or_else(|| wrong("a size such as 8Gi"))?;
                settings.overlay_size = Some(size.to_string());
            }
            _ => return Err(format!("spec.containerRuntimeConfig.{name} is not known")),
        }
    }
    Ok(settings)
}

fn bytes(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => {
            let quantity = roost_object::Quantity::parse(text).ok()?;
            u64::try_from(quantity.value()).ok()
        }
        _ => None,
    }
}
