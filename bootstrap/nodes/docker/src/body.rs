//! The body of the call that creates a container (`POST /containers/create`). Everything here is pure.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::Path;

use pod_processes::shim::ONE_THREAD;
use serde_json::{Value, json};
use system_containers::{Init, Spec};

use crate::balancer::PROGRAM;

/// Label of a container: the data directory that has created it.
pub(crate) const LABEL_OWNER: &str = "firstlight.dev/data-directory";
/// Label of a container: its address, which it has whether it runs or not.
pub(crate) const LABEL_ADDRESS: &str = "firstlight.dev/address";
/// Label of a container: the network of its address. Podman does not say which it is.
pub(crate) const LABEL_NETWORK: &str = "firstlight.dev/network";
/// Label of a container: it is a balancer, whose image nobody has chosen.
pub(crate) const LABEL_BALANCER: &str = "firstlight.dev/balancer";
/// The labels that no user of a container sees.
pub(crate) const LABELS: [&str; 4] = [LABEL_OWNER, LABEL_ADDRESS, LABEL_NETWORK, LABEL_BALANCER];

/// Where kernel modules are.
pub(crate) const MODULES: &str = "/lib/modules";

/// What a container has besides what its user asks for.
#[derive(Clone, Debug)]
pub struct Place {
    /// The name of the data directory.
    pub owner: String,
    /// The image: that of the [`Spec`], or the one of this program for a balancer.
    pub image: String,
    /// The network.
    pub network: String,
    /// The address in it.
    pub address: Ipv4Addr,
    /// The user and the group of this process, whose files a balancer reads.
    pub user: (u32, u32),
    /// Whether this machine has kernel modules.
    pub has_modules: bool,
    /// Whether the daemon maps users of containers to others of the machine.
    pub maps_users: bool,
}

/// Returns the body for a container: that of Cluster API's Dev provider (`docs/nodes.md` has what differs), with an address that stays and
/// systemd's signal to halt.
pub fn body(spec: &Spec, place: &Place) -> Value {
    let is_balancer = spec.init == Init::Balancer;
    let endpoint = json!({
        "Aliases": [spec.name], "IPAMConfig": {"IPv4Address": place.address.to_string()},
    });
    let mut body = json!({
        "Hostname": spec.name,
        "Image": place.image,
        "Tty": true,
        "Labels": labels(spec, place),
        "Env": environment(spec),
        "StopSignal": signal(spec.stop_signal),
        "HostConfig": if is_balancer { balancer(spec, place) } else { node(spec, place) },
        "NetworkingConfig": {"EndpointsConfig": {place.network.clone(): endpoint}},
    });
    let volumes: BTreeMap<&str, Value> =
        spec.volumes.iter().map(|volume| (volume.as_str(), json!({}))).collect();
    body["Volumes"] = json!(volumes);
    match &spec.init {
        // The entrypoint and the command of the image.
        Init::System => {}
        Init::Command(words) => {
            body["Entrypoint"] = json!(words.get(..1));
            body["Cmd"] = json!(words.get(1..));
        }
        Init::Balancer => {
            body["Entrypoint"] = json!([PROGRAM]);
            body["User"] = json!(format!("{}:{}", place.user.0, place.user.1));
        }
    }
    body
}

/// Returns the labels of a container: those that its user gives it, and those of the runtime.
pub(crate) fn labels<'a>(spec: &'a Spec, place: &Place) -> BTreeMap<&'a str, String> {
    let mut labels: BTreeMap<&str, String> =
        spec.labels.iter().map(|(key, value)| (key.as_str(), value.clone())).collect();
    labels.insert(LABEL_OWNER, place.owner.clone());
    labels.insert(LABEL_ADDRESS, place.address.to_string());
    labels.insert(LABEL_NETWORK, place.network.clone());
    if spec.init == Init::Balancer {
        labels.insert(LABEL_BALANCER, "true".to_owned());
    }
    labels
}

/// Returns the variables of a container, as `NAME=VALUE`.
pub(crate) fn environment(spec: &Spec) -> Vec<String> {
    let own = spec.environment.iter().map(|(name, value)| format!("{name}={value}"));
    let (name, value) = match spec.init {
        // Rights are given up by one thread for itself.
        Init::Balancer => ONE_THREAD,
        // systemd knows by it that it is in a container, and which kind: the images of kind expect this one.
        _ => ("container", "docker"),
    };
    let further = (!spec.environment.contains_key(name)).then(|| format!("{name}={value}"));
    own.chain(further).collect()
}

/// Returns a signal as Docker writes it.
fn signal(number: i32) -> String {
    match number {
        15 => "SIGTERM".to_owned(),
        // The first real-time signal that the C library leaves to programs is 34.
        34 => "SIGRTMIN".to_owned(),
        35..=49 => format!("SIGRTMIN+{}", number - 34),
        other => other.to_string(),
    }
}

fn node(spec: &Spec, place: &Place) -> Value {
    let mut mounts = mounts(spec);
    if place.has_modules {
        mounts.push(bind(Path::new(MODULES), MODULES, true));
    }
    let mut config = json!({
        "Privileged": true,
        "SecurityOpt": ["seccomp=unconfined", "apparmor=unconfined"],
        "CgroupnsMode": "private",
        "Init": false,
        "NetworkMode": place.network,
        // It starts again with the machine, and once if its init ends by itself.
        "RestartPolicy": {"Name": "on-failure", "MaximumRetryCount": 1},
        "Tmpfs": {"/tmp": "", "/run": ""},
        "Mounts": mounts,
        "Dns": spec.name_servers,
    });
    map_users(&mut config, place);
    config
}

/// A balancer has no privilege and sees nothing but its mounts. As root's process, it gives up its user after it has opened them.
fn balancer(spec: &Spec, place: &Place) -> Value {
    let renounces: &[&str] = match place.user.0 {
        0 => &["SETUID", "SETGID", "SETPCAP"],
        _ => &[],
    };
    let mut config = json!({
        "CapDrop": ["ALL"],
        "CapAdd": renounces,
        "SecurityOpt": ["no-new-privileges", "label=disable"],
        "ReadonlyRootfs": true,
        "Init": false,
        "NetworkMode": place.network,
        "RestartPolicy": {"Name": "on-failure", "MaximumRetryCount": 0},
        "Sysctls": {"net.ipv4.ip_unprivileged_port_start": "0"},
        "Mounts": mounts(spec),
    });
    map_users(&mut config, place);
    config
}

/// Keeps the users of this machine, without which nothing is privileged and no file of a mount is one's own.
fn map_users(config: &mut Value, place: &Place) {
    if place.maps_users {
        config["UsernsMode"] = json!("host");
    }
}

fn mounts(spec: &Spec) -> Vec<Value> {
    spec.mounts.iter().map(|mount| bind(&mount.source, &mount.target, mount.read_only)).collect()
}

/// Returns a mount, which is refused if the machine does not have the source. `Binds` would make a folder there.
fn bind(source: &Path, target: &str, read_only: bool) -> Value {
    json!({"Type": "bind", "Source": source.to_string_lossy(), "Target": target, "ReadOnly": read_only})
}
