//! Reads the objects on which the plan of a ClusterClass depends.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::{Error, External, Manager, NamespacedName, Objects, Result};
use schemas::cluster::{ClusterClass, ClusterClassVariable};
use schemas::meta::TemplateReference;
use serde_json::json;

use super::observed::{Discovered, Observed, Template};
use crate::extensions::{Extensions, Hook};
use crate::references::template_references;

/// The controller of ClusterClasses.
pub(super) struct ClassController {
    pub manager: Manager,
    pub classes: Objects<ClusterClass>,
    pub external: External,
    pub extensions: Arc<dyn Extensions>,
}

impl ClassController {
    /// Reads the state on which the plan of `class` depends.
    pub(super) async fn read(&self, class: Arc<ClusterClass>) -> Observed {
        let namespace = class.metadata.namespace.clone().unwrap_or_default();
        let mut templates = Vec::new();
        for reference in template_references(&class) {
            templates.push(self.template(&namespace, reference).await);
        }
        let discovered = self.discover(&class, &namespace).await;
        Observed { templates, discovered, now: self.manager.clock().now(), class }
    }

    async fn template(&self, namespace: &str, reference: &TemplateReference) -> Template {
        let group = reference.api_version.split_once('/').map_or("", |(group, _)| group);
        let key = NamespacedName::new(namespace, reference.name.as_str());
        let objects = self.external.objects_at(&reference.api_version, &reference.kind).await;
        let newest = self.manager.contracts().resolve(group, &reference.kind).await;
        Template {
            reference: reference.clone(),
            object: objects.map(|objects| objects.get(&key)).map_err(|error| error.to_string()),
            newest_version: newest.map(|found| found.resource.version).map_err(|error| error.to_string()),
        }
    }

    /// Asks the extensions of external patches for their variables.
    async fn discover(&self, class: &ClusterClass, namespace: &str) -> Vec<Discovered> {
        let mut all = Vec::new();
        if !self.manager.features().runtime_sdk {
            return all;
        }
        for patch in &class.spec.patches {
            let Some(external) = &patch.external else { continue };
            let Some(name) = &external.discover_variables_extension else { continue };
            let variables = self.variables_of(name, namespace, &external.settings).await;
            let variables = variables.map_err(|error| format!("patch {}: {error}", patch.name));
            all.push(Discovered { patch: patch.name.clone(), variables });
        }
        all
    }

    async fn variables_of(
        &self,
        name: &str,
        namespace: &str,
        settings: &BTreeMap<String, String>,
    ) -> Result<Vec<ClusterClassVariable>> {
        let request = json!({"settings": settings});
        let mut answer =
            self.extensions.call(Hook::DiscoverVariables, name, namespace, settings, request).await?;
        let variables = answer["variables"].take();
        if variables.is_null() {
            return Ok(Vec::new());
        }
        serde_json::from_value(variables)
            .map_err(|error| Error::json(format!("the variables of extension {name}"), error))
    }
}
