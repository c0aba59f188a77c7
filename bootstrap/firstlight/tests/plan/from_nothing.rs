//! Plans that begin with nothing, or could not be begun.

use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::DateTime;
use clap::Parser;
use firstlight::cli::{Cli, Command};
use firstlight::commands::plan;
use firstlight::manifests::read::{Document, parse, read_all};
use firstlight::plan::action::Verb;
use firstlight::plan::stand_ins::plan::Durations;
use firstlight::plan::{Ending, Plan, Settings, State, play};
use serde_json::json;

pub const SETTINGS: Settings = Settings {
    durations: Durations {
        machine: Duration::from_secs(180),
        control_plane: Duration::from_secs(240),
        infrastructure: Duration::from_secs(60),
    },
    limit: Duration::from_secs(24 * 3600),
    begin: match DateTime::from_timestamp(1_800_000_000, 0) {
        Some(time) => time,
        None => DateTime::UNIX_EPOCH,
    },
};

pub fn example(path: &str) -> Vec<Document> {
    read_all(&[PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(path)]).unwrap()
}

fn created(plan: &Plan, kind: &str) -> usize {
    plan.actions.iter().filter(|action| action.kind == kind && action.action == Verb::Create).count()
}

#[test]
fn the_creation_of_a_cluster_of_a_class_is_played_and_is_the_same_each_time() {
    let documents = example("clusterclass");
    let plan = play(&State::default(), &documents, &SETTINGS).unwrap();
    assert_eq!(plan.ending, Ending::Finished, "{plan:#?}");
    assert_eq!((created(&plan, "Cluster"), created(&plan, "KubeadmControlPlane")), (1, 1));
    assert_eq!(plan.machines.created, usize::try_from(plan.machines.wanted).unwrap());
    assert_eq!(created(&plan, "Machine"), plan.machines.created);
    assert!(plan.machines.created >= 7 && plan.machines.deleted == 0, "{:?}", plan.machines);
    assert!(plan.seconds > 0);
    assert_eq!(play(&State::default(), &documents, &SETTINGS).unwrap(), plan);
}

#[test]
fn what_an_apply_refuses_is_its_error() {
    let cluster = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: c}\nspec:\n";
    for (spec, expected) in [
        (
            "  topology:\n    classRef: {name: absent}\n    version: v1.36.0\n",
            "the ClusterClass default/absent does not exist",
        ),
        ("  clusterNetwork:\n    services: {cidrBlocks: [nowhere]}\n", "cidrBlocks"),
    ] {
        let documents = parse("cluster.yaml", &format!("{cluster}{spec}")).unwrap();
        let error = play(&State::default(), &documents, &SETTINGS).unwrap_err().to_string();
        assert!(error.starts_with("cluster.yaml:") && error.contains(expected), "{error}");
    }
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (cluster, kubeconfig) = (folder.path().join("cluster.yaml"), folder.path().join("kubeconfig"));
    std::fs::write(&cluster, "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: c}\n")
        .unwrap();
    let config = "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n\
                  contexts: [{name: c, context: {cluster: c, user: c}}]\n\
                  current-context: c\nusers: [{name: c, user: {token: t}}]\n";
    std::fs::write(&kubeconfig, config).unwrap();
    let file = |path: &Path| path.to_str().unwrap().to_owned();
    let arguments = ["firstlight", "plan", "-f", &file(&cluster), "--kubeconfig", &file(&kubeconfig)];
    let Command::Plan(options) = Cli::parse_from(arguments).command else { panic!("not plan") };
    let error = format!("{:#}", plan::run(&options).await.unwrap_err());
    assert!(error.contains("does not answer: https://127.0.0.1:1: Connection refused"), "{error}");
}

#[test]
fn a_change_that_the_server_refuses_again_and_again_ends_soon() {
    let mut documents = example("clusterclass");
    let class = documents.iter_mut().find(|document| document.object["kind"] == "ClusterClass").unwrap();
    let selector = json!({"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlaneTemplate",
        "matchResources": {"controlPlane": true}});
    let operation =
        json!({"op": "add", "path": "/spec/template/spec/kubeadmConfigSpec/format", "value": "none"});
    let patch =
        json!({"name": "refused", "definitions": [{"selector": selector, "jsonPatches": [operation]}]});
    class.object["spec"]["patches"].as_array_mut().unwrap().push(patch);
    let plan = play(&State::default(), &documents, &SETTINGS).unwrap();
    assert_eq!(plan.ending, Ending::Unfinished, "{plan:#?}");
    assert!(plan.seconds < 3600, "it repeats itself for {} s", plan.seconds);
    let checks = |verb| {
        plan.actions
            .iter()
            .filter(|action| action.kind == "MachineHealthCheck" && action.action == verb)
            .count()
    };
    let (created, deleted) = (checks(Verb::Create), checks(Verb::Delete));
    assert!(created - deleted <= 1, "no attempt leaves its health check behind: {created} and {deleted}");
    let causes: Vec<&String> = plan.remaining.iter().flat_map(|remaining| &remaining.causes).collect();
    assert!(causes.iter().any(|cause| cause.contains("kubeadmConfigSpec.format")), "{causes:?}");
    assert!(
        plan.notes.iter().any(|note| note.contains("repeats the same without an end")),
        "{:?}",
        plan.notes
    );
}
