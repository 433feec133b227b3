//! The container runtime's configuration.

use std::fmt::Write as _;

use super::manifests::{Manifests, RuntimeSettings};
use super::pool::{CgroupDriver, Pool, Runtime};
use super::{RenderError, mirrors, paths};
use crate::config::Config;

pub(super) fn put(pool: &Pool, manifests: &Manifests, config: &mut Config) -> Result<(), RenderError> {
    let settings = manifests.runtime();
    match pool.runtime {
        Runtime::Containerd => {
            if let Some(field) = settings.only_for_crio() {
                return Err(RenderError::Pool {
                    field: "runtime",
                    problem: format!("containerd has no setting for containerRuntimeConfig.{field}; CRI-O has"),
                });
            }
            config.put_file(paths::CONTAINERD_CONFIG, 0o644, containerd(pool, settings).as_bytes());
        }
        Runtime::CriO => config.put_file(paths::CRIO_CONFIG, 0o644, crio(pool, settings).as_bytes()),
    }
    if pool.proxy.is_some() {
        let text = format!("[Service]\nEnvironmentFile=-{}\n", paths::PROXY_ENV);
        config.put_dropin(pool.runtime.unit(), Some(true), "10-proxy.conf", &text);
    } else {
        config.put_unit(pool.runtime.unit(), Some(true), None);
    }
    let all: Vec<_> = pool.mirrors.iter().chain(manifests.mirrors()).collect();
    mirrors::put(pool.runtime, &all, config)
}

fn plugin_directory(pool: &Pool) -> &str {
    pool.kubelet.cni_binaries.as_deref().unwrap_or(paths::CNI_BINARIES)
}

/// Written in version 2, which containerd 1.6 reads and 2.x migrates.
fn containerd(pool: &Pool, settings: &RuntimeSettings) -> String {
    let cri = "plugins.\"io.containerd.grpc.v1.cri\"";
    let runtime = settings.default_runtime.as_deref().unwrap_or("runc");
    let mut text = format!("version = 2\n\n[{cri}]\n");
    if let Some(image) = &pool.kubelet.pause_image {
        let _ = writeln!(text, "sandbox_image = \"{image}\"");
    }
    let _ =
        writeln!(text, "\n[{cri}.cni]\nbin_dir = \"{}\"\nconf_dir = \"{}\"", plugin_directory(pool), paths::CNI_CONFIG);
    let _ = writeln!(text, "\n[{cri}.containerd]\ndefault_runtime_name = \"{runtime}\"");
    let _ = writeln!(text, "\n[{cri}.containerd.runtimes.{runtime}]\nruntime_type = \"io.containerd.runc.v2\"");
    let _ = writeln!(text, "\n[{cri}.containerd.runtimes.{runtime}.options]");
    if runtime != "runc" {
        let _ = writeln!(text, "BinaryName = \"{runtime}\"");
    }
    let _ = writeln!(text, "SystemdCgroup = {}", pool.kubelet.cgroup_driver == CgroupDriver::Systemd);
    let _ = writeln!(text, "\n[{cri}.registry]\nconfig_path = \"{}\"", paths::CONTAINERD_REGISTRIES);
    text
}

fn crio(pool: &Pool, settings: &RuntimeSettings) -> String {
    let manager = match pool.kubelet.cgroup_driver {
        CgroupDriver::Systemd => "cgroup_manager = \"systemd\"\n",
        CgroupDriver::Cgroupfs => "cgroup_manager = \"cgroupfs\"\nconmon_cgroup = \"pod\"\n",
    };
    let mut text = format!("[crio.runtime]\n{manager}");
    if let Some(level) = &settings.log_level {
        let _ = writeln!(text, "log_level = \"{level}\"");
    }
    if let Some(size) = settings.log_size_max {
        let _ = writeln!(text, "log_size_max = {size}");
    }
    if let Some(limit) = settings.pids_limit {
        let _ = writeln!(text, "pids_limit = {limit}");
    }
    if let Some(runtime) = &settings.default_runtime {
        let _ = writeln!(text, "default_runtime = \"{runtime}\"");
    }
    text.push_str("\n[crio.image]\n");
    if pool.pull_secret.is_some() {
        let _ = writeln!(text, "global_auth_file = \"{}\"", paths::PULL_SECRET);
    }
    if let Some(image) = &pool.kubelet.pause_image {
        let _ = writeln!(text, "pause_image = \"{image}\"");
    }
    let _ = writeln!(
        text,
        "\n[crio.network]\nnetwork_dir = \"{}\"\nplugin_dirs = [\"{}\"]",
        paths::CNI_CONFIG,
        plugin_directory(pool)
    );
    if let Some(size) = &settings.overlay_size {
        let _ = writeln!(text, "\n[crio]\nstorage_option = [\"overlay.size={size}\"]");
    }
    text
}
