//! The call that creates a container, beside the one of Cluster API's Dev provider (docs/nodes.md, recorded in `data/create.json`).

use std::net::Ipv4Addr;
use std::path::PathBuf;

use node_docker::{Place, body, libpod_body};
use serde_json::{Value, json};
use system_containers::{Init, Mount, Spec};

fn place() -> Place {
    Place {
        owner: "0123456789abcdef".to_owned(),
        image: "kindest/node:v1.36.2".to_owned(),
        network: "kind".to_owned(),
        address: Ipv4Addr::new(10, 90, 0, 2),
        user: (0, 0),
        has_modules: true,
        maps_users: false,
    }
}

fn recorded(name: &str) -> Value {
    let all: Value = serde_json::from_str(include_str!("data/create.json")).unwrap();
    all[name]["body (empty fields left out)"].clone()
}

fn without_empty(value: &Value) -> Value {
    let Value::Object(fields) = value else { return value.clone() };
    let kept = fields.iter().map(|(key, value)| (key.clone(), without_empty(value)));
    kept.filter(|(_, value)| !matches!(value, Value::Null) && *value != json!({}) && *value != json!([]))
        .collect()
}

#[test]
fn a_node_is_created_as_the_dev_provider_does() {
    let mut spec = Spec::new("d1-md-2t56g-xn95s", "kindest/node:v1.36.2");
    for (key, value) in [
        ("io.x-k8s.cluster.failureDomain", "fd3"),
        ("io.x-k8s.kind.cluster", "d1"),
        ("io.x-k8s.kind.role", "worker"),
    ] {
        spec.labels.insert(key.to_owned(), value.to_owned());
    }
    spec.mounts.push(Mount {
        source: PathBuf::from("/etc/hostname"),
        target: "/example".to_owned(),
        read_only: true,
    });
    let (mut made, mut theirs) = (without_empty(&body(&spec, &place())), without_empty(&recorded("worker")));
    // What is better: the data directory, an address that stays, a signal that systemd understands.
    let labels = made["Labels"].as_object_mut().unwrap();
    assert_eq!(labels.remove("firstlight.dev/data-directory").unwrap(), "0123456789abcdef");
    assert_eq!(labels.remove("firstlight.dev/address").unwrap(), "10.90.0.2");
    assert_eq!(labels.remove("firstlight.dev/network").unwrap(), "kind");
    let fields = made.as_object_mut().unwrap();
    assert_eq!(fields.remove("StopSignal").unwrap(), "SIGRTMIN+3");
    let endpoint = fields.remove("NetworkingConfig").unwrap()["EndpointsConfig"]["kind"].clone();
    assert_eq!(
        endpoint,
        json!({"Aliases": ["d1-md-2t56g-xn95s"], "IPAMConfig": {"IPv4Address": "10.90.0.2"}})
    );
    // What the recording has in other words: the image's variables, mounts that are refused if their source is missing, empty objects.
    assert_eq!(fields.remove("Env").unwrap(), json!(["container=docker"]));
    assert!(fields.remove("Volumes").is_none(), "an empty object inside is left out");
    assert_eq!(body(&spec, &place())["Volumes"], json!({"/var": {}}));
    let config = made["HostConfig"].as_object_mut().unwrap();
    let mounts = config.remove("Mounts").unwrap();
    assert_eq!(
        mounts,
        json!([
            {"Type": "bind", "Source": "/etc/hostname", "Target": "/example", "ReadOnly": true},
            {"Type": "bind", "Source": "/lib/modules", "Target": "/lib/modules", "ReadOnly": true},
        ])
    );
    assert_eq!(config.remove("Tmpfs").unwrap(), json!({"/tmp": "", "/run": ""}));
    let config = theirs["HostConfig"].as_object_mut().unwrap();
    config.remove("Binds");
    config.remove("ConsoleSize");
    assert_eq!(made, theirs);
}

#[test]
fn a_balancer_has_no_privilege() {
    let spec = Spec::balancer("d1-lb", &PathBuf::from("/d/configuration"), &PathBuf::from("/d/status"));
    let made = body(&spec, &place());
    assert_eq!(made["Entrypoint"], json!(["/firstlight-node-balancer"]));
    assert_eq!(made["User"], "0:0");
    assert_eq!(made["StopSignal"], "SIGTERM");
    // A thread of the allocator would stay root's.
    assert_eq!(made["Env"], json!(["_RJEM_MALLOC_CONF=background_thread:false"]));
    let config = &made["HostConfig"];
    assert!(config["Privileged"].is_null());
    assert_eq!(config["CapDrop"], json!(["ALL"]));
    // It gives up root's user by them, and then them.
    assert_eq!(config["CapAdd"], json!(["SETUID", "SETGID", "SETPCAP"]));
    assert_eq!(config["ReadonlyRootfs"], true);
    let of_user = body(&spec, &Place { user: (1000, 1001), ..place() });
    assert_eq!((&of_user["User"], &of_user["HostConfig"]["CapAdd"]), (&json!("1000:1001"), &json!([])));
}

/// What Podman is told in its own words where it has version 1 of the control groups.
#[test]
fn podmans_own_call_asks_for_the_same() {
    let mut spec = Spec::new("d1-cp-1", "kindest/node:v1.36.2");
    spec.init = Init::Command(vec!["/entry".to_owned(), "/sbin/init".to_owned()]);
    spec.mounts.push(Mount { source: PathBuf::from("/a"), target: "/b".to_owned(), read_only: true });
    let (theirs, own) = (body(&spec, &place()), libpod_body(&spec, &place()));
    assert_eq!((&own["cgroupns"], &own["systemd"]), (&json!({"nsmode": "private"}), &json!("false")));
    assert_eq!((&own["labels"], &own["name"]), (&theirs["Labels"], &theirs["Hostname"]));
    assert_eq!((&own["entrypoint"], &own["command"]), (&theirs["Entrypoint"], &theirs["Cmd"]));
    assert_eq!((&own["stop_signal"], &own["env"]), (&json!(37), &json!({"container": "docker"})));
    assert_eq!(own["Networks"]["kind"], json!({"static_ips": ["10.90.0.2"], "aliases": ["d1-cp-1"]}));
    assert_eq!(own["volumes"], json!([{"Name": "", "Dest": "/var"}]));
    let mounted = own["mounts"].as_array().unwrap().iter().map(|mount| &mount["destination"]);
    assert_eq!(mounted.collect::<Vec<_>>(), ["/b", "/lib/modules", "/tmp", "/run"]);
    assert_eq!(own["mounts"][0]["options"], json!(["rbind", "rprivate", "ro"]));
}

#[test]
fn a_command_takes_the_place_of_the_entrypoint() {
    let mut spec = Spec::new("a", "image");
    spec.init = Init::Command(vec!["/entry".to_owned(), "/sbin/init".to_owned()]);
    spec.stop_signal = 9;
    let made = body(&spec, &Place { maps_users: true, has_modules: false, ..place() });
    assert_eq!((&made["Entrypoint"], &made["Cmd"]), (&json!(["/entry"]), &json!(["/sbin/init"])));
    assert_eq!((&made["StopSignal"], &made["HostConfig"]["UsernsMode"]), (&json!("9"), &json!("host")));
}
