//! The Secrets and ConfigMaps whose data are applied.

use std::fmt;
use std::sync::Arc;

use engine::owners;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use schemas::addons::ResourceReference;

use crate::names::SECRET_TYPE;

/// An object that a ClusterResourceSet names, as it was found.
#[derive(Clone)]
pub enum Source {
    /// A Secret of the type [`SECRET_TYPE`].
    Secret(Arc<Secret>),
    /// A ConfigMap.
    ConfigMap(Arc<ConfigMap>),
    /// A Secret of another type, which is not applied.
    WrongType(String),
    /// There is no such object.
    Missing,
}

/// Shows what was found, without content.
impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Secret(_) => "Secret",
            Self::ConfigMap(_) => "ConfigMap",
            Self::WrongType(_) => "WrongType",
            Self::Missing => "Missing",
        })
    }
}

/// An object with the wanted owner references.
pub enum Owned {
    /// A Secret as it was read, and as it should be.
    Secret(Arc<Secret>, Secret),
    /// A ConfigMap as it was read, and as it should be.
    ConfigMap(Arc<ConfigMap>, ConfigMap),
}

impl Source {
    /// Returns the source of a Secret.
    pub fn of_secret(secret: Arc<Secret>) -> Self {
        match secret.type_.as_deref() {
            Some(SECRET_TYPE) => Self::Secret(secret),
            other => Self::WrongType(other.unwrap_or_default().to_owned()),
        }
    }

    /// Returns whether the content must not be repeated in a message.
    pub fn is_secret(&self) -> bool {
        matches!(self, Self::Secret(_))
    }

    /// Returns the values in the order of their keys; `None` if there is no key. The binary data of a ConfigMap do not count.
    pub fn values(&self) -> Option<Vec<(&str, &[u8])>> {
        let values: Vec<(&str, &[u8])> = match self {
            Self::Secret(secret) => {
                secret.data.iter().flatten().map(|(key, value)| (key.as_str(), value.0.as_slice())).collect()
            }
            Self::ConfigMap(map) => {
                map.data.iter().flatten().map(|(key, value)| (key.as_str(), value.as_bytes())).collect()
            }
            Self::WrongType(_) | Self::Missing => Vec::new(),
        };
        (!values.is_empty()).then_some(values)
    }

    /// Returns the object with `owner`; `None` if it has this owner.
    pub fn owned_by(&self, owner: &OwnerReference) -> Option<Owned> {
        match self {
            Self::Secret(secret) => {
                let mut wanted = secret.as_ref().clone();
                owners::ensure(&mut wanted, owner.clone());
                (wanted.metadata != secret.metadata).then(|| Owned::Secret(secret.clone(), wanted))
            }
            Self::ConfigMap(map) => {
                let mut wanted = map.as_ref().clone();
                owners::ensure(&mut wanted, owner.clone());
                (wanted.metadata != map.metadata).then(|| Owned::ConfigMap(map.clone(), wanted))
            }
            Self::WrongType(_) | Self::Missing => None,
        }
    }
}

/// Returns the name of a resource in messages: `ConfigMap addons`.
pub fn title(reference: &ResourceReference) -> String {
    format!("{} {}", reference.kind, reference.name)
}
