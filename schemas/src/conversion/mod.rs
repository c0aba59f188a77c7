//! Conversion of objects between the API versions of their kinds, as pure functions over JSON.
//!
//! `v1beta2` is the version that is stored. Each kind has two functions that move its fields: `up` makes a `v1beta2`
//! object of a `v1beta1` object, `down` the reverse. Neither loses anything of an object: what the other version
//! cannot express is in the annotation `cluster.x-k8s.io/conversion-data` of the result, and comes back with the
//! conversion back ([`kept`]). Cluster API's webhooks use the same annotation in the same form.

mod empty;
mod fields;
mod kept;
mod merge;
mod metal3_cluster;
mod metal3_data;
mod metal3_data_template;
mod metal3_machine;
mod metal3_remediation;
mod status;
#[cfg(test)]
mod tests;
mod v1beta1;

use machinery::meta;
use machinery::schema::Schema;
use serde_json::Value;

pub use v1beta1::check;

/// The version that is stored.
pub(crate) const STORED: &str = "v1beta2";

/// How the objects of a kind are converted. Both functions get an object without metadata whose fields have the types of
/// its version, and leave alone what they do not expect. Their results are canonical: what `down` makes is the same after
/// `up` and `down`, and the reverse. So a difference between two results is a change that a client made.
struct Rules {
    /// Makes a `v1beta2` object of a `v1beta1` object.
    up: fn(&mut Value),
    /// Makes a `v1beta1` object of a `v1beta2` object. Removes all that `v1beta1` cannot express.
    down: fn(&mut Value),
}

fn rules(group: &str, kind: &str) -> Option<Rules> {
    if group != "infrastructure.cluster.x-k8s.io" {
        return None;
    }
    Some(match kind {
        "Metal3Cluster" => Rules { up: metal3_cluster::up, down: metal3_cluster::down },
        "Metal3ClusterTemplate" => {
            Rules { up: metal3_cluster::template_up, down: metal3_cluster::template_down }
        }
        "Metal3Machine" => Rules { up: metal3_machine::up, down: metal3_machine::down },
        "Metal3MachineTemplate" => {
            Rules { up: metal3_machine::template_up, down: metal3_machine::template_down }
        }
        "Metal3DataTemplate" => Rules { up: metal3_data_template::up, down: metal3_data_template::down },
        "Metal3DataClaim" => Rules { up: metal3_data::claim_up, down: metal3_data::claim_down },
        "Metal3Data" => Rules { up: metal3_data::up, down: metal3_data::down },
        "Metal3Remediation" => Rules { up: metal3_remediation::up, down: metal3_remediation::down },
        "Metal3RemediationTemplate" => {
            Rules { up: metal3_remediation::template_up, down: metal3_remediation::template_down }
        }
        _ => return None,
    })
}

/// Returns whether objects of the kind have to be converted with [`convert`].
pub fn converts(group: &str, kind: &str) -> bool {
    rules(group, kind).is_some()
}

/// Converts an object to `version`. `schema` returns the structural schema of a version. An object of a kind that this
/// crate does not convert, or one without a known version, is returned unchanged.
pub fn convert<'s>(
    group: &str,
    mut object: Value,
    version: &str,
    schema: &dyn Fn(&str) -> Option<&'s Schema>,
) -> Value {
    let (_, from) = meta::group_version(meta::api_version(&object));
    let from = from.to_owned();
    let (Some(rules), Some(source), Some(target)) =
        (rules(group, meta::kind(&object)), schema(&from), schema(version))
    else {
        return object;
    };
    if from == version {
        return object;
    }
    let back = Step { rules: &rules, group, version: &from, schema: source };
    let step = Step { rules: &rules, group, version, schema: target };
    let mut metadata = object.as_object_mut().and_then(|object| object.remove("metadata"));
    let kept = metadata.as_mut().and_then(|metadata| kept::take(metadata, group, version));
    let mut result = step.convert(object.clone());
    if let Some(mut kept) = kept {
        if version == STORED {
            empty::remove(target, &mut kept);
        }
        // What both conversions make of the kept object is what the source was then. Only later changes of the source
        // are applied to the kept object.
        let before = step.convert(back.convert(kept.clone()));
        let merged = merge::merge(kept, &before, &result);
        if empty::has_types(target, &merged) {
            result = merged;
        }
    }
    if back.convert(result.clone()) != object {
        kept::put(&mut metadata, &object);
    }
    if let (Some(result), Some(metadata)) = (result.as_object_mut(), metadata) {
        result.insert("metadata".into(), metadata);
    }
    result
}

/// One direction, without regard to what is lost.
struct Step<'a> {
    rules: &'a Rules,
    group: &'a str,
    version: &'a str,
    schema: &'a Schema,
}

impl Step<'_> {
    /// Converts an object without metadata.
    fn convert(&self, mut object: Value) -> Value {
        if self.version == STORED {
            (self.rules.up)(&mut object);
            empty::remove(self.schema, &mut object);
        } else {
            (self.rules.down)(&mut object);
        }
        if let Some(object) = object.as_object_mut() {
            object.insert("apiVersion".into(), format!("{}/{}", self.group, self.version).into());
        }
        object
    }
}
