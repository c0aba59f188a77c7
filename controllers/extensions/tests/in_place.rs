//! Tables over the decision whether machines are updated in place, and the hooks for it over HTTPS.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::in_place::{Progress, Subject, Updater, nobody};
use net::{Network, RealNetwork};
use runtime_extensions::Hook;
use runtime_extensions::answers::{MachinePatches, MachineSetPatches, Patch};
use runtime_extensions::in_place::{
    Decision, Objects, machine_request, machine_set_request, of_machine, of_machine_set, update_request,
};
use serde_json::{Value, json};

use crate::extensions::support::server::Extension;
use crate::extensions::support::{client_over, create_discovered, fixture_without_controllers, registered};

fn patch(kind: &str, patch: &Value) -> Option<Patch> {
    Some(Patch { patch_type: kind.to_owned(), patch: Some(STANDARD.encode(patch.to_string())) })
}

fn machine(version: &str, memory: u32, files: Value) -> Objects {
    let object = |kind: &str, spec: Value| {
        json!({
            "apiVersion": "v1", "kind": kind, "spec": spec, "status": {"phase": "Running"},
            "metadata": {"name": "m", "namespace": "default", "uid": "1", "labels": {"a": "b"}, "managedFields": []},
        })
    };
    Objects {
        machine: object(
            "Machine",
            json!({"clusterName": "c", "version": version, "bootstrap": {"dataSecretName": version}}),
        ),
        infrastructure: Some(object("DevMachine", json!({"memory": memory, "backend": {"inMemory": {}}}))),
        bootstrap: Some(object("KubeadmConfig", json!({"files": files}))),
    }
}

fn rollout(reasons: &[&str]) -> Result<Decision, String> {
    Ok(Decision::Rollout(reasons.iter().map(|reason| (*reason).to_owned()).collect()))
}

#[test]
fn a_machine_is_updated_in_place_if_the_patches_make_all_changes() {
    let (current, desired) = (machine("v1", 1, json!([])), machine("v2", 2, json!([{"path": "/a"}])));
    let decide = |patches: MachinePatches| of_machine(&current, &desired, &patches);
    let merge = |spec: Value| patch("JSONMergePatch", &json!({"spec": spec}));
    let all = || MachinePatches {
        machine_patch: merge(json!({"version": "v2"})),
        infrastructure_machine_patch: patch(
            "JSONPatch",
            &json!([{"op": "replace", "path": "/spec/memory", "value": 2}]),
        ),
        bootstrap_config_patch: merge(json!({"files": [{"path": "/a"}]})),
    };
    assert_eq!(decide(all()), Ok(Decision::InPlace));
    let nothing = rollout(&["Machine: spec.version", "DevMachine: spec.memory", "KubeadmConfig: spec.files"]);
    assert_eq!(decide(MachinePatches::default()), nothing);
    let some = MachinePatches { infrastructure_machine_patch: None, ..all() };
    assert_eq!(decide(some), rollout(&["DevMachine: spec.memory"]));
    let too_much = merge(json!({"memory": 2, "disk": 3}));
    let more = MachinePatches { infrastructure_machine_patch: too_much, ..all() };
    assert_eq!(decide(more), rollout(&["DevMachine: spec.disk"]));
}

#[test]
fn fields_that_need_no_update_are_not_compared() {
    let with = |fields: Value| {
        let mut objects = machine("v1", 1, json!([]));
        objects.machine["spec"].as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        objects
    };
    let decide = |fields: Value| of_machine(&with(json!({})), &with(fields), &MachinePatches::default());
    for fields in [
        json!({"clusterName": "other", "providerID": "x", "infrastructureRef": {"name": "y"}}),
        json!({"bootstrap": {}, "minReadySeconds": 3, "readinessGates": [{}], "taints": [{}]}),
        json!({"deletion": {"nodeDrainTimeoutSeconds": 1, "nodeVolumeDetachTimeoutSeconds": 2, "nodeDeletionTimeoutSeconds": 3}}),
        json!({"failureDomain": ""}),
    ] {
        assert_eq!(decide(fields.clone()), Ok(Decision::InPlace), "{fields}");
    }
    assert_eq!(decide(json!({"failureDomain": "z"})), rollout(&["Machine: spec.failureDomain"]));
}

#[test]
fn what_does_not_exist_is_not_updated() {
    let current = machine("v1", 1, json!([]));
    let decide = |desired: &Objects| of_machine(&current, desired, &MachinePatches::default());
    let gone = Objects { infrastructure: None, ..current.clone() };
    assert_eq!(decide(&gone), rollout(&["the infrastructure does not exist"]));
    let bare = Objects { bootstrap: None, ..current.clone() };
    assert_eq!(decide(&bare), rollout(&["only one of both has a bootstrap configuration"]));
    assert_eq!(of_machine(&bare, &bare, &MachinePatches::default()), Ok(Decision::InPlace));
}

#[test]
fn patches_change_nothing_but_the_spec() {
    let current = machine("v1", 1, json!([]));
    let foreign = json!({"status": {"phase": "Failed"}, "metadata": {"name": "other", "labels": null}, "kind": "Secret"});
    let patches = MachinePatches {
        machine_patch: patch("JSONMergePatch", &foreign),
        infrastructure_machine_patch: patch("JSONPatch", &json!([{"op": "remove", "path": "/status"}])),
        bootstrap_config_patch: patch("JSONMergePatch", &json!({"spec": null})),
    };
    assert_eq!(
        of_machine(&current, &current, &patches),
        Ok(Decision::InPlace),
        "as if there were no patches"
    );
}

#[test]
fn patches_that_do_not_fit_are_errors() {
    let current = machine("v1", 1, json!([]));
    let operation = |operation: Value| patch("JSONPatch", &json!([operation]));
    let raw = |kind: &str, text: &str| Some(Patch { patch_type: kind.into(), patch: Some(text.into()) });
    for (machine_patch, expected) in [
        (operation(json!({"op": "remove", "path": "/spec/none"})), "the patch for Machine: "),
        (operation(json!({"op": "jump", "path": "/spec"})), "the patch for Machine: "),
        (patch("JSONPatch", &json!({})), "the patch for Machine: "),
        (patch("JSONMergePatch", &json!([])), "the patch for Machine: "),
        (raw("JSONPatch", "no base64!"), "the patch for Machine: it is not in base64: "),
        (raw("", "e30="), "the patch for Machine: patchType must be JSONPatch or JSONMergePatch, not \"\""),
        (
            raw("YAML", "e30="),
            "the patch for Machine: patchType must be JSONPatch or JSONMergePatch, not \"YAML\"",
        ),
    ] {
        let patches = MachinePatches { machine_patch, ..MachinePatches::default() };
        let error = of_machine(&current, &current, &patches).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
    let empty = MachinePatches { machine_patch: raw("JSONMergePatch", ""), ..MachinePatches::default() };
    assert_eq!(of_machine(&current, &current, &empty), Ok(Decision::InPlace));
}

fn machine_set(version: &str, memory: u32) -> Objects {
    let object = |kind: &str, spec: Value| json!({"kind": kind, "spec": {"replicas": memory, "template": {"spec": spec}}});
    Objects {
        machine: object(
            "MachineSet",
            json!({"version": version, "bootstrap": {"configRef": {"name": version}}}),
        ),
        infrastructure: Some(object("DevMachineTemplate", json!({"memory": memory}))),
        bootstrap: None,
    }
}

#[test]
fn only_the_templates_of_a_machine_set_count() {
    let (current, desired) = (machine_set("v1", 1), machine_set("v2", 2));
    let template =
        |spec: Value| patch("JSONMergePatch", &json!({"spec": {"replicas": 9, "template": {"spec": spec}}}));
    let patches = MachineSetPatches {
        machine_set_patch: template(json!({"version": "v2"})),
        infrastructure_machine_template_patch: template(json!({"memory": 2})),
        bootstrap_config_template_patch: template(json!({"ignored": true})),
    };
    assert_eq!(of_machine_set(&current, &desired, &patches), Ok(Decision::InPlace));
    assert_eq!(
        of_machine_set(&current, &desired, &MachineSetPatches::default()),
        rollout(&["MachineSet: spec.template.spec.version", "DevMachineTemplate: spec.template.spec.memory"])
    );
}

#[test]
fn no_value_and_not_every_field_is_in_a_reason() {
    let infrastructure = |secret: &str| {
        let fields: BTreeMap<String, &str> = (0..9).map(|number| (format!("f{number}"), secret)).collect();
        Objects { infrastructure: Some(json!({"kind": "X", "spec": fields})), ..machine("v1", 1, json!([])) }
    };
    let decided =
        of_machine(&infrastructure("hidden"), &infrastructure("secret"), &MachinePatches::default());
    assert_eq!(decided, rollout(&["X: spec.f0, spec.f1, spec.f2, spec.f3, spec.f4, …"]));
}

#[tokio::test]
async fn an_extension_is_asked_and_updates() {
    let network: Arc<dyn Network> = Arc::new(RealNetwork);
    let fixture = fixture_without_controllers().await;
    let extension = Extension::start(&network, fixture.manager.clock(), 0).await;
    let client = client_over(&fixture.manager, network);
    let handlers = json!([
        registered("can.ext", Hook::CanUpdateMachine, "Fail", 10),
        registered("set.ext", Hook::CanUpdateMachineSet, "Fail", 10),
        registered("update.ext", Hook::UpdateMachine, "Fail", 10),
    ]);
    create_discovered(&fixture, "ext", extension.spec(), handlers).await;
    let (current, desired) = (machine("v1", 1, json!([])), machine("v1", 2, json!([])));
    let patch = patch("JSONMergePatch", &json!({"spec": {"memory": 2}, "status": {"phase": "Failed"}}));
    extension.answers(Hook::CanUpdateMachine, "can", json!({"infrastructureMachinePatch": patch}));
    let only = client.only_handler(Hook::CanUpdateMachine, "default").await.unwrap().unwrap();
    let request = machine_request(&current, &desired);
    let answer =
        client.call(Hook::CanUpdateMachine, &only, "default", &BTreeMap::new(), &request).await.unwrap();
    let patches = serde_json::from_value(answer).unwrap();
    assert_eq!(of_machine(&current, &desired, &patches), Ok(Decision::InPlace));
    let sent = extension.received().pop().unwrap().body;
    let metadata = json!({"name": "m", "namespace": "default", "labels": {"a": "b"}});
    let machine =
        json!({"apiVersion": "v1", "kind": "Machine", "metadata": metadata, "spec": current.machine["spec"]});
    assert_eq!(sent["current"]["machine"], machine, "neither status nor bookkeeping");
    assert_eq!(sent["desired"]["infrastructureMachine"]["spec"]["memory"], 2);
    assert_eq!(sent["desired"]["bootstrapConfig"]["kind"], "KubeadmConfig");

    extension.answers(Hook::CanUpdateMachineSet, "set", json!({}));
    let request = machine_set_request(&machine_set("v1", 1), &machine_set("v2", 2));
    client.call(Hook::CanUpdateMachineSet, "set.ext", "default", &BTreeMap::new(), &request).await.unwrap();
    let sent = extension.received().pop().unwrap().body;
    assert_eq!(sent["current"]["infrastructureMachineTemplate"]["kind"], "DevMachineTemplate");
    assert_eq!(
        (&sent["desired"]["machineSet"]["kind"], sent["desired"].get("bootstrapConfigTemplate")),
        (&json!("MachineSet"), None)
    );

    extension.answers(Hook::UpdateMachine, "update", json!({"retryAfterSeconds": 3, "message": "half done"}));
    let request = update_request(&desired);
    let answer = client.call_all(Hook::UpdateMachine, "default", &request).await.unwrap();
    assert_eq!((answer.message.as_str(), answer.retry_after), ("half done", Some(Duration::from_secs(3))));

    // The same as those see it who own machines.
    let cluster = serde_json::from_value(json!({"metadata": {"name": "c", "namespace": "default"}})).unwrap();
    assert!(client.is_present(&cluster).await.unwrap());
    let decision = client.can_update(Subject::Machine, &cluster, &current, &desired).await.unwrap();
    assert_eq!(decision, Decision::InPlace);
    let (old, new) = (machine_set("v1", 1), machine_set("v2", 2));
    let decision = client.can_update(Subject::MachineSet, &cluster, &old, &new).await.unwrap();
    assert!(matches!(decision, Decision::Rollout(_)), "the extension makes no patches: {decision:?}");
    let progress = client.update_machine(&cluster, &desired).await.unwrap();
    let waits = Progress::Waits { message: "half done".to_owned(), retry_after: Duration::from_secs(3) };
    assert_eq!(progress, waits);
    extension.answers(Hook::UpdateMachine, "update", json!({}));
    assert_eq!(client.update_machine(&cluster, &desired).await.unwrap(), Progress::Done);
    let refusal = json!({"status": "Failure", "message": "no"});
    extension.answers(Hook::CanUpdateMachine, "can", refusal);
    let error =
        client.can_update(Subject::Machine, &cluster, &current, &desired).await.unwrap_err().to_string();
    assert_eq!(error, "CanUpdateMachine of can.ext answered \"Failure\": no");
}

#[tokio::test]
async fn without_an_extension_machines_are_replaced() {
    let network: Arc<dyn Network> = Arc::new(RealNetwork);
    let fixture = fixture_without_controllers().await;
    let client = client_over(&fixture.manager, network);
    let cluster = serde_json::from_value(json!({"metadata": {"name": "c", "namespace": "default"}})).unwrap();
    assert!(!client.is_present(&cluster).await.unwrap());
    let machine = machine("v1", 1, json!([]));
    assert_eq!(client.can_update(Subject::Machine, &cluster, &machine, &machine).await.unwrap(), nobody());
    let error = client.update_machine(&cluster, &machine).await.unwrap_err().to_string();
    assert_eq!(error, "no extension is registered for the hook UpdateMachine");
}

#[tokio::test]
async fn there_is_at_most_one_handler_for_updates_in_place() {
    let network: Arc<dyn Network> = Arc::new(RealNetwork);
    let fixture = fixture_without_controllers().await;
    let client = client_over(&fixture.manager, network);
    assert_eq!(client.only_handler(Hook::UpdateMachine, "default").await, Ok(None));
    let spec = json!({"clientConfig": {"url": "https://127.0.0.1:1"}});
    create_discovered(
        &fixture,
        "a",
        spec.clone(),
        json!([registered("h.a", Hook::UpdateMachine, "Fail", 1)]),
    )
    .await;
    assert_eq!(client.only_handler(Hook::UpdateMachine, "default").await, Ok(Some("h.a".to_owned())));
    create_discovered(&fixture, "b", spec, json!([registered("h.b", Hook::UpdateMachine, "Fail", 1)])).await;
    let error = client.only_handler(Hook::UpdateMachine, "default").await.unwrap_err().to_string();
    assert_eq!(error, "the hook UpdateMachine has several handlers (h.a, h.b); there can be one");
}
