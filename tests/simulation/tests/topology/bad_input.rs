//! Classes that are wrong, while Clusters of them run: the Cluster says what is wrong, nothing of it changes, the Cluster of another class goes on, and all ends well when the class
//! is mended.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use engine::names::{CLUSTER_NAME, TOPOLOGY_OWNED};
use engine::object::label;
use firstlight::manifests::apply::apply_all;
use firstlight::manifests::read::parse;
use schemas::HasConditions;
use schemas::bootstrap::KubeadmConfigTemplate;
use schemas::cluster::{Cluster, ClusterClass, MachineDeployment};
use schemas::infrastructure::{DevCluster, DevMachineTemplate};
use serde_json::{Value, json};
use simulation::simulation::{Life, Simulation};
use test_plane::requests::Requests;

use super::changes::topology_reconciled;
use super::life::{CLASS, CLUSTER, change, missing as missing_of_life, name, objects, open, set, until};
use super::rebases::{MACHINES, check_rest, create, ever_created, machines, missing};

const ARGUMENTS: &str = "/spec/template/spec/joinConfiguration/nodeRegistration/kubeletExtraArgs";

/// A patch of the workers' configuration.
fn patch(name: &str, operations: Value) -> Value {
    let selector = json!({"apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2", "kind": "KubeadmConfigTemplate",
        "matchResources": {"machineDeploymentClass": {"names": ["worker"]}}});
    json!({"name": name, "definitions": [{"selector": selector, "jsonPatches": operations}]})
}

fn argument(value: &str) -> Value {
    json!({"op": "add", "path": format!("{ARGUMENTS}/-"), "value": {"name": "v", "value": value}})
}

/// Fields of a class, wrong values of them, and what the Cluster says then.
fn wrong() -> Vec<(&'static str, Value, &'static str)> {
    let missing = json!({"op": "replace", "path": "/spec/template/spec/clusterConfiguration", "value": {}});
    let fails = json!({"op": "add", "path": "/spec/template/spec/verbosity", "valueFrom": {"template": "{{ fail \"not today\" }}"}});
    let other_type = json!({"op": "replace", "path": "/spec/template/spec/joinConfiguration", "value": 5});
    let definition =
        |schema: Value| json!([{"name": "maxPods", "required": true, "schema": {"openAPIV3Schema": schema}}]);
    vec![
        (
            "/patches",
            json!([patch("first", json!([argument("4")])), patch("second", json!([argument("5"), missing]))]),
            "patch \"second\" of the ClusterClass cannot be applied to KubeadmConfigTemplate default/workers: definitions[0]: replace \
             /spec/template/spec/clusterConfiguration",
        ),
        ("/patches", json!([patch("first", json!([argument("4"), fails]))]), "fail: not today"),
        ("/patches", json!([patch("first", json!([other_type]))]), "spec.template.spec.joinConfiguration"),
        ("/variables", definition(json!({"type": "string"})), "spec.topology.variables[maxPods].value"),
        (
            "/workers/machineDeployments/0/bootstrap/templateRef/name",
            json!("gone"),
            "the template KubeadmConfigTemplate gone (bootstrap.cluster.x-k8s.io/v1beta2) does not exist",
        ),
    ]
}

/// The names of the Cluster's Machines and of its templates for workers.
fn parts(life: &Life, cluster: &str) -> (Vec<Option<String>>, Vec<Option<String>>) {
    let mut names: Vec<_> =
        machines(life, cluster).iter().map(|machine| machine.metadata.name.clone()).collect();
    names.sort();
    let templates = objects::<KubeadmConfigTemplate>(life).all();
    let owned = templates.iter().filter(|template| {
        label(template.as_ref(), TOPOLOGY_OWNED).is_some()
            && label(template.as_ref(), CLUSTER_NAME) == Some(cluster)
    });
    (names, owned.map(|template| template.metadata.name.clone()).collect())
}

async fn until_told(life: &Life, part: &str) -> Result<()> {
    until(life, |life| {
        let (reason, message) = topology_reconciled(life);
        let is_failure = ["ReconcileFailed", "ClusterClassNotReconciled"].contains(&reason.as_str());
        let is_told = is_failure && message.contains(part);
        if is_told { Vec::new() } else { vec![format!("{part}: {reason}: {message}")] }
    })
    .await
}

/// Scales the workers of the other Cluster.
async fn goes_on(life: &Life, workers: usize) -> Result<()> {
    set::<Cluster>(life, "second", "/topology/workers/machineDeployments/0/replicas", json!(workers)).await?;
    until(life, |life| {
        let found = machines(life, "second");
        let available = found.iter().filter(|machine| machine.condition_is_true("Available")).count();
        let is_done = found.len() == workers + 1 && available == found.len();
        if is_done { Vec::new() } else { vec![format!("{} Machines, {available} available", found.len())] }
    })
    .await
    .context("the other Cluster")
}

async fn classes_that_are_wrong(life: &Life, requests: &Requests) -> Result<()> {
    create(life, &[("demo", "small"), ("second", "other")]).await?;
    let before = parts(life, "demo");
    for (number, (field, value, part)) in wrong().into_iter().enumerate() {
        let class = objects::<ClusterClass>(life).get(&name("small")).context("the class")?;
        let class = serde_json::to_value(class.as_ref())?;
        let right = class.pointer(&format!("/spec{field}")).context(field)?;
        set::<ClusterClass>(life, "small", field, value).await.context(part)?;
        until_told(life, part).await?;
        goes_on(life, 1 + number % 2).await?;
        ensure!(parts(life, "demo") == before, "{part}: something was changed");
        set::<ClusterClass>(life, "small", field, right.clone()).await?;
        until(life, |life| missing(life, "demo", "small")).await.context("mended")?;
        ensure!(parts(life, "demo") == before, "{part}: something was changed by the mended class");
    }
    check_rest(life, requests).await
}

/// Two patches want another value of one field. The last one wins, each time.
async fn patches_that_fight(life: &Life, requests: &Requests) -> Result<()> {
    create(life, &[("demo", "small")]).await?;
    let verbosity =
        |value: i32| json!([{"op": "add", "path": "/spec/template/spec/verbosity", "value": value}]);
    let patches =
        json!([patch("one", verbosity(1)), patch("two", verbosity(2)), patch("three", verbosity(3))]);
    set::<ClusterClass>(life, "small", "/patches", patches).await?;
    let old = machines(life, "demo");
    let is_old = |life: &Life| {
        machines(life, "demo")
            .iter()
            .filter(|machine| old.iter().any(|old| old.metadata.name == machine.metadata.name))
            .count()
    };
    until(life, |life| {
        if is_old(life) == 1 { missing(life, "demo", "small") } else { vec!["old Machines".to_owned()] }
    })
    .await?;
    let templates = objects::<KubeadmConfigTemplate>(life).all();
    let mut owned = templates.iter().filter(|template| label(template.as_ref(), TOPOLOGY_OWNED).is_some());
    let template = serde_json::to_value(owned.next().context("a template")?.as_ref())?;
    ensure!(template.pointer("/spec/template/spec/verbosity") == Some(&json!(3)), "{template}");
    ensure!(ever_created(requests).len() == MACHINES + 2, "one rollout: {:?}", ever_created(requests));
    check_rest(life, requests).await
}

const TEMPLATE: &str = "/workers/machineDeployments/0/infrastructure/templateRef/name";

/// The Machines of a template never start. The old ones stay until the template is mended, and no more than one new one waits at a time.
async fn a_rollout_without_an_end(life: &Life, requests: &Requests) -> Result<()> {
    create(life, &[("demo", "small")]).await?;
    let before = parts(life, "demo").0;
    let stuck = CLASS.replace("name: workers", "name: stuck").replace("10s", "10000h");
    let mut stuck = parse("stuck.yaml", &stuck)?;
    stuck.retain(|document| {
        document.object["kind"] == "DevMachineTemplate" && document.object["metadata"]["name"] == "stuck"
    });
    apply_all(&life.plane.registry, &life.plane.client("user"), &stuck).await?;
    set::<ClusterClass>(life, "small", TEMPLATE, json!("stuck")).await?;
    until(life, |life| {
        if machines(life, "demo").len() > MACHINES { Vec::new() } else { vec!["a new Machine".to_owned()] }
    })
    .await?;
    for _ in 0..6 {
        life.clock.sleep(Duration::from_secs(600)).await;
        let now = parts(life, "demo").0;
        ensure!(before.iter().all(|machine| now.contains(machine)), "an old Machine is gone: {now:?}");
        ensure!(now.len() <= MACHINES + 2, "{now:?}");
    }
    let cluster = objects::<Cluster>(life).get(&name("demo")).context("the Cluster")?;
    ensure!(
        cluster.condition_is_true("Available") && cluster.condition_is_true("RollingOut"),
        "{:?}",
        cluster.status
    );
    let deployments = objects::<MachineDeployment>(life).all();
    ensure!(deployments.iter().all(|deployment| deployment.condition_is_true("RollingOut")));
    // The health check of the class replaces one that does not start within ten minutes.
    ensure!(ever_created(requests).len() <= MACHINES + 8, "{:?}", ever_created(requests));
    set::<ClusterClass>(life, "small", TEMPLATE, json!("workers")).await?;
    until(life, |life| missing(life, "demo", "small")).await.context("mended")?;
    change(life, "/version", json!("v1.35.0")).await.context("an upgrade is possible again")?;
    until(life, |life| {
        let old = machines(life, "demo")
            .iter()
            .filter(|machine| machine.spec.version.as_deref() != Some("v1.35.0"))
            .count();
        if old == 0 { missing(life, "demo", "small") } else { vec![format!("{old} old Machines")] }
    })
    .await
    .context("upgraded")?;
    check_rest(life, requests).await
}

/// The template of the control plane is refused by the API server after the infrastructure was created.
async fn a_refused_control_plane(life: &Life) -> Result<()> {
    open(life).await;
    let selector = json!({"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlaneTemplate",
        "matchResources": {"controlPlane": true}});
    let operation = json!({"op": "add", "path": "/spec/template/spec/kubeadmConfigSpec", "value": 5});
    let patches =
        json!([{"name": "wrong", "definitions": [{"selector": selector, "jsonPatches": [operation]}]}]);
    let mut documents = parse("class.yaml", CLASS)?;
    let class = documents.iter_mut().find(|document| document.object["kind"] == "ClusterClass");
    let right = std::mem::replace(&mut class.context("the class")?.object["spec"]["patches"], patches);
    documents.extend(parse("cluster.yaml", CLUSTER)?);
    apply_all(&life.plane.registry, &life.plane.client("user"), &documents).await?;
    until_told(life, "spec.kubeadmConfigSpec").await?;
    life.clock.sleep(Duration::from_secs(3600)).await;
    let cluster = objects::<Cluster>(life).get(&name("demo")).context("the Cluster")?;
    let infrastructure = cluster.spec.infrastructure_ref.as_ref().context("the infrastructure")?.name.clone();
    ensure!(cluster.spec.control_plane_ref.is_none(), "there is no control plane");
    ensure!(
        objects::<DevMachineTemplate>(life).all().iter().all(|template| label(
            template.as_ref(),
            TOPOLOGY_OWNED
        )
        .is_none()),
        "the template of its Machines is not left behind"
    );
    set::<ClusterClass>(life, "small", "/patches", right).await?;
    until(life, |life| missing_of_life(life, 2, "v1.34.0")).await.context("mended")?;
    let all = objects::<DevCluster>(life).all();
    ensure!(
        all.len() == 1 && all[0].metadata.name.as_deref() == Some(infrastructure.as_str()),
        "it is the same infrastructure"
    );
    Ok(())
}

#[test]
fn a_control_plane_that_is_refused_comes_later() {
    Simulation::new(59).live(async |life, _| a_refused_control_plane(life).await).expect("seed 59");
}

#[test]
fn a_class_that_is_wrong_changes_nothing_until_it_is_mended() {
    Simulation::new(56)
        .live(async |life, requests| classes_that_are_wrong(life, requests).await)
        .expect("seed 56");
}

#[test]
fn of_patches_that_fight_the_last_one_wins() {
    Simulation::new(57)
        .live(async |life, requests| patches_that_fight(life, requests).await)
        .expect("seed 57");
}

#[test]
fn a_rollout_that_never_ends_keeps_the_old_machines() {
    Simulation::new(58)
        .live(async |life, requests| a_rollout_without_an_end(life, requests).await)
        .expect("seed 58");
}
