//! What a class makes of a Cluster, from manifests alone: without a server, and as if nothing existed yet.

mod templates;

use std::collections::BTreeMap;
use std::sync::Arc;

use machinery::field::FieldError;
use schemas::admission::{self, Fact};
use schemas::cluster::{Cluster, ClusterClass, ClusterClassStatus};
use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;

use crate::current::Current;
use crate::desired::{self, Contract, Desired, DesiredError, Inputs};
use crate::object;
use crate::patches::{PatchError, Patching, Step, Unused};
use crate::versions::{self, Facts, Hooks, UpgradePlan};

/// Stands for the random characters of names, so that two renderings are the same.
pub const RANDOM: &str = "xxxxx";

/// Stands for the UID of a Cluster that has none.
const UID: &str = "00000000-0000-0000-0000-000000000000";

/// What is known of kinds without a server.
pub trait Kinds {
    /// Returns the object in another version of its kind.
    ///
    /// # Errors
    /// Says why it cannot be converted.
    fn in_version(&self, object: &Value, api_version: &str) -> Result<Value, String>;

    /// Returns the contract of Cluster API that a version of a control plane's kind implements.
    fn contract(&self, api_version: &str, kind: &str) -> Contract;
}

/// What a class makes of a Cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendered {
    /// The objects. Those from templates have the version that the class names.
    pub desired: Desired,
    /// The parts of patches that are for no template of the Cluster.
    pub unused: Vec<Unused>,
}

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
    /// A template is not written in the version that the class names, and cannot be converted to it.
    #[error("{field} of the ClusterClass names version {wanted} of {object}: {message}")]
    Version {
        /// The field of the class.
        field: String,
        /// The version that it names.
        wanted: String,
        /// Kind, namespace and name of the template.
        object: String,
        /// Why it cannot be converted.
        message: String,
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
/// templates and Cluster are checked as at their creation. As on a server, templates are copied and patched in the versions that the class
/// names. Patches that only validate the topology by an extension are left out.
///
/// # Errors
/// [`OfflineError`] says which object or field is wrong.
pub fn render(manifests: &[Value], cluster: &Value, kinds: &dyn Kinds) -> Result<Rendered, OfflineError> {
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
    let blueprint = templates::blueprint(manifests, class, kinds)?;
    let (version, kind) = object::version_and_kind(&blueprint.control_plane.object);
    let contract = kinds.contract(version, kind.strip_suffix("Template").unwrap_or(kind));
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
    let unused = patching.unused()?;
    loop {
        match patching.next()? {
            Step::Done => return Ok(Rendered { desired: patching.finish()?, unused }),
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
