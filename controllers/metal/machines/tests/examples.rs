//! The examples of clusters on bare metal: the API accepts them as they are written, and the data of the first machine are rendered from
//! them.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test")]

use std::path::Path;

use engine::Manager;
use k8s_openapi::api::core::v1::Secret;
use machinery::decode::{own, yaml_documents};
use schemas::admission::{Facts, admit};
use serde_json::Value;
use test_plane::Fixture;

const GROUPS: &[&str] = &[
    "bootstrap.cluster.x-k8s.io",
    "cluster.x-k8s.io",
    "controlplane.cluster.x-k8s.io",
    "infrastructure.cluster.x-k8s.io",
    "metal3.io",
];

fn start(manager: &Manager) {
    cluster_core::start(manager);
    kubeadm::start(manager);
    metal_machines::PROVIDERS.iter().for_each(|provider| provider.start(manager, &()));
}

/// Returns the objects of an example, with their defaults.
fn objects(example: &str) -> Vec<Value> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../metal/machines"))
        .join("../../../examples/bare-metal")
        .join(example);
    let mut objects = Vec::new();
    for name in ["hosts.yaml", "cluster.yaml", "control-plane.yaml", "workers.yaml"] {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        for (_, document) in yaml_documents(&text).unwrap() {
            let mut object = document.value;
            object["metadata"]["namespace"] = "default".into();
            let group = object["apiVersion"].as_str().unwrap().split_once('/').map_or("", |(group, _)| group);
            let (group, kind) = (group.to_owned(), object["kind"].as_str().unwrap().to_owned());
            let warnings = admit(&group, &kind, &mut object, None, false, &Facts::of_empty_server()).unwrap();
            assert_eq!(warnings, [""; 0], "{kind}");
            objects.push(object);
        }
    }
    objects
}

/// Checks that everything that was written is stored. A field that the API does not know is not.
fn is_stored(path: &str, written: &Value, stored: &Value) {
    match (written, stored) {
        (Value::Object(written), Value::Object(_)) => {
            for (name, value) in written.iter().filter(|(name, _)| *name != "stringData") {
                is_stored(&format!("{path}.{name}"), value, &stored[name]);
            }
        }
        (Value::Array(written), Value::Array(items)) if written.len() == items.len() => {
            written.iter().zip(items).for_each(|(written, stored)| is_stored(path, written, stored));
        }
        _ => assert_eq!(written, stored, "{path}"),
    }
}

/// Applies an example, and returns the cloud-init configuration of the first machine.
async fn rendered(example: &str) -> (Vec<Value>, Value) {
    let fixture = Fixture::new(GROUPS, start).await;
    let objects = objects(example);
    for object in &objects {
        let stored = serde_json::to_value(fixture.create(object.clone()).await).unwrap();
        is_stored(&format!("{}", object["kind"]), object, &stored);
    }
    let data = |manager: &Manager| {
        let secrets = manager.objects::<Secret>().all();
        let secret = secrets.into_iter().find(|secret| {
            let is_bootstrap = secret.type_.as_deref() == Some("cluster.x-k8s.io/secret");
            is_bootstrap && secret.data.as_ref().is_some_and(|data| data.contains_key("format"))
        });
        secret.map(|secret| String::from_utf8(secret.data.as_ref().unwrap()["value"].0.clone()).unwrap())
    };
    fixture.until("the data of the first machine", |manager| data(manager).is_some()).await;
    let text = data(&fixture.manager).unwrap();
    // Jinja's expressions are inside of quoted texts.
    let (_, configuration) = yaml_documents(&text).unwrap().remove(0);
    (objects, configuration.value)
}

fn find<'a>(objects: &'a [Value], kind: &str) -> &'a Value {
    objects.iter().find(|object| object["kind"] == kind).unwrap()
}

fn file(configuration: &Value, path: &str) -> String {
    let files = configuration["write_files"].as_array().unwrap();
    let file = files.iter().find(|file| file["path"] == path);
    file.unwrap_or_else(|| panic!("{path} is not in {configuration:#}"))["content"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// Returns the position of the first command that contains the text.
fn position(configuration: &Value, text: &str) -> usize {
    let commands = configuration["runcmd"].as_array().unwrap();
    let position = commands.iter().position(|command| command.as_str().unwrap_or_default().contains(text));
    position.unwrap_or_else(|| panic!("{text:?} is not in {commands:?}"))
}

#[tokio::test(start_paused = true)]
async fn a_cluster_of_two_machines() {
    let (_, configuration) = rendered("cluster").await;
    assert!(
        file(&configuration, "/run/kubeadm/kubeadm.yaml").contains("controlPlaneEndpoint: 10.0.0.10:6443")
    );
    assert!(position(&configuration, "kube-proxy.yaml >>") < position(&configuration, "kubeadm init"));
}

#[tokio::test(start_paused = true)]
async fn a_highly_available_cluster_has_its_virtual_address_before_kubeadm_runs() {
    const MANIFEST: &str = "/etc/kubernetes/manifests/kube-vip.yaml";
    let (objects, configuration) = rendered("cluster-highly-available").await;
    let endpoint = &find(&objects, "Metal3Cluster")["spec"]["controlPlaneEndpoint"];
    let (host, port) = (endpoint["host"].as_str().unwrap(), endpoint["port"].as_u64().unwrap());
    let manifest = file(&configuration, MANIFEST);
    let pod: Value = yaml_documents(&manifest).unwrap().remove(0).1.value;
    own::<k8s_openapi::api::core::v1::Pod>(pod.to_string().as_bytes()).unwrap();
    let variables = pod["spec"]["containers"][0]["env"].as_array().unwrap();
    let variable = |name: &str| {
        let found = variables.iter().find(|variable| variable["name"] == name);
        found.and_then(|variable| variable["value"].as_str()).map(str::to_owned)
    };
    assert_eq!((variable("address"), variable("port")), (Some(host.to_owned()), Some(port.to_string())));
    let init = file(&configuration, "/run/kubeadm/kubeadm.yaml");
    assert!(init.contains(&format!("controlPlaneEndpoint: {host}:{port}")), "{init}");
    assert!(init.contains("DirAvailable--etc-kubernetes-manifests"), "{init}");

    // The first machine uses super-admin.conf while kubeadm runs, and only then.
    let (before, after) = (",path: /etc/kubernetes/super-admin.conf,", ",path: /etc/kubernetes/admin.conf,'");
    let run = position(&configuration, "kubeadm init");
    let (before, after) = (position(&configuration, before), position(&configuration, after));
    assert!(before < run && run < after, "{before} {run} {after}");
    let path = |manifest: &str| {
        yaml_documents(manifest).unwrap().remove(0).1.value["spec"]["volumes"][0]["hostPath"]["path"].clone()
    };
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("kube-vip.yaml");
    std::fs::write(&copy, &manifest).unwrap();
    for (position, marker, expected) in [
        (before, "absent", "/etc/kubernetes/admin.conf"),
        (before, "kube-vip.yaml", "/etc/kubernetes/super-admin.conf"),
        (after, "kube-vip.yaml", "/etc/kubernetes/admin.conf"),
    ] {
        let command = configuration["runcmd"][position].as_str().unwrap();
        let command = command.replace(MANIFEST, copy.to_str().unwrap());
        let command =
            command.replace("/run/kubeadm/kubeadm.yaml", folder.path().join(marker).to_str().unwrap());
        assert!(
            std::process::Command::new("sh").args(["-c", &command]).status().unwrap().success(),
            "{command}"
        );
        assert_eq!(path(&std::fs::read_to_string(&copy).unwrap()), expected, "{command}");
    }
    assert_eq!(std::fs::read_to_string(&copy).unwrap(), manifest, "nothing else has changed");
}
