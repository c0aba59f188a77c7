//! The templates of a Cluster as items of a request.

use schemas::cluster::Cluster;
use serde_json::Value;

use super::request::{GeneratePatchesItem, HolderReference};
use crate::blueprint::{Blueprint, Template};
use crate::current::Parts;
use crate::desired::{Contract, Desired};
use crate::object;

const LABELS: [&str; 2] = ["metadata", "labels"];
const ANNOTATIONS: [&str; 2] = ["metadata", "annotations"];

/// What an item of a request is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// The template of what the cluster shares.
    Infrastructure,
    /// The template of the control plane.
    ControlPlane,
    /// The infrastructure template of control plane machines.
    ControlPlaneMachines,
    /// A template of workers.
    Workers(WorkersPart),
}

/// A template of one entry of a topology's workers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkersPart {
    pub kind: WorkersKind,
    /// The place of the entry in the topology's list.
    pub index: usize,
    /// The name in the topology.
    pub name: String,
    /// The class of the workers.
    pub class: String,
    pub template: WorkersTemplate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkersKind {
    MachineDeployment,
    MachinePool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkersTemplate {
    Bootstrap,
    Infrastructure,
}

/// An item of a request, and what it is for.
pub struct Item {
    pub part: Part,
    pub item: GeneratePatchesItem,
}

/// Makes the items in the order of the class and the topology. A template has the labels and annotations that its copy gets, so that patches see them.
///
/// # Errors
/// A sentence: a template has not the form of one.
pub fn items(
    blueprint: &Blueprint,
    cluster: &Cluster,
    desired: &Desired,
    contract: Contract,
) -> Result<Vec<Item>, String> {
    let mut items = Items(Vec::new());
    let holder = holder_of_cluster(cluster);
    let held = |path: &str| HolderReference { field_path: path.to_owned(), ..holder.clone() };
    let (template, made) = (&blueprint.infrastructure, &desired.infrastructure);
    items.of_object(Part::Infrastructure, template, made, held("spec.infrastructureRef"))?;
    let (template, made) = (&blueprint.control_plane, &desired.control_plane);
    items.of_object(Part::ControlPlane, template, made, held("spec.controlPlaneRef"))?;
    if let (Some(template), Some(made)) =
        (&blueprint.control_plane_machines, &desired.control_plane_machines_template)
    {
        let path = match contract {
            Contract::V1Beta1 => "spec.machineTemplate.infrastructureRef",
            Contract::V1Beta2 => "spec.machineTemplate.spec.infrastructureRef",
        };
        items.of_template(
            Part::ControlPlaneMachines,
            template,
            made,
            holder_of(&desired.control_plane, path),
        )?;
    }
    items.of_workers(blueprint, cluster, desired)?;
    Ok(items.0)
}

/// The entries of a topology's workers: kind, place in its list, name in the topology, class.
fn workers(cluster: &Cluster) -> Vec<(WorkersKind, usize, &str, &str)> {
    let Some(parts) = Parts::of(cluster) else { return Vec::new() };
    let deployments = parts.machine_deployments.iter().enumerate().map(|(index, entry)| {
        (WorkersKind::MachineDeployment, index, entry.name.as_str(), entry.class.as_str())
    });
    let pools = parts.machine_pools.iter().enumerate();
    let pools = pools
        .map(|(index, entry)| (WorkersKind::MachinePool, index, entry.name.as_str(), entry.class.as_str()));
    deployments.chain(pools).collect()
}

struct Items(Vec<Item>);

impl Items {
    fn of_workers(
        &mut self,
        blueprint: &Blueprint,
        cluster: &Cluster,
        desired: &Desired,
    ) -> Result<(), String> {
        for (kind, index, name, class) in workers(cluster) {
            let (made, templates) = match kind {
                WorkersKind::MachineDeployment => {
                    (desired.machine_deployments.get(name), blueprint.machine_deployments.get(class))
                }
                WorkersKind::MachinePool => {
                    (desired.machine_pools.get(name), blueprint.machine_pools.get(class))
                }
            };
            let (Some(made), Some(templates)) = (made, templates) else { continue };
            let both = [
                (
                    WorkersTemplate::Bootstrap,
                    &templates.bootstrap,
                    &made.bootstrap_template,
                    "spec.template.spec.bootstrap.configRef",
                ),
                (
                    WorkersTemplate::Infrastructure,
                    &templates.infrastructure,
                    &made.infrastructure_template,
                    "spec.template.spec.infrastructureRef",
                ),
            ];
            for (which, template, copy, field) in both {
                let (name, class) = (name.to_owned(), class.to_owned());
                let part = Part::Workers(WorkersPart { kind, index, name, class, template: which });
                let holder = holder_of(&made.object, field);
                // A MachinePool has no copies of templates, but what is made from them.
                match kind {
                    WorkersKind::MachineDeployment => self.of_template(part, template, copy, holder)?,
                    WorkersKind::MachinePool => self.of_object(part, template, copy, holder)?,
                }
            }
        }
        Ok(())
    }

    /// The template of an object: it has the object's labels and annotations in `spec.template.metadata`.
    fn of_object(
        &mut self,
        part: Part,
        template: &Template,
        made: &Value,
        holder: HolderReference,
    ) -> Result<(), String> {
        let places =
            [["spec", "template", "metadata", "labels"], ["spec", "template", "metadata", "annotations"]];
        self.push(part, template, made, places.each_ref().map(|place| &place[..]), holder)
    }

    /// A template that is copied: it has the labels and annotations of its copy.
    fn of_template(
        &mut self,
        part: Part,
        template: &Template,
        made: &Value,
        holder: HolderReference,
    ) -> Result<(), String> {
        self.push(part, template, made, [&LABELS, &ANNOTATIONS], holder)
    }

    fn push(
        &mut self,
        part: Part,
        template: &Template,
        made: &Value,
        [labels, annotations]: [&[&str]; 2],
        holder_reference: HolderReference,
    ) -> Result<(), String> {
        let mut object = template.object.clone();
        for (from, to) in [(LABELS, labels), (ANNOTATIONS, annotations)] {
            if let Some(texts) = object::at(made, &from) {
                let described = || object::described(&template.object);
                object::set(&mut object, to, texts.clone())
                    .map_err(|message| format!("{}: {message}", described()))?;
            }
        }
        without_bookkeeping(&mut object);
        // Only this request uses the UID, so a number is as good as a random one. [`find`] needs them in order.
        let uid = format!("00000000-0000-0000-0000-{:012}", self.0.len() + 1);
        let item = GeneratePatchesItem { uid, holder_reference, object, variables: Vec::new() };
        self.0.push(Item { part, item });
        Ok(())
    }
}

/// Returns the item with this UID.
pub fn find<'a>(items: &'a mut [Item], uid: &str) -> Option<&'a mut Item> {
    let found = items.binary_search_by(|item| item.item.uid.as_str().cmp(uid)).ok()?;
    items.get_mut(found)
}

/// Removes what no patch needs: field managers, and annotations that are never copied.
fn without_bookkeeping(object: &mut Value) {
    object::remove(object, &["metadata", "managedFields"]);
    if object::at(object, &ANNOTATIONS).is_none() {
        return;
    }
    for name in [crate::names::LAST_APPLIED, crate::names::CONVERSION_DATA] {
        object::remove(object, &["metadata", "annotations", name]);
    }
    if object::at(object, &ANNOTATIONS).and_then(Value::as_object).is_some_and(serde_json::Map::is_empty) {
        object::remove(object, &ANNOTATIONS);
    }
}

fn holder_of_cluster(cluster: &Cluster) -> HolderReference {
    HolderReference {
        api_version: Cluster::API_VERSION.to_owned(),
        kind: Cluster::KIND.to_owned(),
        namespace: cluster.metadata.namespace.clone().unwrap_or_default(),
        name: cluster.metadata.name.clone().unwrap_or_default(),
        field_path: String::new(),
    }
}

fn holder_of(object: &Value, field_path: &str) -> HolderReference {
    let text = |path: &[&str]| object::text(object, path).to_owned();
    HolderReference {
        api_version: text(&["apiVersion"]),
        kind: text(&["kind"]),
        namespace: text(&["metadata", "namespace"]),
        name: text(&["metadata", "name"]),
        field_path: field_path.to_owned(),
    }
}
