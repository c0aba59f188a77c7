//! How the fields of an older version and of `v1beta2` correspond: as a table, which is applied in both directions.

use machinery::duration::of_seconds;
use serde_json::Value;

use super::fields::{Fields, to_list, to_map};
use super::path::{at, items, put, take};
use super::references::{self, Context};
use super::seconds::whole_seconds;

/// One step of a table. Places are JSON pointers. A table for `up` (to `v1beta2`) is applied from the first step to the
/// last, and for `down` from the last to the first, so a place that is named before a later step moves it is that of the older version.
#[derive(Debug)]
pub enum Move {
    /// All steps of another table.
    All(&'static [Move]),
    /// Steps inside of an object.
    Within(&'static str, &'static [Move]),
    /// Steps inside of each item of a list.
    Each(&'static str, &'static [Move]),
    /// A field has another place: first that of the older version.
    Rename(&'static str, &'static str),
    /// A duration such as `10m0s`, in `v1beta2` whole seconds, has another place: first that of the older version.
    Seconds(&'static str, &'static str),
    /// `false`, 0 and an absent field mean the same, and Go's clients of the older version write none of them.
    Zero(&'static str),
    /// A reference with an API version, in `v1beta2` with a group.
    Reference(&'static str),
    /// A reference to a template, in `v1beta2` without a namespace, has another place: first that of the older version.
    Template(&'static str, &'static str),
    /// A map of texts, in `v1beta2` a list of names and values.
    Arguments(&'static str),
    /// A map of failure domains, in `v1beta2` a list.
    FailureDomains(&'static str),
    /// Anything else.
    Custom {
        /// Makes `v1beta2` of the older version.
        up: fn(&mut Value),
        /// Makes the older version of `v1beta2`.
        down: fn(&mut Value),
    },
}

use Move::{
    All, Arguments, Custom, Each, FailureDomains, Reference, Rename, Seconds, Template, Within, Zero,
};

/// Makes `v1beta2` of the older version. Fields that `v1beta2` does not have remain.
pub fn up(moves: &[Move], object: &mut Value) {
    for step in moves {
        match step {
            All(moves) => up(moves, object),
            Within(place, moves) => at(object, place).into_iter().for_each(|inner| up(moves, inner)),
            Each(place, moves) => items(object, place).for_each(|item| up(moves, item)),
            Rename(from, to) => rename(object, from, to),
            Seconds(from, to) => {
                if let Some(seconds) =
                    take(object, from).as_ref().and_then(Value::as_str).and_then(whole_seconds)
                {
                    put(object, to, seconds.into());
                }
            }
            Zero(place) => drop_zero(object, place),
            Reference(place) => within(object, place, |fields, name| {
                replace(fields, name, references::with_group);
            }),
            Template(from, to) => template(object, from, to, references::to_template),
            Arguments(place) => within(object, place, |fields, name| {
                to_list(fields, name, |value| Fields::from_iter([("value".into(), value)]));
            }),
            FailureDomains(place) => within(object, place, domains_to_list),
            Custom { up, .. } => up(object),
        }
    }
}

/// Makes the older version of `v1beta2`. Fields that the older version does not have remain.
pub fn down(moves: &[Move], object: &mut Value, context: &Context<'_>) {
    for step in moves.iter().rev() {
        match step {
            All(moves) => down(moves, object, context),
            Within(place, moves) => {
                at(object, place).into_iter().for_each(|inner| down(moves, inner, context));
            }
            Each(place, moves) => items(object, place).for_each(|item| down(moves, item, context)),
            Rename(to, from) => rename(object, from, to),
            Seconds(to, from) => {
                if let Some(seconds) = take(object, from).as_ref().and_then(Value::as_i64) {
                    put(object, to, of_seconds(seconds).into());
                }
            }
            Zero(place) => drop_zero(object, place),
            Reference(place) => within(object, place, |fields, name| {
                replace(fields, name, |reference| references::with_version(reference, context));
            }),
            Template(to, from) => {
                template(object, from, to, |reference| references::in_namespace(reference, context));
            }
            Arguments(place) => within(object, place, |fields, name| {
                to_map(fields, name, |mut item| item.remove("value").unwrap_or_else(|| "".into()));
            }),
            FailureDomains(place) => within(object, place, domains_to_map),
            Custom { down, .. } => down(object),
        }
    }
}

fn rename(object: &mut Value, from: &str, to: &str) {
    if let Some(value) = take(object, from) {
        put(object, to, value);
    }
}

/// Replaces a reference by what `convert` makes of it, which is nothing if it names nothing.
fn replace(fields: &mut Fields, name: &str, convert: impl Fn(&Fields) -> Option<Value>) {
    let Some(reference) = fields.get(name).and_then(Value::as_object) else { return };
    match convert(reference) {
        Some(converted) => fields.insert(name.to_owned(), converted),
        None => fields.remove(name),
    };
}

/// Like [`replace`], for a reference that has another place.
fn template(object: &mut Value, from: &str, to: &str, convert: impl Fn(&Fields) -> Option<Value>) {
    let taken = take(object, from);
    if let Some(converted) = taken.as_ref().and_then(Value::as_object).and_then(convert) {
        put(object, to, converted);
    }
}

fn drop_zero(object: &mut Value, place: &str) {
    within(object, place, |fields, name| {
        if fields.get(name).is_some_and(|value| *value == false || value.as_i64() == Some(0)) {
            fields.remove(name);
        }
    });
}

/// Calls `change` with the object in which the field at `place` is, and the name of the field.
fn within(object: &mut Value, place: &str, change: impl Fn(&mut Fields, &str)) {
    let Some((parent, name)) = place.rsplit_once('/') else { return };
    if let Some(fields) = at(object, parent).and_then(Value::as_object_mut) {
        change(fields, name);
    }
}

/// As upstream (`Convert_v1beta1_ClusterStatus_To_v1beta2_ClusterStatus`), a domain always says whether it is for control planes.
fn domains_to_list(fields: &mut Fields, name: &str) {
    to_list(fields, name, |domain| {
        let Value::Object(mut domain) = domain else { return Fields::new() };
        domain.entry("controlPlane").or_insert(false.into());
        domain
    });
}

fn domains_to_map(fields: &mut Fields, name: &str) {
    to_map(fields, name, |mut domain| {
        if domain.get("controlPlane").is_some_and(|value| *value == false) {
            domain.remove("controlPlane");
        }
        Value::Object(domain)
    });
}
