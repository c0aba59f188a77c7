//! The templates of a Cluster as items of a request.

use schemas::cluster::Cluster;
use serde_json::Value;

use super::request::{GeneratePatchesItem, HolderReference};
use crate::blueprint::{Blueprint, Template};
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
    /// The bootstrap template of the MachineDeployment with this name in the topology.
    MachineDeploymentBootstrap(String),
    /// The infrastructure template of the MachineDeployment with this name in the topology.
    MachineDeploymentInfrastructure(String),
    /// The bootstrap template of the MachinePool with this name in the topology.
    MachinePoolBootstrap(String),
    /// The infrastructure template of the MachinePool with this name in the topology.
    MachinePoolInfrastructure(String),
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
    items.of_machine_deployments(blueprint, cluster, desired)?;
    items.of_machine_pools(blueprint, cluster, desired)?;
    Ok(items.0)
}

const BOOTSTRAP: &str = "spec.template.spec.bootstrap.configRef";
const INFRASTRUCTURE: &str = "spec.template.spec.infrastructureRef";

struct Items(Vec<Item>);

impl Items {
    fn of_machine_deployments(
        &mut self,
        blueprint: &Blueprint,
        cluster: &Cluster,
        desired: &Desired,
    ) -> Result<(), String> {
        let workers = cluster.spec.topology.as_ref().and_then(|topology| topology.workers.as_ref());
        for topology in workers.iter().flat_map(|workers| &workers.machine_deployments) {
            let (name, class) = (&topology.name, &topology.class);
            let (Some(made), Some(templates)) =
                (desired.machine_deployments.get(name), blueprint.machine_deployments.get(class))
            else {
                continue;
            };
            let part = Part::MachineDeploymentBootstrap(name.clone());
            self.of_template(
                part,
                &templates.bootstrap,
                &made.bootstrap_template,
                holder_of(&made.object, BOOTSTRAP),
            )?;
            let part = Part::MachineDeploymentInfrastructure(name.clone());
            let holder = holder_of(&made.object, INFRASTRUCTURE);
            self.of_template(part, &templates.infrastructure, &made.infrastructure_template, holder)?;
        }
        Ok(())
    }

    fn of_machine_pools(
        &mut self,
        blueprint: &Blueprint,
        cluster: &Cluster,
        desired: &Desired,
    ) -> Result<(), String> {
        let workers = cluster.spec.topology.as_ref().and_then(|topology| topology.workers.as_ref());
        for topology in workers.iter().flat_map(|workers| &workers.machine_pools) {
            let (name, class) = (&topology.name, &topology.class);
            let (Some(made), Some(templates)) =
                (desired.machine_pools.get(name), blueprint.machine_pools.get(class))
            else {
                continue;
            };
            let part = Part::MachinePoolBootstrap(name.clone());
            self.of_object(
                part,
                &templates.bootstrap,
                &made.bootstrap_template,
                holder_of(&made.object, BOOTSTRAP),
            )?;
            let part = Part::MachinePoolInfrastructure(name.clone());
            let holder = holder_of(&made.object, INFRASTRUCTURE);
            self.of_object(part, &templates.infrastructure, &made.infrastructure_template, holder)?;
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
        // Only this request uses the UID, so a number is as good as a random one.
        let uid = format!("00000000-0000-0000-0000-{:012}", self.0.len() + 1);
        let item = GeneratePatchesItem { uid, holder_reference, object, variables: Vec::new() };
        self.0.push(Item { part, item });
        Ok(())
    }
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

impl Part {
    /// Returns the name in the topology of the MachineDeployment that the part belongs to.
    pub fn machine_deployment(&self) -> Option<&str> {
        match self {
            Self::MachineDeploymentBootstrap(name) | Self::MachineDeploymentInfrastructure(name) => {
                Some(name)
            }
            _ => None,
        }
    }

    /// Returns the name in the topology of the MachinePool that the part belongs to.
    pub fn machine_pool(&self) -> Option<&str> {
        match self {
            Self::MachinePoolBootstrap(name) | Self::MachinePoolInfrastructure(name) => Some(name),
            _ => None,
        }
    }
}
