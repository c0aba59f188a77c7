//! The body of Podman's own call that creates a container (`POST /libpod/containers/create`, docs.podman.io/en/latest/_static/api.html). Everything
//! here is pure.
//!
//! On a machine with version 1 of the control groups, the call that Podman has of Docker makes no node: it gives a container the control groups
//! of the machine, whatever is asked for, and an init also the whole hierarchy of systemd. A node would change those of the machine.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use system_containers::{Init, Spec};

use crate::body::{MODULES, Place, environment, labels};

/// Returns the body for a node: what [`crate::body()`] asks for, with control groups of its own.
pub fn libpod_body(spec: &Spec, place: &Place) -> Value {
    let environment = environment(spec);
    let environment: BTreeMap<&str, &str> =
        environment.iter().filter_map(|variable| variable.split_once('=')).collect();
    let mut mounts: Vec<Value> =
        spec.mounts.iter().map(|mount| bind(&mount.source, &mount.target, mount.read_only)).collect();
    if place.has_modules {
        mounts.push(bind(Path::new(MODULES), MODULES, true));
    }
    for path in ["/tmp", "/run"] {
        mounts.push(json!({
            "destination": path, "type": "tmpfs", "source": "tmpfs", "options": ["rw", "nosuid", "nodev"],
        }));
    }
    let volumes: Vec<Value> = spec.volumes.iter().map(|path| json!({"Name": "", "Dest": path})).collect();
    let network = json!({"static_ips": [place.address.to_string()], "aliases": [spec.name]});
    let mut body = json!({
        "name": spec.name,
        "hostname": spec.name,
        "image": place.image,
        "terminal": true,
        "labels": labels(spec, place),
        "env": environment,
        "stop_signal": spec.stop_signal,
        "privileged": true,
        "apparmor_profile": "unconfined",
        "seccomp_profile_path": "unconfined",
        "cgroupns": {"nsmode": "private"},
        // With its help for systemd, a container has the hierarchy of the machine.
        "systemd": "false",
        "restart_policy": "on-failure",
        "restart_tries": 1,
        "netns": {"nsmode": "bridge"},
        "Networks": {place.network.clone(): network},
        "dns_server": spec.name_servers,
        "mounts": mounts,
        "volumes": volumes,
    });
    if let Init::Command(words) = &spec.init {
        body["entrypoint"] = json!(words.get(..1));
        body["command"] = json!(words.get(1..));
    }
    body
}

/// Returns a mount, which is refused if the machine does not have the source.
fn bind(source: &Path, target: &str, read_only: bool) -> Value {
    let rights = if read_only { "ro" } else { "rw" };
    json!({
        "destination": target, "type": "bind", "source": source.to_string_lossy(),
        "options": ["rbind", "rprivate", rights],
    })
}
