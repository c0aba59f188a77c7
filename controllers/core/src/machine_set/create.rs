//! Creates a Machine with its bootstrap and infrastructure objects.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::external::{Clone, clone_template};
use engine::names::{CLUSTER_NAME, DEPLOYMENT_NAME, machine_name};
use engine::object::label;
use engine::steps::Named;
use engine::{Action, Error, NamespacedName, Objects, Result, Stepwise, Tools, owners};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::DynamicObject;
use kube::core::ApiResource;
use schemas::cluster::{Bootstrap, Machine, MachineSet, MachineSpec};
use schemas::meta::ContractVersionedObjectReference;

use super::CONTROLLER;
use super::facts::set_name_label;
use super::observe::MachineSetController;
use super::observed::Observed;

/// The field manager of Machines and of their bootstrap and infrastructure objects.
pub(super) const FIELD_MANAGER: &str = "capi-machineset";
const DEFAULT_NAME: &str = "{{ .machineSet.name }}-{{ .random }}";

/// A Machine to be created, with the objects that it references.
#[derive(Debug)]
pub struct NewMachine {
    /// The random part of the name.
    pub suffix: String,
    /// The Machine.
    pub machine: Machine,
    /// The Machine's bootstrap object; `None` if the template names a data Secret.
    pub bootstrap: Option<(DynamicObject, ApiResource)>,
    /// The Machine's infrastructure object.
    pub infrastructure: (DynamicObject, ApiResource),
}

/// Returns the labels of a Machine and of its bootstrap and infrastructure objects.
pub fn labels(set: &MachineSet) -> BTreeMap<String, String> {
    let mut labels = set.spec.template.metadata.clone().unwrap_or_default().labels;
    labels.insert(CLUSTER_NAME.to_owned(), set.spec.cluster_name.clone());
    labels.extend([set_name_label(set)]);
    if let Some(deployment) = label(set, DEPLOYMENT_NAME) {
        labels.insert(DEPLOYMENT_NAME.to_owned(), deployment.to_owned());
    }
    labels
}

/// Returns the annotations of a Machine and of its bootstrap and infrastructure objects.
pub fn annotations(set: &MachineSet) -> BTreeMap<String, String> {
    set.spec.template.metadata.clone().unwrap_or_default().annotations
}

/// Renders the naming template, which may contain `.cluster.name`, `.machineSet.name` and `.random`.
fn name(set: &MachineSet, suffix: &str) -> Result<String> {
    let naming = set.spec.machine_naming.as_ref().and_then(|naming| naming.template.as_deref());
    let values = [
        ("cluster.name", set.spec.cluster_name.as_str()),
        ("machineSet.name", set.metadata.name.as_deref().unwrap_or_default()),
    ];
    machine_name(naming.unwrap_or(DEFAULT_NAME), &values, suffix).map_err(|problem| {
        let own = set.metadata.name.as_deref().unwrap_or_default();
        Error::failed(format!("spec.machineNaming.template of MachineSet {own} makes no name: {problem}"))
    })
}

/// Returns the Machine that a set wants, for a new Machine and for an existing one alike; `spec` has its
/// references, version and failure domain.
pub fn machine(set: &MachineSet, name: String, spec: MachineSpec) -> Machine {
    let template = &set.spec.template.spec;
    Machine {
        metadata: ObjectMeta {
            name: Some(name),
            namespace: set.metadata.namespace.clone(),
            labels: Some(labels(set)),
            annotations: Some(annotations(set)).filter(|annotations| !annotations.is_empty()),
            finalizers: Some(vec![crate::machine::FINALIZER.to_owned()]),
            owner_references: Some(vec![owners::controller_reference(set, &())]),
            ..ObjectMeta::default()
        },
        spec: MachineSpec {
            cluster_name: set.spec.cluster_name.clone(),
            min_ready_seconds: template.min_ready_seconds,
            readiness_gates: template.readiness_gates.clone(),
            deletion: template.deletion.clone(),
            taints: template.taints.clone(),
            ..spec
        },
        status: None,
    }
}

/// Returns the wanted state of an existing Machine; version, failure domain and references keep their values.
pub fn existing(set: &MachineSet, machine: &Machine) -> Machine {
    let spec = MachineSpec {
        version: machine.spec.version.clone(),
        failure_domain: machine.spec.failure_domain.clone(),
        infrastructure_ref: machine.spec.infrastructure_ref.clone(),
        bootstrap: Bootstrap {
            config_ref: machine.spec.bootstrap.config_ref.clone(),
            data_secret_name: set.spec.template.spec.bootstrap.data_secret_name.clone(),
        },
        ..MachineSpec::default()
    };
    let mut wanted = self::machine(set, machine.metadata.name.clone().unwrap_or_default(), spec);
    // With the UID, the apply fails instead of recreating a Machine that was deleted in the meantime.
    wanted.metadata.uid.clone_from(&machine.metadata.uid);
    wanted
}

/// Builds a Machine of `observed.set` whose name ends in `suffix`.
///
/// # Errors
/// Fails if a template does not exist or cannot be cloned, or if no name can be made from the naming template.
pub fn new_machine(observed: &Observed, suffix: &str) -> Result<NewMachine> {
    let set = observed.set.as_ref();
    let name = name(set, suffix)?;
    let clone = || Clone {
        name: name.clone(),
        namespace: set.metadata.namespace.clone().unwrap_or_default(),
        labels: labels(set),
        annotations: annotations(set),
        owner: Some(owners::reference(set, &())),
    };
    let reference = |resource: &ApiResource| ContractVersionedObjectReference {
        api_group: resource.group.clone(),
        kind: resource.kind.clone(),
        name: name.clone(),
    };
    let template = observed.infrastructure.found();
    let template = template.ok_or_else(|| Error::failed("the infrastructure template does not exist"))?;
    let infrastructure = clone_template(template, clone())?;
    let bootstrap =
        observed.bootstrap.found().map(|template| clone_template(template, clone())).transpose()?;
    let wanted = &set.spec.template.spec;
    let spec = MachineSpec {
        version: wanted.version.clone(),
        failure_domain: wanted.failure_domain.clone(),
        infrastructure_ref: reference(&infrastructure.1),
        bootstrap: Bootstrap {
            config_ref: bootstrap.as_ref().map(|(_, resource)| reference(resource)),
            data_secret_name: wanted.bootstrap.data_secret_name.clone(),
        },
        ..MachineSpec::default()
    };
    let suffix = suffix.to_owned();
    Ok(NewMachine { suffix, machine: machine(set, name, spec), bootstrap, infrastructure })
}

impl Named for NewMachine {
    fn verb(&self) -> &'static str {
        "create"
    }

    fn target(&self) -> String {
        format!("Machine {}", NamespacedName::of(&self.machine))
    }
}

impl Stepwise for MachineSetController {
    type Observed = Observed;
    type Step = NewMachine;

    fn tools(&self) -> Tools<'_> {
        Tools::new(CONTROLLER.name, &self.manager).events(&self.recorder).applied(&self.applied)
    }

    /// Creates the bootstrap object, the infrastructure object and the Machine; after a failure, deletes what it created.
    async fn perform(&self, _: &Observed, new: &NewMachine) -> Result<Action> {
        let mut made = Vec::new();
        for (object, resource) in new.bootstrap.iter().chain([&new.infrastructure]) {
            let objects = self.manager.dynamic(resource);
            match self.applied.apply(&objects, FIELD_MANAGER, None, object).await {
                Ok(stored) => made.push((objects, stored)),
                Err(error) => return Err(undo(made, error).await),
            }
        }
        match self.applied.apply(&self.machines, FIELD_MANAGER, None, &new.machine).await {
            Ok(_) => Ok(Action::done()),
            Err(error) => Err(undo(made, error).await),
        }
    }
}

async fn undo(made: Vec<(Objects<DynamicObject>, Arc<DynamicObject>)>, error: Error) -> Error {
    let mut errors = vec![error];
    for (objects, object) in made {
        errors.extend(objects.delete(object.as_ref()).await.err());
    }
    if errors.len() == 1 { errors.remove(0) } else { Error::Several(errors) }
}
