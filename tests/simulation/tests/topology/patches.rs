//! Patches that an extension makes, and a topology that it refuses.

use anyhow::{Context, Result, ensure};
use engine::names::TOPOLOGY_OWNED;
use engine::object::label;
use firstlight::manifests::apply::apply_all;
use firstlight::manifests::read::parse;
use k8s_openapi::ByteString;
use schemas::HasConditions;
use schemas::bootstrap::KubeadmConfigTemplate;
use schemas::cluster::{Cluster, ClusterClass};
use serde_json::{Value, json};
use simulation::simulation::Life;

use super::changes::until_told;
use super::extension::Extension;
use super::life::{CLASS, CLUSTER, change, left, missing, name, objects, open, until, workers};
use super::places::add;

const GENERATE: &str = "GeneratePatches";
const VALIDATE: &str = "ValidateTopology";
const ARGUMENTS: &str = "/spec/template/spec/joinConfiguration/nodeRegistration/kubeletExtraArgs";

/// The class with a patch of an extension after its own patch, and one more of its own after that.
async fn create(life: &Life) -> Result<()> {
    open(life).await;
    let mut documents = parse("class.yaml", CLASS)?;
    let class = documents.iter().find(|document| document.object["kind"] == "ClusterClass");
    let mut patches = class.context("the class")?.object["spec"]["patches"].clone();
    let mut last = patches[0].clone();
    last["name"] = "last".into();
    let value = json!({"name": "v", "value": "4"});
    last["definitions"][0]["jsonPatches"] =
        json!([{"op": "add", "path": format!("{ARGUMENTS}/-"), "value": value}]);
    let external = json!({"generatePatchesExtension": "generatepatches.ext",
        "validateTopologyExtension": "validatetopology.ext", "settings": {"color": "blue"}});
    let list = patches.as_array_mut().context("a list")?;
    list.extend([json!({"name": "external", "external": external}), last]);
    add(&mut documents, "ClusterClass", "/spec", "patches", patches)?;
    documents.extend(parse("cluster.yaml", CLUSTER)?);
    apply_all(&life.plane.registry, &life.plane.client("user"), &documents).await?;
    Ok(())
}

fn item(uid: &Value, patch_type: &str, patch: Value) -> Value {
    let patch = ByteString(patch.to_string().into_bytes());
    json!({"uid": uid, "patchType": patch_type, "patch": patch})
}

/// Returns the template of the workers' configuration in a request.
fn workers_template(request: &Value) -> Value {
    let mut items = request["items"].as_array().into_iter().flatten();
    items.find(|item| item["object"]["kind"] == "KubeadmConfigTemplate").cloned().unwrap_or_default()
}

/// Adds an argument for the workers' kubelets. What the patch says about the status is not taken over.
fn patched(request: &Value) -> Value {
    let argument = json!({"name": "max-open-files", "value": "100"});
    let patch = json!([
        {"op": "add", "path": format!("{ARGUMENTS}/-"), "value": argument},
        {"op": "add", "path": "/status", "value": {"ready": true}},
    ]);
    let items = [item(&workers_template(request)["uid"], "JSONPatch", patch)];
    json!({"status": "Success", "items": items})
}

/// Returns the arguments of the workers' kubelets, by their names.
fn arguments(life: &Life) -> Result<Vec<String>> {
    let all = objects::<KubeadmConfigTemplate>(life).all();
    let mut owned = all.iter().filter(|template| label(template.as_ref(), TOPOLOGY_OWNED).is_some());
    let template = serde_json::to_value(owned.next().context("the template")?.as_ref())?;
    ensure!(template["status"].is_null() && owned.next().is_none(), "{template}");
    let list = template.pointer(ARGUMENTS).and_then(Value::as_array).cloned().unwrap_or_default();
    Ok(list.iter().map(|argument| argument["name"].as_str().unwrap_or_default().to_owned()).collect())
}

/// Answers of an extension, and what the condition says about them.
fn nonsense() -> Vec<(Value, &'static str)> {
    let of = |items: Value| json!({"status": "Success", "items": items});
    let replaced = json!([{"op": "replace", "path": "/status/ready", "value": true}]);
    vec![
        (of(json!([item(&json!("other"), "JSONPatch", json!([]))])), "\"other\", which is no item"),
        (of(json!([item(&json!("UID"), "JSONPatch", replaced)])), "/status/ready"),
        (of(json!([item(&json!("UID"), "Merge", json!({}))])), "patchType must be"),
        (of(json!([{"uid": "UID", "patchType": "JSONPatch", "patch": "?"}])), "base64"),
        (of(json!({"uid": "UID"})), "cannot be read: invalid type: map"),
        (json!("nonsense"), "cannot be read: invalid type: string"),
        (json!({"status": "Failure", "message": "no patches today"}), "no patches today"),
        (json!({"status": "Perhaps"}), "Perhaps"),
    ]
}

async fn live(life: &Life, extension: &Extension) -> Result<()> {
    extension.register(life).await?;
    extension.answer(GENERATE, patched);
    extension.answer(VALIDATE, |_| json!({"status": "Failure", "message": "too many kubelets"}));
    create(life).await?;
    until_told(life, &name("demo"), "ReconcileFailed", "too many kubelets").await?;
    ensure!(left(life) == ["Cluster default/demo"], "nothing is created: {:?}", left(life));

    extension.answer(VALIDATE, |_| json!({"status": "Success"}));
    until(life, |life| missing(life, 2, "v1.34.0")).await.context("created")?;
    let all = ["eviction-hard", "max-pods", "max-open-files", "v"];
    ensure!(arguments(life)? == all, "{:?}", arguments(life)?);
    let asked = extension.asked();
    let seen = |hook: &str| -> Value {
        let last = asked.iter().rev().find(|asked| asked.hook == hook);
        last.map(|asked| workers_template(&asked.request)).unwrap_or_default()
    };
    let names =
        |hook: &str| seen(hook)["object"].pointer(ARGUMENTS).and_then(Value::as_array).map_or(0, Vec::len);
    ensure!((names(GENERATE), names(VALIDATE)) == (2, 4), "the patches before, and all");
    ensure!(asked.iter().all(|asked| asked.request["settings"]["color"] == "blue"), "settings of the patch");

    let before = (arguments(life)?, workers(life));
    for (position, (answer, part)) in nonsense().into_iter().enumerate() {
        extension.answer(GENERATE, move |request| {
            let uid = &workers_template(request)["uid"];
            let text = answer.to_string().replace("\"UID\"", &uid.to_string());
            serde_json::from_str(&text).unwrap_or_default()
        });
        change(life, "/variables/0/value", json!(50 + position)).await?;
        until_told(life, &name("demo"), "ReconcileFailed", part).await?;
        ensure!((arguments(life)?, workers(life)) == before, "{part}: something was changed");
    }
    extension.answer(GENERATE, patched);
    until(life, |life| {
        let same = workers(life).intersection(&before.1).count();
        if same == 0 { missing(life, 2, "v1.34.0") } else { vec![format!("{same} old Machines")] }
    })
    .await
    .context("the last change of the variable")?;
    ensure!(arguments(life)? == all, "{:?}", arguments(life)?);
    let class = objects::<ClusterClass>(life).get(&name("small")).context("the class")?;
    let cluster = objects::<Cluster>(life).get(&name("demo")).context("the Cluster")?;
    ensure!(class.condition_is_true("VariablesReady") && cluster.condition_is_true("TopologyReconciled"));
    Ok(())
}

#[test]
fn patches_of_an_extension_are_applied_between_others_or_nothing_changes() {
    let extension = Extension::new(&[GENERATE, VALIDATE]);
    extension.simulation(34).live(async |life, _| live(life, &extension).await).expect("seed 34");
}
