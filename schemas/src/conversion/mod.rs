//! Conversion of objects between the API versions of their kinds, as pure functions over JSON.
//!
//! `v1beta2` is the version that is stored; an older version is converted to it and from it ([`rules`]). What a version cannot
//! express is in the annotation `cluster.x-k8s.io/conversion-data` of the converted object, and comes back with the conversion back
//! ([`kept`]). Cluster API's own kinds do this as upstream's webhooks: objects in an older version have the annotation, objects in
//! `v1beta2` never have it. Metal3's kinds have it in both directions, so that nothing is lost.

mod check;
mod cluster_api;
mod data_annotation;
mod empty;
mod fields;
mod merge;
mod metal3;
mod moves;
mod path;
mod references;
mod rules;
mod seconds;

use machinery::meta;
use machinery::schema::{Schema, prune};
use serde_json::Value;

pub use check::check;
use cluster_api::claim_label;
use references::Context;
use rules::{Keeps, Rules};

/// The version that is stored.
pub(crate) const STORED: &str = "v1beta2";

/// What a conversion asks about the API server.
pub struct Server<'a> {
    /// Returns the structural schema of a version of the kind.
    pub schema: &'a dyn Fn(&str) -> Option<&'a Schema>,
    /// Returns the version of another kind that implements the contract of Cluster API, by group and kind; `None` if there is none.
    pub contract_version: &'a dyn Fn(&str, &str) -> Option<String>,
}

/// Returns whether objects of the kind have to be converted with [`convert`].
pub fn converts(group: &str, kind: &str) -> bool {
    rules::rules(group, kind, "v1beta1").is_some()
}

/// Converts an object to `version`. An object of a kind that this crate does not convert, or one without a known version, is returned
/// unchanged.
pub fn convert(group: &str, object: Value, version: &str, server: &Server<'_>) -> Value {
    let from = meta::group_version(meta::api_version(&object)).1.to_owned();
    if from == version {
        return object;
    }
    if from != STORED && version != STORED {
        let stored = convert(group, object, STORED, server);
        return convert(group, stored, version, server);
    }
    let older = if from == STORED { version } else { &from };
    let kind = meta::kind(&object);
    let (Some(rules), Some(source), Some(target)) =
        (rules::rules(group, kind, older), (server.schema)(&from), (server.schema)(version))
    else {
        return object;
    };
    let namespace = meta::namespace(&object).to_owned();
    let context =
        Context { namespace: &namespace, version: older, contract_version: server.contract_version };
    let back = Step { rules, group, version: &from, schema: source, context: &context };
    let step = Step { rules, group, version, schema: target, context: &context };
    Conversion { step, back }.convert(object)
}

/// A conversion of one object.
struct Conversion<'a> {
    step: Step<'a>,
    back: Step<'a>,
}

impl Conversion<'_> {
    fn convert(&self, mut object: Value) -> Value {
        let Self { step, back } = self;
        let mut metadata = object.as_object_mut().and_then(|object| object.remove("metadata"));
        let kept =
            metadata.as_mut().and_then(|metadata| data_annotation::take(metadata, step.group, step.version));
        let keeps = self.text_to_keep(&object);
        let cluster = object.pointer("/spec/clusterName").and_then(Value::as_str).map(str::to_owned);
        let original = (step.rules.keeps == Keeps::Both).then(|| object.clone());
        let mut result = step.convert(object);
        if let Some(kept) = kept {
            result = self.merged(kept, result);
        }
        if step.rules.is_labelled
            && let Some(metadata) = &mut metadata
        {
            match cluster {
                _ if step.is_up() => claim_label::up(metadata, &mut result),
                Some(name) if !name.is_empty() => claim_label::down(metadata, &name),
                _ => {}
            }
        }
        if let Some(text) = keeps {
            data_annotation::put(&mut metadata, text);
        } else if let Some(original) = original
            && back.convert(result.clone()) != original
        {
            data_annotation::put(&mut metadata, original.to_string());
        }
        if let (Some(result), Some(metadata)) = (result.as_object_mut(), metadata) {
            result.insert("metadata".into(), metadata);
        }
        result
    }

    /// Returns the object as text if the converted object always keeps it.
    fn text_to_keep(&self, object: &Value) -> Option<String> {
        (self.step.rules.keeps == Keeps::Newer && !self.step.is_up()).then(|| object.to_string())
    }

    /// Returns the kept object with the changes that were made since it was kept. `result` is what the step makes of the source.
    fn merged(&self, mut kept: Value, result: Value) -> Value {
        let schema = self.step.schema;
        prune(schema, &mut kept);
        if self.step.is_up() {
            empty::remove(schema, &mut kept);
        }
        // What both conversions make of the kept object is what the source was then. Only later changes of the source are applied to
        // the kept object.
        let before = self.step.convert(self.back.convert(kept.clone()));
        let merged = merge::merge(kept, &before, &result);
        if empty::has_types(schema, &merged) { merged } else { result }
    }
}

/// One direction, without regard to what is lost.
struct Step<'a> {
    rules: Rules,
    group: &'a str,
    version: &'a str,
    schema: &'a Schema,
    context: &'a Context<'a>,
}

impl Step<'_> {
    fn is_up(&self) -> bool {
        self.version == STORED
    }

    /// Converts an object without metadata.
    fn convert(&self, mut object: Value) -> Value {
        if self.is_up() {
            moves::up(self.rules.moves, &mut object);
            prune(self.schema, &mut object);
            empty::remove(self.schema, &mut object);
        } else {
            moves::down(self.rules.moves, &mut object, self.context);
            prune(self.schema, &mut object);
            if self.rules.keeps != Keeps::Both {
                empty::require(self.schema, &mut object);
            }
        }
        if let Some(object) = object.as_object_mut() {
            object.insert("apiVersion".into(), format!("{}/{}", self.group, self.version).into());
        }
        object
    }
}
