//! Building blocks of the plans of all controllers.

use engine::conditions::TRUE;
use engine::{Error, External, ExternalObject, Kind, Membership, NamespacedName, Objects, Step, owners};
use kube::api::DynamicObject;
use schemas::HasConditions;
use schemas::cluster::Cluster;
use schemas::meta::{Condition, ContractVersionedObjectReference};

/// A provider's object together with its wanted state.
#[derive(Debug, Clone)]
pub struct ExternalChange {
    /// The object as it was read.
    pub read: ExternalObject,
    /// The wanted object.
    pub wanted: DynamicObject,
}

impl ExternalChange {
    /// Returns the step that writes the change.
    pub fn step<S>(self) -> Step<S> {
        Step::patch(&self.read, self.wanted)
    }
}

/// The result of resolving a reference to a provider's object.
#[derive(Debug, Clone)]
pub enum Reference {
    /// There is no reference.
    None,
    /// The object.
    Found(ExternalObject),
    /// The referenced object does not exist.
    NotFound,
    /// The object could not be read; holds the error message.
    Failed(String),
}

impl Reference {
    /// Returns the change that makes `cluster` an owner of the object, so that the object is deleted with it; `None` if it is an owner
    /// already, or there is no object.
    ///
    /// # Errors
    /// Returns why the object could not be read.
    pub fn owned_by(&self, cluster: &Cluster) -> Result<Option<ExternalChange>, String> {
        match self {
            Self::Found(read) => {
                let mut wanted = read.object.as_ref().clone();
                owners::ensure(&mut wanted, owners::reference(cluster, &()));
                let is_changed = wanted.metadata != read.object.metadata;
                Ok(is_changed.then(|| ExternalChange { read: read.clone(), wanted }))
            }
            Self::Failed(error) => Err(error.clone()),
            Self::None | Self::NotFound => Ok(None),
        }
    }

    /// Resolves `reference` in namespace `namespace`.
    pub async fn read(
        external: &External,
        namespace: &str,
        reference: Option<&ContractVersionedObjectReference>,
    ) -> Self {
        match reference.filter(|reference| !reference.name.is_empty()) {
            None => Self::None,
            Some(reference) => Self::of(external.get(namespace, reference).await),
        }
    }

    /// Returns whether one of the objects exists, or could not be read.
    pub async fn any_exists(
        external: &External,
        namespace: &str,
        references: [Option<&ContractVersionedObjectReference>; 2],
    ) -> bool {
        for reference in references {
            let found = Self::read(external, namespace, reference).await;
            if !matches!(found, Self::None | Self::NotFound) {
                return true;
            }
        }
        false
    }

    /// Converts the result of a read.
    pub fn of(result: engine::Result<Option<ExternalObject>>) -> Self {
        match result {
            Ok(Some(object)) => Self::Found(object),
            Ok(None) => Self::NotFound,
            Err(error) => Self::Failed(error.to_string()),
        }
    }

    /// Returns the object, if it was found.
    pub fn found(&self) -> Option<&ExternalObject> {
        match self {
            Self::Found(object) => Some(object),
            _ => None,
        }
    }
}

/// Returns the Cluster called `name`, to which `object` belongs.
pub fn cluster_of<K: Kind<DynamicType = ()>>(
    clusters: &Objects<Cluster>,
    object: &K,
    name: &str,
) -> Membership {
    let key = NamespacedName::of(object);
    let cluster = NamespacedName::new(key.namespace.as_str(), name);
    let missing = || Error::failed(format!("Cluster {cluster} of {} {key} does not exist", K::kind(&())));
    clusters.get(&cluster).map_or_else(|| Membership::Missing(Some(missing())), Membership::Of)
}

/// Patches providers' objects to their wanted state; returns all errors.
pub async fn apply_external(external: &External, changes: &[ExternalChange]) -> Vec<Error> {
    let mut errors = Vec::new();
    for change in changes {
        let objects = external.handle(&change.read);
        errors.extend(objects.patch(&change.read.object, &change.wanted, &[]).await.err());
    }
    errors
}

/// Adds the messages of `errors` to those of the conditions `types` that are true.
pub fn report<K: HasConditions>(object: &mut K, types: &[&str], errors: &[&Error]) {
    let failed: String = errors.iter().map(|error| format!("\n* {error}")).collect();
    let is_meant =
        |condition: &&mut Condition| condition.status == TRUE && types.contains(&condition.type_.as_str());
    for condition in object.conditions_mut().iter_mut().filter(is_meant) {
        condition.message.push_str(&failed);
    }
}
