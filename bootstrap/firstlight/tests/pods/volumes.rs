//! The volumes of Pods: where they are mounted, and what a hostile container makes of them. All of it with a server of root, and with one of an
//! ordinary user.

use k8s_openapi::api::core::v1::ConfigMap;

use super::attacker::{LINKS, VOLUME};
use super::program::ROLE;
use super::*;

/// What only this machine must see.
const SECRET: &str = "of-this-machine-alone";

impl Machine {
    async fn create<K>(&self, object: Value)
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>
            + Clone
            + std::fmt::Debug
            + serde::Serialize
            + serde::de::DeserializeOwned,
        K::DynamicType: Default,
    {
        let api = Api::<K>::namespaced(self.client.clone(), NAMESPACE);
        api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
    }

    /// Creates a Pod with these containers and volumes.
    async fn run(&self, name: &str, policy: &str, init: Value, containers: Value, volumes: Value) {
        let pod = json!({
            "metadata": {"name": name, "labels": {"app": name}},
            "spec": {
                "restartPolicy": policy, "terminationGracePeriodSeconds": 1,
                "initContainers": init, "containers": containers, "volumes": volumes,
            },
        });
        self.create::<Pod>(pod).await;
    }

    /// Makes a folder that no Pod has, with a file `key`.
    fn victim(&self) -> std::path::PathBuf {
        let victim = self.folder.path().join("victim");
        std::fs::create_dir(&victim).unwrap();
        std::fs::write(victim.join("key"), SECRET).unwrap();
        victim
    }
}

/// Returns a container that runs a test of [`super::attacker`].
fn attacker(name: &str, test: &str, role: &str, mounts: Value) -> Value {
    json!({
        "name": name, "image": image::PROGRAM_NAME, "command": [image::PROGRAM],
        "args": ["--exact", format!("pods::attacker::{test}"), "--nocapture"],
        "env": [{"name": ROLE, "value": role}], "volumeMounts": mounts,
    })
}

fn shell(name: &str, script: &str, mounts: Value) -> Value {
    json!({"name": name, "image": image::NAME, "args": [script], "volumeMounts": mounts})
}

fn containers(pod: &Pod) -> Vec<Value> {
    let status = serde_json::to_value(pod.status.as_ref()).unwrap();
    status["containerStatuses"].as_array().cloned().unwrap_or_default()
}

fn have_ended(pod: &Pod) -> bool {
    let all = containers(pod);
    !all.is_empty() && all.iter().all(|one| one["state"]["terminated"].is_object())
}

/// Plays a test with a server of root, or with one of an ordinary user; both if this is root.
macro_rules! as_root_and_as_a_user {
    ($($name:ident)*) => {
        mod as_root {
            $(#[tokio::test]
            async fn $name() {
                super::$name(super::Machine::start_with_both(false, &["--store", "memory"]).await).await;
            })*
        }
        mod as_a_user {
            $(#[tokio::test]
            async fn $name() {
                super::$name(super::Machine::start_with_both(true, &["--store", "memory"]).await).await;
            })*
        }
    };
}

as_root_and_as_a_user! {
    volumes_are_where_they_belong
    a_volume_of_the_server_is_read_only
    a_sub_path_leads_nowhere_else
    a_race_of_two_containers_leads_nowhere_else
    last_words_are_cut
}

async fn volumes_are_where_they_belong(machine: Machine) {
    machine.create::<ConfigMap>(json!({"metadata": {"name": "ca"}, "data": {"ca.crt": "authority"}})).await;
    machine
        .create::<Secret>(json!({"metadata": {"name": "own"}, "stringData": {"password": "sesame"}}))
        .await;
    let script = "cat /tmp/certs/ca.crt /etc/authority /nested/password; \
        echo made > /made/file; cat /all/made/here/file; \
        echo inner > /nested/inner/file; cat /all/file; echo all-is-there; while true; do sleep 1; done";
    let more = json!({
        "container": {"volumeMounts": [
            {"name": "ca", "mountPath": "/tmp/certs"},
            {"name": "tmp", "mountPath": "/tmp"},
            {"name": "ca", "mountPath": "/etc/authority", "subPath": "ca.crt"},
            {"name": "data", "mountPath": "/nested/inner"},
            {"name": "own", "mountPath": "/nested"},
            {"name": "data", "mountPath": "/all"},
            {"name": "data", "mountPath": "/made", "subPath": "made/here"},
        ]},
        "spec": {"volumes": [
            {"name": "ca", "configMap": {"name": "ca"}},
            {"name": "own", "secret": {"secretName": "own"}},
            {"name": "tmp", "emptyDir": {}},
            {"name": "data", "emptyDir": {}},
        ]},
    });
    machine.deploy("mounts", script, more).await;
    let pod = machine.pod("mounts", "ready", is_ready).await;
    let log = machine.logged(&pod, "all-is-there").await;
    assert_eq!(log, "authorityauthoritysesamemade\ninner\nall-is-there\n");
}

async fn a_volume_of_the_server_is_read_only(machine: Machine) {
    machine.create::<ConfigMap>(json!({"metadata": {"name": "map"}, "data": {"key": "map"}})).await;
    machine.create::<Secret>(json!({"metadata": {"name": "own"}, "stringData": {"key": "own"}})).await;
    let field = json!([{"path": "key", "fieldRef": {"fieldPath": "metadata.name"}}]);
    let volumes = json!([
        {"name": "map", "configMap": {"name": "map"}},
        {"name": "own", "secret": {"secretName": "own"}},
        {"name": "field", "downwardAPI": {"items": field}},
        {"name": "all", "projected": {"sources": [
            {"secret": {"name": "own"}}, {"configMap": {"name": "map", "items": [{"key": "key", "path": "other"}]}},
        ]}},
    ]);
    let mounts = json!([
        {"name": "map", "mountPath": "/map"},
        {"name": "own", "mountPath": "/own", "readOnly": false},
        {"name": "field", "mountPath": "/field"},
        {"name": "all", "mountPath": "/all"},
    ]);
    let mut vandal = attacker("vandal", "vandal", "/map:/own:/field:/all", mounts);
    vandal["securityContext"] = json!({"runAsUser": 0});
    machine.run("vandal", "Never", json!([]), json!([vandal]), volumes).await;
    let pod = machine.pod("vandal", "ready", is_ready).await;
    let log = machine.logged(&pod, "tried everything").await;
    let tried: Vec<&str> = log.lines().filter(|line| line.starts_with('/')).collect();
    assert_eq!(tried.len(), 4 * 8, "{log}");
    for line in tried {
        let expected =
            if line.contains(" mount ") { "Err(PermissionDenied)" } else { "Err(ReadOnlyFilesystem)" };
        assert!(line.ends_with(expected), "{line}");
    }
}

async fn a_sub_path_leads_nowhere_else(machine: Machine) {
    let victim = machine.victim();
    let mount = |path: &str| json!([{"name": "v", "mountPath": "/x", "subPath": path}]);
    let script = "cat /x/key; echo written > /x/written";
    let thieves =
        LINKS.iter().enumerate().map(|(at, link)| shell(&format!("thief-{at}"), script, mount(link)));
    let all = thieves.chain([shell("honest", "cat /x/key", mount("real"))]).collect();
    let init =
        attacker("planter", "planter", victim.to_str().unwrap(), json!([{"name": "v", "mountPath": VOLUME}]));
    let volumes = json!([{"name": "v", "emptyDir": {}}]);
    machine.run("thieves", "Never", json!([init]), all, volumes).await;
    let pod = machine.pod("thieves", "ended", have_ended).await;
    for one in containers(&pod) {
        let end = &one["state"]["terminated"];
        if one["name"] == "honest" {
            assert_eq!(end["exitCode"], 0, "{one}");
            continue;
        }
        assert_eq!(end["exitCode"], 127, "{one}");
        let message = end["message"].as_str().unwrap_or_default();
        assert!(message.contains("a part of it is a symbolic link"), "{one}");
    }
    let left: Vec<_> = std::fs::read_dir(&victim).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["key"]);
}

async fn a_race_of_two_containers_leads_nowhere_else(machine: Machine) {
    let victim = machine.victim();
    let racer =
        attacker("racer", "racer", victim.to_str().unwrap(), json!([{"name": "v", "mountPath": VOLUME}]));
    // The one looks through the link, the other has a place for a mount behind it.
    let mounts = json!([
        {"name": "v", "mountPath": "/x", "subPath": "x"},
        {"name": "v", "mountPath": "/w"},
        {"name": "other", "mountPath": "/w/x/place"},
    ]);
    let script = "cat /x/key; echo written > /x/written; exit 1";
    let all = (0..6).map(|at| shell(&format!("thief-{at}"), script, mounts.clone())).chain([racer]).collect();
    let volumes = json!([{"name": "v", "emptyDir": {}}, {"name": "other", "emptyDir": {}}]);
    machine.run("race", "Always", json!([]), all, volumes).await;
    let were_there = |pod: &Pod| {
        containers(pod).iter().all(|one| one["name"] == "racer" || one["restartCount"].as_i64() >= Some(1))
    };
    let pod = machine.pod("race", "restarted", |pod| !containers(pod).is_empty() && were_there(pod)).await;
    for one in containers(&pod) {
        for previous in [false, true] {
            let container = one["name"].as_str().map(str::to_owned);
            let parameters = LogParams { previous, container, ..LogParams::default() };
            let log = machine.pods().logs(&pod.name_any(), &parameters).await.unwrap_or_default();
            assert!(!log.contains(SECRET), "{log}");
        }
    }
    let left: Vec<_> = std::fs::read_dir(&victim).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["key"]);
}

async fn last_words_are_cut(machine: Machine) {
    const GIB: u64 = 1 << 30;
    let roles = ["4095", "4096", "4097", "3Gi"];
    let all = roles.iter().map(|role| attacker(&role.to_lowercase(), "speaker", role, json!([]))).collect();
    machine.run("speakers", "Never", json!([]), all, json!([])).await;
    let pod = machine.pod("speakers", "ended", have_ended).await;
    for (one, expected) in containers(&pod).iter().zip([4095, 4096, 4096, 4096]) {
        let message = one["state"]["terminated"]["message"].as_str().unwrap_or_default();
        assert_eq!(message.len(), expected, "{}", one["name"]);
        assert!(
            message.ends_with(if one["name"] == "3gi" { "last words" } else { "xxx" }),
            "{}",
            one["name"]
        );
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", machine.server.id().unwrap())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches("kB").trim().parse().unwrap();
    assert!(peak * 1024 < 2 * GIB, "the server had {peak} KiB in memory");
}
