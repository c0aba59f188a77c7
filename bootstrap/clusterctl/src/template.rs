//! Templates: their variables, and the objects that they produce.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::components::set_namespace;
use crate::configuration::Configuration;
use crate::{Context, Result, substitution, yaml};

/// A template that has been read.
#[derive(Debug, Clone, Default)]
pub struct Template {
    /// Its variables and the text of their defaults; a variable with `None` must be set.
    pub variables: BTreeMap<String, Option<String>>,
    /// The objects; empty if only the variables are wanted.
    pub objects: Vec<Value>,
}

/// How a template is to be read.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// The namespace for its namespaced objects; `None` leaves them as they are.
    pub namespace: Option<String>,
    /// Whether only the variables are wanted.
    pub variables_only: bool,
}

impl Template {
    /// Reads a template and produces its objects, unless only its variables are wanted.
    ///
    /// # Errors
    /// The template is invalid, a variable is not set, or an object is not valid YAML.
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

    /// Appends this template to `first`, whose defaults take precedence.
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

    /// All objects as one YAML text.
    ///
    /// # Errors
    /// As [`yaml::write_all`].
    pub fn text(&self) -> Result<String> {
        Ok(yaml::write_all(&self.objects)? + "\n")
    }

    /// The output of `generate yaml --list-variables`.
    pub fn list(&self) -> String {
        if self.variables.is_empty() {
            return "\n".to_owned();
        }
        let names: String = self.variables.keys().map(|name| format!("  - {name}\n")).collect();
        format!("Variables:\n{names}")
    }
}
