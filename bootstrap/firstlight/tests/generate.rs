//! `generate cluster` with the template of real nodes, which is built in.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::path::Path;

use serde_json::{Value, json};
use tokio::process::Command;

use crate::place::Place;

const EXAMPLE: &str = include_str!("../../../examples/local-cluster.yaml");

/// Runs `generate cluster local` in a folder, and returns its objects, or the last line of its error.
async fn generate(folder: &Path, arguments: &[&str]) -> Result<Vec<Value>, String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firstlight"));
    command.args([
        "generate",
        "cluster",
        "local",
        "--kubernetes-version=v1.36.1",
        "--worker-machine-count=1",
    ]);
    command.args(arguments).env("KUBECONFIG", "kubeconfig").env("HOME", folder).current_dir(folder);
    let output = command.output().await.unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    match output.status.success() {
        true => Ok(clusterctl::yaml::objects(&output.stdout).unwrap()),
        false => Err(said.lines().last().unwrap_or_default().to_owned()),
    }
}

/// Returns the kinds of the objects that mention a network of Pods.
fn network(objects: &[Value]) -> Vec<&str> {
    let mentions = |object: &&Value| {
        ["pods-network", "default-cni", "local-cni"].iter().any(|name| object.to_string().contains(name))
    };
    let mut kinds: Vec<_> =
        objects.iter().filter(mentions).filter_map(|object| object["kind"].as_str()).collect();
    kinds.sort_unstable();
    kinds
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_of_real_nodes_is_that_of_the_example() {
    let place = Place::start("core,containers", &[]).await;
    let folder = place.folder.path();
    let mut example = clusterctl::yaml::objects(EXAMPLE.as_bytes()).unwrap();
    let mut made = generate(folder, &["-i", "docker"]).await.unwrap();
    for objects in [&mut example, &mut made] {
        objects.sort_by_key(|object| object["kind"].to_string());
    }
    assert_eq!(made, example);
    for arguments in [
        &["--cni", "bridge"][..],
        &["-i", "docker", "--cni", "bridge"],
        &["--kubeconfig=nothing", "-i=docker"],
    ] {
        assert_eq!(
            network(&generate(folder, arguments).await.unwrap()),
            ["KubeadmConfigTemplate", "KubeadmControlPlane"]
        );
    }
    let simulated = generate(folder, &[]).await.unwrap();
    assert!(
        simulated.iter().any(|object| object["spec"]["backend"]["inMemory"].is_object()),
        "{simulated:?}"
    );
    place.process.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_network_of_pods_is_a_resource_set() {
    let place = Place::start("core,containers", &[]).await;
    let folder = place.folder.path();
    // Text that looks like a variable of the template stays as it is.
    std::fs::write(folder.join("cni.yaml"), "kind: ConfigMap\nname: ${NAME}\n").unwrap();
    assert_eq!(network(&generate(folder, &["--cni", "none"]).await.unwrap()), [""; 0]);
    let objects = generate(folder, &["--cni", "cni.yaml"]).await.unwrap();
    assert_eq!(network(&objects), ["ClusterResourceSet", "ConfigMap"]);
    let of = |kind: &str| objects.iter().find(|object| object["kind"] == kind).unwrap();
    assert_eq!(of("ConfigMap")["data"], json!({"cni.yaml": "kind: ConfigMap\nname: ${NAME}\n"}));
    assert_eq!(
        of("ClusterResourceSet")["spec"]["clusterSelector"]["matchLabels"],
        of("Cluster")["metadata"]["labels"]
    );
    for (arguments, error) in [
        (
            &["--cni", "nothing.yaml"][..],
            "--cni: invalid GetFromURL operation: failed to read file \"nothing.yaml\"",
        ),
        (
            &["--cni", "none", "--from", "x.yaml"],
            "--cni chooses the network of the template that is built in (--infrastructure docker); another template brings its own",
        ),
        (
            &["-i", "docker", "--from", "x.yaml"],
            "invalid cluster template source: only one template can be used at time",
        ),
    ] {
        assert_eq!(generate(folder, arguments).await.unwrap_err(), format!("Error: {error}"));
    }
    for (name, text) in [("empty.yaml", ""), ("broken.yaml", "a: [\n"), ("list.yaml", "- a\n")] {
        std::fs::write(folder.join(name), text).unwrap();
        let refused = generate(folder, &["--cni", name]).await.unwrap_err();
        assert!(refused.contains(name), "{refused}");
    }
    let pipe = folder.join("pipe");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    for (name, kind) in [("/dev/zero", "a device"), ("pipe", "a named pipe")] {
        let refused = generate(folder, &["--cni", name]).await.unwrap_err();
        assert!(refused.contains(&format!("--cni: {name}: it is {kind} and no regular file")), "{refused}");
    }
    std::fs::write(folder.join("large.yaml"), "a".repeat(2_000_000)).unwrap();
    let refused = generate(folder, &["--cni", "large.yaml"]).await.unwrap_err();
    assert!(refused.contains("has 2000000 bytes"), "{refused}");
    place.process.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_without_nodes_makes_a_simulated_cluster() {
    let place = Place::start("core,simulated", &[]).await;
    let folder = place.folder.path();
    for arguments in [&[][..], &["-i", "docker"]] {
        let objects = generate(folder, arguments).await.unwrap();
        let simulates = |object: &Value| object["spec"]["backend"]["inMemory"].is_object();
        assert!(objects.iter().any(simulates), "{arguments:?}: {objects:?}");
    }
    let refused = generate(folder, &["--cni", "bridge"]).await.unwrap_err();
    assert!(refused.contains("is not built into this management cluster"), "{refused}");
    place.process.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_the_provider_says_so() {
    let place = Place::start("none", &[]).await;
    let refused = generate(place.folder.path(), &["--cni", "bridge"]).await.unwrap_err();
    assert!(refused.contains("is not built into this management cluster"), "{refused}");
    place.process.stop().await;
}
