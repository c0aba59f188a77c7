//! The objects of providers, in the versions that can be compared.

use std::sync::Arc;

use engine::names::TOPOLOGY_OWNED;
use engine::{Error, External, Manager, NamespacedName, Result};
use schemas::meta::{ContractVersionedObjectReference, TemplateReference};
use serde_json::Value;

use crate::desired::Contract;
use crate::object::version_and_kind;

/// The objects of providers.
pub struct Provided {
    manager: Manager,
    external: Arc<External>,
}

impl Provided {
    /// Reads by `external`.
    pub fn new(manager: &Manager, external: &Arc<External>) -> Self {
        Self { manager: manager.clone(), external: external.clone() }
    }

    /// Returns the contract that the version of a control plane's kind implements, of which `template` is the template.
    pub async fn contract(&self, template: &Value) -> Result<Contract> {
        let (version, kind) = version_and_kind(template);
        let kind = kind.strip_suffix("Template").unwrap_or(kind);
        Ok(Contract::named(self.manager.contracts().contract_of(version, kind).await?))
    }

    /// Reads a template of a provider. Others are refused: this controller would make objects of any kind for whoever may write a class, such as
    /// Pods from a PodTemplate.
    pub async fn template(&self, reference: &TemplateReference, key: &NamespacedName) -> Result<Value> {
        let group = reference.api_version.split_once('/').map_or("", |(group, _)| group);
        self.manager.contracts().resolve(group, &reference.kind).await.map_err(|error| {
            Error::failed(format!(
                "{} ({}) is no template of a provider: {error}",
                reference.kind, reference.api_version
            ))
        })?;
        self.object(&reference.api_version, &reference.kind, key).await
    }

    /// Returns the object that `reference` names, in the version of the template from which it was made if that still has the same kind.
    /// Only versions that are equal can be compared.
    ///
    /// # Errors
    /// It does not exist or cannot be read, or it belongs to no topology. Such an object is left to whoever made it.
    pub async fn referenced(
        &self,
        namespace: &str,
        reference: &ContractVersionedObjectReference,
        template: Option<&Value>,
    ) -> Result<Value> {
        let same = template.map(version_and_kind).filter(|(version, kind)| {
            let group = version.split_once('/').map_or("", |(group, _)| group);
            group == reference.api_group
                && (*kind == reference.kind || kind.strip_suffix("Template") == Some(reference.kind.as_str()))
        });
        let version = match same {
            Some((version, _)) => version.to_owned(),
            None => {
                let resolved =
                    self.manager.contracts().resolve(&reference.api_group, &reference.kind).await?;
                resolved.resource.api_version
            }
        };
        let key = NamespacedName::new(namespace, reference.name.as_str());
        let object = self.object(&version, &reference.kind, &key).await?;
        if object["metadata"]["labels"].get(TOPOLOGY_OWNED).is_none() {
            return Err(Error::failed(format!(
                "{} {key} belongs to no topology: it lacks the label {TOPOLOGY_OWNED}",
                reference.kind
            )));
        }
        Ok(object)
    }

    /// Returns an object in exactly this version, with `apiVersion` and `kind`.
    ///
    /// # Errors
    /// It does not exist or cannot be read.
    async fn object(&self, api_version: &str, kind: &str, key: &NamespacedName) -> Result<Value> {
        let objects = self.external.objects_at(api_version, kind).await?;
        let missing = || Error::failed(format!("{kind} {key} ({api_version}) does not exist"));
        let found = objects.get(key).ok_or_else(missing)?;
        let value = serde_json::to_value(found.as_ref());
        let mut value = value.map_err(|error| Error::json(format!("read {kind} {key}"), error))?;
        value["apiVersion"] = api_version.into();
        value["kind"] = kind.into();
        Ok(value)
    }
}
