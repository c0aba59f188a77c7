//! What a Cluster of a class does when its class, its workers or somebody else change.

use anyhow::{Context, Result, ensure};
use engine::NamespacedName;
use engine::names::TOPOLOGY_OWNED;
use engine::object::label;
use firstlight::manifests::apply::apply_all;
use firstlight::manifests::read::parse;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use schemas::HasConditions;
use schemas::bootstrap::{KubeadmConfig, KubeadmConfigTemplate};
use schemas::cluster::{Cluster, ClusterClass, Machine, MachineDeployment, MachineHealthCheck};
use schemas::infrastructure::DevMachine;
use serde_json::{Value, json};
use simulation::simulation::{Life, Simulation};

use super::life::{CLASS, CLUSTER, change, create, missing, name, objects, set, until};

const LABEL: &str = "node.cluster.x-k8s.io/team";

fn machines(life: &Life) -> Vec<String> {
    let mut names: Vec<String> =
        objects::<Machine>(life).all().iter().filter_map(|machine| machine.metadata.name.clone()).collect();
    names.sort();
    names
}

/// Returns reason and message of the condition of the topology of the Cluster default/demo.
pub fn topology_reconciled(life: &Life) -> (String, String) {
    topology_of(life, &name("demo"))
}

/// Waits until the condition of the topology of a Cluster has this reason, and this part in its message.
pub async fn until_told(life: &Life, cluster: &NamespacedName, reason: &str, part: &str) -> Result<()> {
    let told = |life: &Life| {
        let (found, message) = topology_of(life, cluster);
        let is_told = found == reason && message.contains(part);
        if is_told { Vec::new() } else { vec![format!("{part}: {found}: {message}")] }
    };
    until(life, told).await
}

fn topology_of(life: &Life, cluster: &NamespacedName) -> (String, String) {
    let cluster = objects::<Cluster>(life).get(cluster);
    let condition = cluster.and_then(|cluster| cluster.condition("TopologyReconciled").cloned());
    condition.map(|condition| (condition.reason, condition.message)).unwrap_or_default()
}

async fn come_up(life: &Life) -> Result<()> {
    create(life).await?;
    until(life, |life| missing(life, 2, "v1.34.0")).await.context("created")
}

/// Returns the label of the Machines and of each of their objects.
fn labels_of_machines(life: &Life) -> Vec<Option<String>> {
    fn of<K: engine::Kind<DynamicType = ()>>(life: &Life) -> Vec<Option<String>> {
        let all = objects::<K>(life).all();
        all.iter().map(|object| label(object.as_ref(), LABEL).map(str::to_owned)).collect()
    }
    [of::<Machine>(life), of::<KubeadmConfig>(life), of::<DevMachine>(life)].concat()
}

/// A label that the class has no more leaves the Machines and their objects, but for the one that belongs to somebody else.
async fn without_labels(life: &Life) -> Result<()> {
    ensure!(labels_of_machines(life) == vec![Some("red".to_owned()); 9], "{:?}", labels_of_machines(life));
    let theirs = objects::<DevMachine>(life).all();
    let theirs = theirs.first().context("a DevMachine")?;
    let api = Api::<DevMachine>::namespaced(life.plane.client("user"), "default");
    let apply = json!({"apiVersion": DevMachine::API_VERSION, "kind": DevMachine::KIND, "metadata": {"labels": {LABEL: "red"}}});
    let stranger = theirs.metadata.name.as_deref().unwrap_or_default();
    api.patch(stranger, &PatchParams::apply("stranger"), &Patch::Apply(&apply)).await?;
    // The change is a merge patch, in which only lists are replaced as a whole.
    let of_the_control_plane = json!({"labels": {LABEL: null, "other": "yes"}});
    set::<ClusterClass>(life, "small", "/controlPlane/metadata", of_the_control_plane).await?;
    set::<ClusterClass>(
        life,
        "small",
        "/workers/machineDeployments/0/metadata",
        json!({"labels": {"other": "yes"}}),
    )
    .await?;
    until(life, |life| {
        let red = labels_of_machines(life).into_iter().flatten().count();
        if red == 1 {
            missing(life, 2, "v1.34.0")
        } else {
            vec![format!("{red} red objects: {:?}", labels_of_machines(life))]
        }
    })
    .await
    .context("labels that the class has no more")?;
    let (name, value) = (name(stranger), Some("red"));
    let left = objects::<DevMachine>(life).get(&name).context("the DevMachine of the stranger")?;
    ensure!(label(left.as_ref(), LABEL) == value, "{:?}", left.metadata.labels);
    Ok(())
}

/// Labels of the class reach all Machines, which stay. Another template replaces them.
async fn of_the_class(life: &Life) -> Result<()> {
    come_up(life).await?;
    let before = machines(life);
    let labels = json!({"labels": {LABEL: "red"}});
    set::<ClusterClass>(life, "small", "/controlPlane/metadata", labels.clone()).await?;
    set::<ClusterClass>(life, "small", "/workers/machineDeployments/0/metadata", labels).await?;
    until(life, |life| {
        let all = objects::<Machine>(life).all();
        let red = all.iter().filter(|machine| label(machine.as_ref(), LABEL) == Some("red")).count();
        if red == 3 { missing(life, 2, "v1.34.0") } else { vec![format!("{red} red Machines")] }
    })
    .await
    .context("labels of the class")?;
    without_labels(life).await?;
    ensure!(machines(life) == before, "labels of a class change Machines in place");

    let text = CLASS.replace("metadata: {name: workers}", "metadata: {name: others}");
    let text = text.replace("nodefs.available<0%", "nodefs.available<1%");
    let others = parse("others.yaml", &text)?;
    let is_new = |object: &Value| object["kind"] == "KubeadmConfigTemplate";
    let others: Vec<_> = others.into_iter().filter(|document| is_new(&document.object)).collect();
    apply_all(&life.plane.registry, &life.plane.client("user"), &others).await?;
    let path = "/workers/machineDeployments/0/bootstrap/templateRef/name";
    set::<ClusterClass>(life, "small", path, json!("others")).await?;
    until(life, |life| {
        let old = machines(life).iter().filter(|machine| before.contains(machine)).count();
        if old == 1 { missing(life, 2, "v1.34.0") } else { vec![format!("{old} old Machines")] }
    })
    .await
    .context("another template")
}

/// A class whose template is missing is told, and all goes on when the template comes.
async fn of_a_missing_template(life: &Life) -> Result<()> {
    let mut documents = parse("class.yaml", CLASS)?;
    let late = documents.iter().position(|document| document.object["kind"] == "DevClusterTemplate");
    let late = documents.remove(late.context("a template")?);
    documents.extend(parse("cluster.yaml", CLUSTER)?);
    let client = life.plane.client("user");
    apply_all(&life.plane.registry, &client, &documents).await?;
    until_told(life, &name("demo"), "ClusterClassNotReconciled", "DevClusterTemplate infrastructure")
        .await
        .context("the missing template")?;
    let class = objects::<ClusterClass>(life).get(&name("small")).context("the class")?;
    let versions = class.condition("RefVersionsUpToDate").context("a condition")?;
    ensure!(versions.message.contains("DevClusterTemplate infrastructure"), "{versions:?}");
    apply_all(&life.plane.registry, &client, &[late]).await?;
    until(life, |life| missing(life, 2, "v1.34.0")).await.context("the template has come")
}

/// A MachineDeployment leaves the topology with its templates and its health check, and another one comes.
async fn of_the_workers(life: &Life) -> Result<()> {
    come_up(life).await?;
    let other = json!([{"class": "worker", "name": "md-1", "replicas": 1}]);
    change(life, "/workers/machineDeployments", other).await?;
    until(life, |life| missing(life, 1, "v1.34.0")).await.context("other workers")?;
    until(life, |life| {
        let deployments = objects::<MachineDeployment>(life).all().len();
        let checks = objects::<MachineHealthCheck>(life).all().len();
        let templates = objects::<KubeadmConfigTemplate>(life).all();
        let templates =
            templates.iter().filter(|template| label(template.as_ref(), TOPOLOGY_OWNED).is_some()).count();
        let found = (deployments, checks, templates);
        if found == (1, 2, 1) { Vec::new() } else { vec![format!("{found:?}")] }
    })
    .await
    .context("nothing is left of the old ones")
}

/// What somebody else changes of a field of the topology is taken back, and what they delete comes again. Other fields are theirs.
async fn of_a_stranger(life: &Life) -> Result<()> {
    come_up(life).await?;
    let client = life.plane.client("user");
    let deployments = Api::<MachineDeployment>::namespaced(client.clone(), "default");
    let all = objects::<MachineDeployment>(life).all();
    let deployment = all[0].metadata.name.clone().context("a name")?;
    let theirs = json!({"metadata": {"labels": {"mine": "yes"}}, "spec": {"replicas": 5}});
    deployments.patch(&deployment, &PatchParams::default(), &Patch::Merge(theirs)).await?;
    let checks = Api::<MachineHealthCheck>::namespaced(client, "default");
    checks.delete(&deployment, &DeleteParams::default()).await?;
    until(life, |life| {
        let found = objects::<MachineDeployment>(life).get(&name(&deployment));
        let found =
            found.map(|found| (found.spec.replicas, label(found.as_ref(), "mine").map(str::to_owned)));
        if found == Some((Some(2), Some("yes".to_owned()))) {
            let mut left = missing(life, 2, "v1.34.0");
            if objects::<MachineHealthCheck>(life).get(&name(&deployment)).is_none() {
                left.push("the health check".to_owned());
            }
            left
        } else {
            vec![format!("{found:?}")]
        }
    })
    .await
    .context("what a stranger changed")
}

/// Another class with the same kinds takes over, and the first one can go.
async fn of_another_class(life: &Life) -> Result<()> {
    come_up(life).await?;
    let before = machines(life);
    let mut documents = parse("class.yaml", CLASS)?;
    for document in &mut documents {
        if document.object["kind"] == "ClusterClass" {
            document.object["metadata"]["name"] = "other".into();
        }
    }
    let is_class = |object: &Value| object["kind"] == "ClusterClass";
    let other: Vec<_> = documents.into_iter().filter(|document| is_class(&document.object)).collect();
    apply_all(&life.plane.registry, &life.plane.client("user"), &other).await?;
    until(life, |life| {
        let class = objects::<ClusterClass>(life).get(&name("other"));
        let is_ready = class.is_some_and(|class| class.condition_is_true("VariablesReady"));
        if is_ready { Vec::new() } else { vec!["the other class".to_owned()] }
    })
    .await?;
    change(life, "/classRef/name", json!("other")).await?;
    until(life, |life| missing(life, 2, "v1.34.0")).await.context("rebased")?;
    ensure!(machines(life) == before, "a class that says the same replaces nothing");
    Ok(())
}

/// Nothing of a paused Cluster changes, and it says so.
async fn of_a_paused_cluster(life: &Life) -> Result<()> {
    come_up(life).await?;
    let before = machines(life);
    set::<Cluster>(life, "demo", "/paused", json!(true)).await?;
    change(life, "/variables/0/value", json!(64)).await?;
    until_told(life, &name("demo"), "Paused", "spec.paused").await.context("paused")?;
    life.clock.sleep(std::time::Duration::from_secs(3600)).await;
    ensure!(machines(life) == before, "{:?}", machines(life));
    set::<Cluster>(life, "demo", "/paused", json!(false)).await?;
    until(life, |life| {
        let old = machines(life).iter().filter(|machine| before.contains(machine)).count();
        if old == 1 { missing(life, 2, "v1.34.0") } else { vec![format!("{old} old Machines")] }
    })
    .await
    .context("the change of the variable")
}

#[test]
fn a_paused_cluster_is_left_alone() {
    Simulation::new(22).live(async |life, _| of_a_paused_cluster(life).await).expect("seed 22");
}

#[test]
fn a_change_of_the_class_reaches_its_clusters() {
    Simulation::new(17).live(async |life, _| of_the_class(life).await).expect("seed 17");
}

#[test]
fn a_missing_template_is_told_and_can_come_later() {
    Simulation::new(18).live(async |life, _| of_a_missing_template(life).await).expect("seed 18");
}

#[test]
fn workers_come_and_go_with_all_that_belongs_to_them() {
    Simulation::new(19).live(async |life, _| of_the_workers(life).await).expect("seed 19");
}

#[test]
fn a_stranger_s_change_is_taken_back() {
    Simulation::new(20).live(async |life, _| of_a_stranger(life).await).expect("seed 20");
}

#[test]
fn a_cluster_can_be_rebased() {
    Simulation::new(21).live(async |life, _| of_another_class(life).await).expect("seed 21");
}
