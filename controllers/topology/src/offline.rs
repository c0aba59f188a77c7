//! What a class makes of a Cluster, from manifests alone: without a server, and as if nothing existed yet.

use std::collections::BTreeMap;
use std::sync::Arc;

use machinery::field::FieldError;
use schemas::admission::{self, Fact};
use schemas::cluster::{Cluster, ClusterClass, ClusterClassStatus};
use schemas::meta::TemplateReference;
use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;

use crate::blueprint::{Blueprint, Template, WorkerTemplates};
use crate::current::Current;
use crate::desired::{self, Contract, Desired, DesiredError, Inputs};
use crate::object;
use crate::patches::{PatchError, Patching, Step};
use crate::versions::{self, Facts, Hooks, UpgradePlan};

/// Stands for the random characters of names, so that two renderings are the same.
pub const RANDOM: &str = "xxxxx";

/// Stands for the UID of a Cluster that has none.
const UID: &str = "00000000-0000-0000-0000-000000000000";

/// Why a Cluster cannot be rendered.
#[derive(Debug, Error)]
pub enum OfflineError {
    /// An object has not the form of its kind.
    #[error("{object}: {source}")]
    Form {
        /// Kind, namespace and name.
        object: String,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// The manifests do not have an object that is referred to.
    #[error("{referrer} refers to {kind} {namespace}/{name}, which is not in the manifests")]
    Missing {
        /// The object and the field that refers to it.
        referrer: String,
        /// The kind that is missing.
        kind: String,
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// A server would refuse the object.
    #[error("{object}: {}", .errors.iter().map(ToString::to_string).collect::<Vec<String>>().join("; "))]
    Refused {
        /// Kind, namespace and name.
        object: String,
        /// The fields that are wrong.
        errors: Vec<FieldError>,
    },
    /// The Cluster or the class is wrong in another way.
    #[error("{0}")]
    Cluster(String),
    /// The desired objects cannot be made.
    #[error(transparent)]
    Desired(#[from] DesiredError),
    /// A patch failed.
    #[error(transparent)]
    Patch(#[from] PatchError),
    /// A patch needs a runtime extension.
    #[error(
        "patch {0:?} of the ClusterClass needs a runtime extension, which cannot be asked without a server"
    )]
    External(String),
}

/// Makes the objects of a new Cluster. `manifests` has its class with all templates; objects without a namespace are in `default`. Class,
/// templates and Cluster are checked as at their creation. Patches that only validate the topology by an extension are left out.
///
/// # Errors
/// [`OfflineError`] says which object or field is wrong.
pub fn render(manifests: &[Value], cluster: &Value, contract: Contract) -> Result<Desired, OfflineError> {
    let read: Cluster = typed(cluster)?;
    if read.spec.topology.is_none() {
        return Err(DesiredError::NoTopology.into());
    }
    let class = class_of(manifests, &read, namespace_of(cluster))?;
    let facts = admission::Facts {
        class: Fact::Known(Some(Box::new(class.clone()))),
        ..admission::Facts::of_empty_server()
    };
    let mut cluster: Cluster = typed(&admitted(cluster, &facts)?)?;
    cluster.metadata.uid.get_or_insert_with(|| UID.to_owned());
    let blueprint = blueprint(manifests, class)?;
    let current = Current {
        cluster: Arc::new(cluster),
        infrastructure: None,
        control_plane: None,
        machine_deployments: BTreeMap::new(),
        machine_pools: BTreeMap::new(),
    };
    let facts = Facts::of(&current).map_err(OfflineError::Cluster)?;
    let versions = versions::choose(&facts, &UpgradePlan::default(), &Hooks::default());
    let versions = versions.map_err(OfflineError::Cluster)?;
    let inputs = Inputs { blueprint: &blueprint, current: &current, contract, versions: &versions };
    let unpatched = desired::compute(&inputs, &mut || RANDOM.to_owned())?;
    let mut patching = Patching::new(&blueprint, &current.cluster, unpatched, contract)?;
    loop {
        match patching.next()? {
            Step::Done => return Ok(patching.finish()?),
            Step::Generate { patch, .. } => return Err(OfflineError::External(patch.name.clone())),
            Step::Validate { .. } => {}
        }
    }
}

/// The namespace of objects that name none.
const DEFAULT: &str = "default";

fn typed<T: DeserializeOwned>(object: &Value) -> Result<T, OfflineError> {
    T::deserialize(object).map_err(|source| OfflineError::Form { object: object::described(object), source })
}

/// Returns an object with its defaults, after the checks that a server makes when it is created.
fn admitted(object: &Value, facts: &admission::Facts) -> Result<Value, OfflineError> {
    let (group, kind) = (object::group(object), object::kind(object));
    let mut admitted = object.clone();
    admitted["metadata"]["namespace"] = namespace_of(object).into();
    match admission::admit(group, kind, &mut admitted, None, false, facts) {
        Ok(_) => Ok(admitted),
        Err(errors) => Err(OfflineError::Refused { object: object::described(&admitted), errors }),
    }
}

fn namespace_of(object: &Value) -> &str {
    match object::text(object, &["metadata", "namespace"]) {
        "" => DEFAULT,
        namespace => namespace,
    }
}

/// Returns the Cluster's class, with the definitions of its variables in its status, where its controller would put them.
fn class_of(manifests: &[Value], cluster: &Cluster, namespace: &str) -> Result<ClusterClass, OfflineError> {
    let reference =
        cluster.spec.topology.as_ref().map(|topology| topology.class_ref.clone()).unwrap_or_default();
    let namespace =
        reference.namespace.filter(|other| !other.is_empty()).unwrap_or_else(|| namespace.to_owned());
    let is_meant = |object: &&Value| {
        object::kind(object) == ClusterClass::KIND
            && object::group(object) == ClusterClass::GROUP
            && object::name(object) == reference.name
            && namespace_of(object) == namespace
    };
    let found = manifests.iter().find(is_meant).ok_or_else(|| OfflineError::Missing {
        referrer: "spec.topology.classRef of the Cluster".to_owned(),
        kind: ClusterClass::KIND.to_owned(),
        namespace: namespace.clone(),
        name: reference.name.clone(),
    })?;
    typed::<ClusterClass>(found)?;
    let mut class: ClusterClass = typed(&admitted(found, &admission::Facts::of_empty_server())?)?;
    let variables = schemas::variables::inline_definitions(&class.spec.variables);
    class.status = Some(ClusterClassStatus { variables, ..ClusterClassStatus::default() });
    Ok(class)
}

/// Reads the templates of a class.
fn blueprint(manifests: &[Value], class: ClusterClass) -> Result<Blueprint, OfflineError> {
    let namespace = class.metadata.namespace.clone().unwrap_or_default();
    let read = |reference: &TemplateReference, field: &str| {
        let group = reference.api_version.split_once('/').map_or("", |(group, _)| group);
        let is_meant = |object: &&Value| {
            object::kind(object) == reference.kind
                && object::group(object) == group
                && object::name(object) == reference.name
                && namespace_of(object) == namespace
        };
        let found = manifests.iter().find(is_meant).ok_or_else(|| OfflineError::Missing {
            referrer: format!("{field} of the ClusterClass"),
            kind: reference.kind.clone(),
            namespace: namespace.clone(),
            name: reference.name.clone(),
        })?;
        // The defaults of a template stay out, as those of its schema are not known here either.
        admitted(found, &admission::Facts::of_empty_server())?;
        Ok::<_, OfflineError>(Template { object: found.clone() })
    };
    let plane = &class.spec.control_plane;
    let machines = plane.machine_infrastructure.as_ref();
    let workers = |kind: &str, class: &str, bootstrap, infrastructure| {
        let field = |part: &str| format!("spec.workers.{kind}[{class}].{part}.templateRef");
        Ok::<_, OfflineError>(WorkerTemplates {
            bootstrap: read(bootstrap, &field("bootstrap"))?,
            infrastructure: read(infrastructure, &field("infrastructure"))?,
        })
    };
    let mut machine_deployments = BTreeMap::new();
    let mut machine_pools = BTreeMap::new();
    for entry in class.spec.workers.iter().flat_map(|workers| &workers.machine_deployments) {
        let (bootstrap, infrastructure) = (&entry.bootstrap.template_ref, &entry.infrastructure.template_ref);
        let templates = workers("machineDeployments", &entry.class, bootstrap, infrastructure)?;
        machine_deployments.insert(entry.class.clone(), templates);
    }
    for entry in class.spec.workers.iter().flat_map(|workers| &workers.machine_pools) {
        let (bootstrap, infrastructure) = (&entry.bootstrap.template_ref, &entry.infrastructure.template_ref);
        let templates = workers("machinePools", &entry.class, bootstrap, infrastructure)?;
        machine_pools.insert(entry.class.clone(), templates);
    }
    Ok(Blueprint {
        infrastructure: read(&class.spec.infrastructure.template_ref, "spec.infrastructure.templateRef")?,
        control_plane: read(&plane.template_ref, "spec.controlPlane.templateRef")?,
        control_plane_machines: machines
            .map(|machines| {
                read(&machines.template_ref, "spec.controlPlane.machineInfrastructure.templateRef")
            })
            .transpose()?,
        machine_deployments,
        machine_pools,
        class: Arc::new(class),
    })
}
