//! The kinds that the webhooks serve, from the one table of kinds in `schemas`.

use std::sync::Arc;

use anyhow::Result;
use registry::Definition;
use schemas::admission::{has_defaults, has_deletion_rules, has_rules, has_scale_rules};
use schemas::conversion::converts;
use serde_json::Value;

use crate::conversion::{ClusterApiConversion, definition};

/// What the webhooks do for a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// It has defaults, or rules for what clients write in an older version.
    pub defaults: bool,
    /// It has rules.
    pub rules: bool,
    /// Its `/scale` has rules.
    pub scale_rules: bool,
    /// Its deletion has rules.
    pub deletion_rules: bool,
    /// Its versions differ.
    pub conversion: bool,
}

/// Returns what the webhooks do for the kind of a CustomResourceDefinition.
pub fn needs(definition: &Value) -> Needs {
    let names = &definition["spec"];
    let (group, kind) = (&names["group"], &names["names"]["kind"]);
    let (group, kind) = (group.as_str().unwrap_or_default(), kind.as_str().unwrap_or_default());
    let conversion = converts(group, kind);
    Needs {
        defaults: conversion || has_defaults(group, kind),
        rules: has_rules(group, kind),
        scale_rules: has_scale_rules(group, kind),
        deletion_rules: has_deletion_rules(group, kind),
        conversion,
    }
}

/// The definitions of all kinds for which the webhooks do something.
#[derive(Debug)]
pub struct Definitions(Vec<Definition>);

impl Definitions {
    /// Reads the definitions, whose objects `converter` converts.
    ///
    /// # Errors
    /// Never, for the built-in definitions.
    pub fn new(converter: ClusterApiConversion) -> Result<Self> {
        let converter = Arc::new(converter);
        let mut definitions = Vec::new();
        for manifest in schemas::crds()? {
            let Needs { defaults, rules, scale_rules, conversion, .. } = needs(&manifest);
            if !(defaults || rules || scale_rules || conversion) {
                continue;
            }
            definitions.push(definition(&manifest, &converter)?);
        }
        Ok(Self(definitions))
    }

    /// Returns the definition of a resource.
    pub fn of_resource(&self, group: &str, plural: &str) -> Option<&Definition> {
        self.0.iter().find(|definition| definition.group == group && definition.plural == plural)
    }

    /// Returns the definition of a kind.
    pub fn of_kind(&self, group: &str, kind: &str) -> Option<&Definition> {
        self.0.iter().find(|definition| definition.group == group && definition.kind == kind)
    }
}
