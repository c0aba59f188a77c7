//! An object of one of these kinds, as the rules read it.

use clusterctl::configuration::{Provider, ProviderType};
use engine::object::{annotation, is_deleting, uid};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use kube::api::DynamicObject;
use schemas::operator::{ProviderReference, ProviderSpec, ProviderStatus};
use serde_json::Value;

use crate::conditions::{UPGRADED, UPGRADING};
use crate::names::{APPLIED, BEGUN, DEPLOYMENTS, FAILED};

/// A provider that somebody declared.
#[derive(Debug, Clone, PartialEq)]
pub struct Declared {
    /// Name and type of the provider, without the address of its files.
    pub provider: Provider,
    /// The namespace of the object, in which the components are installed.
    pub namespace: String,
    /// The UID of the object.
    pub uid: String,
    /// When the object was created.
    pub created: Option<Time>,
    /// Whether the object is being deleted.
    pub is_deleting: bool,
    /// `metadata.generation`.
    pub generation: Option<i64>,
    /// Whether components were about to be written for the object.
    pub has_begun: bool,
    /// The digest of everything that the installed components were made of; `None` if nothing was installed.
    pub applied: Option<String>,
    /// The same digest of an upgrade that failed; `None` if the last one did not fail.
    pub failed: Option<String>,
    /// The Deployments after the installation, as [`crate::health::generations`] wrote them.
    pub deployments: Option<String>,
    /// What is wanted.
    pub spec: ProviderSpec,
    /// What was reported.
    pub status: ProviderStatus,
}

impl Declared {
    /// Reads an object of the kind of these providers.
    ///
    /// # Errors
    /// The object does not have the structure of its kind.
    pub fn of(kind: ProviderType, object: &DynamicObject) -> serde_json::Result<Self> {
        let part = |name: &str| match &object.data[name] {
            Value::Null => Value::Object(serde_json::Map::new()),
            value => value.clone(),
        };
        let text = |name: &str| annotation(object, name).map(str::to_owned);
        Ok(Self {
            provider: Provider { name: object.name_any(), provider_type: Some(kind), url: String::new() },
            namespace: object.namespace().unwrap_or_default(),
            uid: uid(object).to_owned(),
            created: object.metadata.creation_timestamp.clone(),
            is_deleting: is_deleting(object),
            generation: object.metadata.generation,
            has_begun: text(BEGUN).is_some(),
            applied: text(APPLIED),
            failed: text(FAILED),
            deployments: text(DEPLOYMENTS),
            spec: serde_json::from_value(part("spec"))?,
            status: serde_json::from_value(part("status"))?,
        })
    }

    /// The type of the provider.
    pub fn kind(&self) -> ProviderType {
        self.provider.provider_type.unwrap_or(ProviderType::Core)
    }

    /// The version that the user wants; `None` for any.
    pub fn version(&self) -> Option<&str> {
        self.spec.version.as_deref().filter(|version| !version.is_empty())
    }

    /// Namespace and name of something that the object refers to.
    pub fn referred(&self, reference: &ProviderReference) -> (String, String) {
        let namespace = reference.namespace.clone().filter(|namespace| !namespace.is_empty());
        (namespace.unwrap_or_else(|| self.namespace.clone()), reference.name.clone())
    }

    /// Whether this process, or one before it, ended in the middle of an upgrade.
    pub fn was_interrupted(&self) -> bool {
        let mut all = self.status.conditions.iter();
        all.any(|condition| condition.type_ == UPGRADED && condition.reason == UPGRADING)
    }

    /// Whether the components that are there belong to this object: it has installed or adopted them, or has begun to install them.
    pub fn has_components(&self) -> bool {
        self.status.installed_version.is_some() || self.has_begun
    }
}
