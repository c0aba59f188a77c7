//! The rules of a built-in kind that its structure does not express. Each folder of this crate defines them for its kinds.

use machinery::apply::Reset;
use machinery::field::FieldError;
use serde_json::Value;

use super::{Claims, Facts, Pool, Unallocated};
use crate::fields::shown_at;
use crate::subresource::Subresource;
use crate::user::User;

/// The rules of a kind beyond its structure, as functions that a kind overrides in [`NONE`].
#[derive(Clone, Copy)]
pub(crate) struct Rules {
    /// Sets defaults that depend on other fields.
    pub(crate) normalize: fn(&mut Value),
    /// Sets fields at creation.
    pub(crate) prepare: fn(&mut Value),
    /// Drops fields that kube-apiserver does not keep, because their feature gate is off or they are obsolete.
    pub(crate) drop_gated: fn(&mut Value),
    /// Selects the errors that kube-apiserver reports twice, for kinds whose updates it validates twice.
    pub(crate) repeated_on_update: Option<fn(&FieldError) -> bool>,
    /// Sets fields, or restores them from the old object, at each update.
    pub(crate) prepare_update: fn(&mut Value, &Value),
    /// Sets or restores fields at an update through a subresource. The text is the current time.
    pub(crate) prepare_part: fn(Subresource, &mut Value, &Value, &str),
    /// Validates an object.
    pub(crate) validate: fn(&Value) -> Vec<FieldError>,
    /// Validates rules that hold for new objects only.
    pub(crate) validate_new: fn(&Value) -> Vec<FieldError>,
    /// Validates an update through a subresource against the old object.
    pub(crate) validate_part: fn(Subresource, &Value, &Value) -> Vec<FieldError>,
    /// Returns errors for changes that an update must not make.
    pub(crate) immutable: fn(&Value, &Value) -> Vec<FieldError>,
    /// Validates an update of the status, for kinds that do not validate the whole object then.
    pub(crate) status: Option<fn(&Value, &Value) -> Vec<FieldError>>,
    /// Sets or restores fields at each update of the status.
    pub(crate) prepare_status: fn(&mut Value, &Value),
    /// Fields that are immutable after creation, as paths such as `spec.selector`.
    pub(crate) immutable_fields: &'static [&'static str],
    /// Applies the classes that a new object refers to, or returns the reason why it is refused.
    pub(crate) admit: fn(&mut Value, &dyn Facts) -> Result<(), String>,
    /// Completes or refuses an updated object, given the old one.
    pub(crate) admit_update: fn(&mut Value, &Value, &dyn Facts) -> Result<(), String>,
    /// What objects of this kind take from the pools of the cluster.
    pub(crate) allocation: Option<Allocation>,
    /// Records the requesting user in a new object.
    pub(crate) requested_by: fn(&mut Value, &User),
    /// Returns the reason why a valid object must not be created, or `None` if it may.
    pub(crate) create_refusal: fn(&Value) -> Option<String>,
    /// Returns the grace period of a deletion in seconds; `None` for kinds that are deleted at once.
    pub(crate) grace_period: Option<fn(&Value, Option<i64>) -> i64>,
    /// Validates a name, and returns the error messages.
    pub(crate) check_name: fn(&str) -> Vec<String>,
    /// Returns the value of a selectable field as text, for kinds with fields of other names than their paths.
    pub(crate) field: fn(&Value, &str) -> String,
    /// The texts of selectable fields that an object does not have: the zero values of their types in Go, unless these are empty.
    pub(crate) zeros: &'static [(&'static str, &'static str)],
    /// Returns the error message for a field that field selectors do not support.
    pub(crate) unknown_field: Option<fn(&str) -> String>,
    /// Converts an object to another version, for kinds whose versions differ by more than `apiVersion`.
    pub(crate) in_version: Option<fn(Value, &str) -> Value>,
    /// Returns the fields whose owners are not recorded in a write through a subresource, if they differ from the usual ones.
    pub(crate) reset: fn(Subresource) -> Option<Reset<'static>>,
    /// The warning for a client that deletes an object without a propagation policy.
    pub(crate) orphan_warning: Option<&'static str>,
}

/// How objects of a kind take from the pools of the cluster.
#[derive(Clone, Copy)]
pub(crate) struct Allocation {
    /// Returns what an object has taken.
    pub(crate) claims: fn(&Value) -> Claims,
    /// Takes what a new object, or one that replaces another one, needs.
    pub(crate) take: fn(&mut Value, Option<&Value>, &mut dyn Pool) -> Result<(), Unallocated>,
}

/// Rules that do nothing.
pub(crate) const NONE: Rules = Rules {
    normalize: |_| {},
    prepare: |_| {},
    drop_gated: |_| {},
    repeated_on_update: None,
    prepare_update: |_, _| {},
    prepare_part: |_, _, _, _| {},
    validate: |_| Vec::new(),
    validate_new: |_| Vec::new(),
    validate_part: |_, _, _| Vec::new(),
    immutable: |_, _| Vec::new(),
    status: None,
    prepare_status: |_, _| {},
    immutable_fields: &[],
    admit: |_, _| Ok(()),
    admit_update: |_, _, _| Ok(()),
    allocation: None,
    requested_by: |_, _| {},
    create_refusal: |_| None,
    grace_period: None,
    check_name: machinery::names::dns1123_subdomain,
    field: shown_at,
    zeros: &[],
    unknown_field: None,
    in_version: None,
    reset: |_| None,
    orphan_warning: None,
};
