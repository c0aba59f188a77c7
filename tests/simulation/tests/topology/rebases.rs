//! Clusters that are rebased from one class to another and back again, and classes whose templates name each other.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use engine::names::{CLUSTER_NAME, CONTROL_PLANE, TOPOLOGY_OWNED};
use engine::object::label;
use firstlight::manifests::apply::apply_all;
use firstlight::manifests::read::{Document, parse};
use kube::api::{Api, DeleteParams};
use schemas::HasConditions;
use schemas::bootstrap::{KubeadmConfig, KubeadmConfigTemplate};
use schemas::cluster::{Cluster, ClusterClass, Machine, MachineSet};
use schemas::infrastructure::DevMachineTemplate;
use serde_json::json;
use simulation::simulation::{Life, Simulation};
use test_plane::requests::Requests;

use super::at_rest::writes;
use super::changes::until_told;
use super::life::{CLASS, CLUSTER, left, name, objects, open, set, until};

/// Machines of a Cluster: one of the control plane, and two workers.
pub const MACHINES: usize = 3;
/// Two classes whose workers have another configuration: the argument of their kubelets, by which they are told apart.
const CLASSES: [(&str, &str); 2] = [("small", "nodefs.available<0%"), ("other", "nodefs.available<1%")];

/// The other class, with a template of its own for the workers, and the same ones for all else.
fn other_class() -> Result<Vec<Document>> {
    const ARGUMENT: &str = "/spec/template/spec/joinConfiguration/nodeRegistration/kubeletExtraArgs/0/value";
    let mut documents = parse("class.yaml", CLASS)?;
    documents.retain(|document| {
        document.object["kind"] == "ClusterClass" || document.object["kind"] == "KubeadmConfigTemplate"
    });
    for Document { object, .. } in &mut documents {
        let is_class = object["kind"] == "ClusterClass";
        object["metadata"]["name"] = if is_class { "other" } else { "others" }.into();
        if is_class {
            object["spec"]["workers"]["machineDeployments"][0]["bootstrap"]["templateRef"]["name"] =
                "others".into();
        } else {
            *object.pointer_mut(ARGUMENT).context("the argument")? = CLASSES[1].1.into();
        }
    }
    Ok(documents)
}

/// Creates both classes, and a Cluster of each name in these classes.
pub async fn create(life: &Life, clusters: &[(&str, &str)]) -> Result<()> {
    open(life).await;
    objects::<KubeadmConfig>(life).wait_until_synced().await;
    let mut documents = parse("class.yaml", CLASS)?;
    documents.extend(other_class()?);
    for (name, class) in clusters {
        let text = CLUSTER.replace("name: demo", &format!("name: {name}"));
        documents
            .extend(parse("cluster.yaml", &text.replace("{name: small}", &format!("{{name: {class}}}")))?);
    }
    apply_all(&life.plane.registry, &life.plane.client("user"), &documents).await?;
    until(life, |life| clusters.iter().flat_map(|(name, class)| missing(life, name, class)).collect())
        .await
        .context("created")
}

async fn rebase(life: &Life, cluster: &str, class: &str) -> Result<()> {
    set::<Cluster>(life, cluster, "/topology/classRef/name", json!(class)).await
}

pub fn machines(life: &Life, cluster: &str) -> Vec<std::sync::Arc<Machine>> {
    let mut all = objects::<Machine>(life).all();
    all.retain(|machine| label(machine.as_ref(), CLUSTER_NAME) == Some(cluster));
    all
}

/// Returns whether the configuration of a worker has the argument of this class.
fn is_of_class(life: &Life, machine: &Machine, class: &str) -> bool {
    let argument = CLASSES.iter().find(|(known, _)| *known == class).map_or("", |(_, argument)| argument);
    let config = machine.spec.bootstrap.config_ref.as_ref().map(|reference| name(&reference.name));
    let config = config.and_then(|config| objects::<KubeadmConfig>(life).get(&config));
    config.is_some_and(|config| {
        serde_json::to_string(config.as_ref()).is_ok_and(|text| text.contains(argument))
    })
}

/// What is missing until a Cluster is as this class wants it, and nothing is left of the other one.
pub fn missing(life: &Life, cluster: &str, class: &str) -> Vec<String> {
    let Some(object) = objects::<Cluster>(life).get(&name(cluster)) else { return vec![cluster.to_owned()] };
    let mut missing = Vec::new();
    for condition in ["Available", "TopologyReconciled"] {
        let found = object.condition(condition);
        let is_true = |found: &schemas::meta::Condition| {
            found.status == "True" && found.observed_generation == object.metadata.generation
        };
        if !found.is_some_and(is_true) {
            missing.push(format!("{cluster}: {condition}: {found:?}"));
        }
    }
    let machines = machines(life, cluster);
    if machines.len() != MACHINES {
        missing.push(format!("{cluster}: {} Machines", machines.len()));
    }
    for machine in machines {
        let is_worker = label(machine.as_ref(), CONTROL_PLANE).is_none();
        if is_worker && !is_of_class(life, &machine, class) || !machine.condition_is_true("Available") {
            missing.push(format!("{cluster}: {:?}", machine.metadata.name));
        }
    }
    missing.extend(unused(life, cluster));
    missing
}

/// The templates of a Cluster beyond those that its control plane and its MachineDeployment use, and the MachineSets without Machines.
fn unused(life: &Life, cluster: &str) -> Vec<String> {
    fn of<K: engine::Kind<DynamicType = ()>>(life: &Life, cluster: &str) -> Vec<String> {
        let mut all = objects::<K>(life).all();
        all.retain(|object| {
            label(object.as_ref(), TOPOLOGY_OWNED).is_some()
                && label(object.as_ref(), CLUSTER_NAME) == Some(cluster)
        });
        all.iter().filter_map(|object| object.meta().name.clone()).collect()
    }
    let found = [
        of::<DevMachineTemplate>(life, cluster),
        of::<KubeadmConfigTemplate>(life, cluster),
        of::<MachineSet>(life, cluster),
    ];
    if found.each_ref().map(Vec::len) == [2, 1, 1] {
        Vec::new()
    } else {
        vec![format!("{cluster}: {found:?}")]
    }
}

/// The Machines that were ever created, from what was written about them.
pub fn ever_created(requests: &Requests) -> BTreeSet<String> {
    let named = |write: String| {
        let (_, rest) = write.split_once("/machines/")?;
        Some(rest.split('/').next()?.to_owned())
    };
    requests.trace().into_iter().filter_map(named).collect()
}

pub async fn check_rest(life: &Life, requests: &Requests) -> Result<()> {
    life.clock.sleep(Duration::from_secs(600)).await;
    let before = requests.trace().len();
    life.clock.sleep(Duration::from_secs(3600)).await;
    let all = requests.trace();
    let found = writes(&all[before..]);
    ensure!(found.is_empty(), "{} writes at rest, such as {:?}", found.len(), found.first());
    Ok(())
}

/// Each rebase replaces the workers, whose configuration changes, and no other Machine.
async fn one_after_the_other(life: &Life, requests: &Requests) -> Result<()> {
    create(life, &[("demo", "small")]).await?;
    for (number, class) in ["other", "small", "other", "small"].into_iter().enumerate() {
        rebase(life, "demo", class).await?;
        until(life, |life| missing(life, "demo", class)).await.with_context(|| format!("rebase {number}"))?;
        let created = ever_created(requests);
        let most = MACHINES + 2 * (number + 1);
        ensure!(created.len() == most, "{most} Machines after rebase {number}, not {created:?}");
    }
    check_rest(life, requests).await
}

/// The Cluster is rebased again as soon as the first Machine of the rebase before has come, and at last twice at once.
async fn while_machines_are_replaced(life: &Life, requests: &Requests) -> Result<()> {
    create(life, &[("demo", "small")]).await?;
    let rebases = ["other", "small", "other", "small", "other"];
    for class in rebases {
        let before = ever_created(requests);
        rebase(life, "demo", class).await?;
        until(life, |_| if ever_created(requests) == before { vec![class.to_owned()] } else { Vec::new() })
            .await
            .context("the first new Machine")?;
    }
    rebase(life, "demo", "small").await?;
    rebase(life, "demo", "other").await?;
    until(life, |life| missing(life, "demo", "other")).await.context("the last rebase")?;
    // One that was beyond the wanted number when the class changed, for each rebase but the last one, and in the end all workers.
    let created = ever_created(requests);
    let most = MACHINES + rebases.len() + 1 + 2;
    ensure!(created.len() <= most, "more than {most} Machines: {created:?}");
    check_rest(life, requests).await
}

/// Two Clusters change places, again and again, and do not wait for each other.
async fn in_opposite_directions(life: &Life, requests: &Requests) -> Result<()> {
    create(life, &[("demo", "small"), ("second", "other")]).await?;
    for (one, other) in [("other", "small"), ("small", "other"), ("other", "small")] {
        rebase(life, "demo", one).await?;
        rebase(life, "second", other).await?;
        until(life, |life| [missing(life, "demo", one), missing(life, "second", other)].concat())
            .await
            .with_context(|| format!("to {one}"))?;
    }
    ensure!(ever_created(requests).len() == 2 * (MACHINES + 3 * 2), "{:?}", ever_created(requests));
    check_rest(life, requests).await?;
    let clusters = Api::<Cluster>::namespaced(life.plane.client("user"), "default");
    for name in ["demo", "second"] {
        clusters.delete(name, &DeleteParams::default()).await?;
    }
    until(life, left).await.context("both are deleted with all their templates")?;
    let classes = Api::<ClusterClass>::namespaced(life.plane.client("user"), "default");
    for class in ["small", "other"] {
        classes.delete(class, &DeleteParams::default()).await.context("nobody uses the class")?;
    }
    let all = |life: &Life| objects::<ClusterClass>(life).all().len();
    until(life, |life| if all(life) == 0 { Vec::new() } else { vec!["a class".to_owned()] })
        .await
        .context("they are gone at once")
}

/// The name of the template that the Cluster's workers use.
fn workers_template(life: &Life) -> Result<String> {
    let all = objects::<KubeadmConfigTemplate>(life).all();
    let mut owned = all.iter().filter(|template| label(template.as_ref(), TOPOLOGY_OWNED).is_some());
    owned.next().and_then(|template| template.metadata.name.clone()).context("a template")
}

/// The field of the class with the template of its workers.
const TEMPLATE: &str = "/workers/machineDeployments/0/bootstrap/templateRef/name";

/// Lets the class name the template that was made for its Cluster, which its patch makes invalid. The Cluster says what is wrong, and its Machines stay.
async fn name_its_own_template(life: &Life, requests: &Requests) -> Result<String> {
    let made = workers_template(life)?;
    set::<ClusterClass>(life, "other", TEMPLATE, json!(made)).await?;
    until_told(life, &name("demo"), "ReconcileFailed", "kubeletExtraArgs: duplicate entries")
        .await
        .context("the template is patched twice")?;
    life.clock.sleep(Duration::from_secs(3600)).await;
    ensure!(machines(life, "demo").len() == MACHINES && ever_created(requests).len() == MACHINES);
    ensure!(workers_template(life)? == made, "the template is still used");
    Ok(made)
}

async fn from_its_own_template(life: &Life, requests: &Requests) -> Result<()> {
    create(life, &[("demo", "other")]).await?;
    name_its_own_template(life, requests).await?;
    set::<ClusterClass>(life, "other", TEMPLATE, json!("others")).await?;
    until(life, |life| missing(life, "demo", "other")).await.context("another template")?;
    let made = name_its_own_template(life, requests).await?;
    rebase(life, "demo", "small").await?;
    until(life, |life| missing(life, "demo", "small")).await.context("another class")?;
    // The template is deleted when its last user is gone. Only the class that names it fails.
    let class = objects::<ClusterClass>(life).get(&name("other")).context("the class")?;
    let found = class.condition("RefVersionsUpToDate").map(|found| found.message.clone());
    ensure!(found.as_ref().is_some_and(|message| message.contains(&made)), "{found:?}");
    set::<ClusterClass>(life, "other", TEMPLATE, json!("others")).await?;
    check_rest(life, requests).await
}

#[test]
fn a_cluster_goes_to_and_fro_between_two_classes() {
    Simulation::new(51)
        .live(async |life, requests| one_after_the_other(life, requests).await)
        .expect("seed 51");
}

#[test]
fn a_cluster_is_rebased_while_its_machines_are_replaced() {
    Simulation::new(52)
        .live(async |life, requests| while_machines_are_replaced(life, requests).await)
        .expect("seed 52");
}

#[test]
fn two_clusters_change_places() {
    Simulation::new(53)
        .live(async |life, requests| in_opposite_directions(life, requests).await)
        .expect("seed 53");
}

#[test]
fn a_class_that_names_a_template_of_its_cluster_is_told_and_mended() {
    Simulation::new(54)
        .live(async |life, requests| from_its_own_template(life, requests).await)
        .expect("seed 54");
}
