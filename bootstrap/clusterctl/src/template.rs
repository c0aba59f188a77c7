//! Templates: their variables, and the objects that they make.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::components::set_namespace;
use crate::configuration::Configuration;
use crate::{Context, Result, substitution, yaml};

/// A template, read.
#[derive(Debug, Clone, Default)]
pub struct Template {
    /// Its variables and the text of their defaults; `None` for one that must be set.
    pub variables: BTreeMap<String, Option<String>>,
    /// The objects; none where only the variables were asked for.
    pub objects: Vec<Value>,
}

/// What is wanted of a template.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Where its namespaced objects shall be; as they are without.
    pub namespace: Option<String>,
    /// Only the variables.
    pub variables_only: bool,
}

impl Template {
    /// Reads a template and, unless only its variables are wanted, makes its objects.
    ///
    /// # Errors
    /// A template that is none, variables that are not set, objects that are no YAML.
    pub fn read(text: &[u8], configuration: &Configuration, wanted: &Wanted) -> Result<Self> {
        let text = String::from_utf8_lossy(text);
        let variables = substitution::variables(&text)?;
        if wanted.variables_only {
            return Ok(Self { variables, objects: Vec::new() });
        }
        let processed = substitution::process(&text, &|name| configuration.variable(name))?;
        let mut objects = yaml::objects(&processed)?;
        if let Some(namespace) = &wanted.namespace {
            set_namespace(&mut objects, namespace)
                .context(|| "failed to set the TargetNamespace in the template".to_owned())?;
        }
        Ok(Self { variables, objects })
    }

    /// This template behind `first`, whose defaults count before its own.
    #[must_use]
    pub fn behind(self, mut first: Self) -> Self {
        for (name, default) in self.variables {
            let known = first.variables.entry(name).or_default();
            if known.is_none() {
                *known = default;
            }
        }
        first.objects.extend(self.objects);
        first
    }

    /// The objects as one text.
    ///
    /// # Errors
    /// As [`yaml::write_all`].
    pub fn text(&self) -> Result<String> {
        Ok(yaml::write_all(&self.objects)? + "\n")
    }

    /// What `generate yaml --list-variables` prints.
    pub fn list(&self) -> String {
        if self.variables.is_empty() {
            return "\n".to_owned();
        }
        let names: String = self.variables.keys().map(|name| format!("  - {name}\n")).collect();
        format!("Variables:\n{names}")
    }
}
