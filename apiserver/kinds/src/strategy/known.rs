//! The strategy of the kinds that come from a table ([`Kind`]): it combines the table, the structural validation and the
//! rules of each kind.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::types;
use machinery::apply::Reset;
use machinery::field::FieldError;
use machinery::limits::MAX_FIELD_ERRORS;
use machinery::meta;
use serde_json::Value;

use super::{Claims, Facts, Generation, Pool, Strategy, Unallocated, masked, unknown_field};
use crate::definition::Structure;
use crate::fields::{at, invalid, or_zero};
use crate::kind::Kind;
use crate::subresource::Subresource;
use crate::user::User;

/// The strategy of a kind of the table.
pub(crate) struct Known {
    kind: &'static Kind,
    ty: String,
    schema: Structure,
}

impl Known {
    /// Returns the strategy of `kind`, whose objects have the structure `schema`.
    pub(crate) fn new(kind: &'static Kind, schema: Structure) -> Self {
        Self { kind, ty: kind.type_name(), schema }
    }

    /// Returns the object in the stored version, for which the rules are written.
    fn stored<'v>(&self, object: &'v Value) -> Cow<'v, Value> {
        match self.kind.rules.in_version {
            Some(in_version) => Cow::Owned(in_version(object.clone(), self.kind.version)),
            None => Cow::Borrowed(object),
        }
    }

    /// Returns the initial status of a new object in `version`, or `None` if it has no status.
    fn new_status(&self, version: &str) -> Option<Value> {
        if version != self.kind.version {
            let zero = types::zero_object(&types::name_of(self.kind.group, version, self.kind.kind));
            return zero.map(|mut zero| zero["status"].take());
        }
        let status = self.schema.properties.get("status").filter(|status| status.default.is_some())?;
        let mut empty = Value::Object(serde_json::Map::new());
        machinery::schema::default(status, &mut empty);
        Some(empty)
    }

    fn check(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = types::validate(&self.ty, object);
        if errors.len() >= MAX_FIELD_ERRORS {
            return errors;
        }
        // The rules repeat some errors of the structural validation, which must appear once.
        let said: HashSet<String> = errors.iter().map(ToString::to_string).collect();
        let others = (self.kind.rules.validate)(object).into_iter();
        errors.extend(others.filter(|error| said.is_empty() || !said.contains(&error.to_string())));
        errors
    }
}

fn immutable(object: &Value, old: &Value, field: &str) -> Option<FieldError> {
    let (now, before) = (at(object, field), at(old, field));
    (now != before).then(|| invalid(field, now.clone(), "field is immutable"))
}

impl Strategy for Known {
    fn normalize(&self, object: &mut Value) {
        (self.kind.rules.normalize)(object);
    }

    fn admit_create(&self, object: &mut Value, facts: &dyn Facts) -> Result<(), String> {
        (self.kind.rules.admit)(object, facts)
    }

    fn admit_update(&self, object: &mut Value, old: &Value, facts: &dyn Facts) -> Result<(), String> {
        (self.kind.rules.admit_update)(object, old, facts)
    }

    /// Resets the status of a new object, except for Nodes, because kubelets register them with a status.
    fn prepare_create(&self, object: &mut Value) {
        if self.kind.status && !self.kind.status_from_client {
            let status = self.new_status(meta::group_version(meta::api_version(object)).1);
            match (object.as_object_mut(), status) {
                (Some(map), Some(status)) => {
                    map.insert("status".into(), status);
                }
                (Some(map), None) => {
                    map.remove("status");
                }
                _ => {}
            }
        }
        (self.kind.rules.drop_gated)(object);
        (self.kind.rules.prepare)(object);
    }

    fn requested_by(&self, object: &mut Value, user: &User) {
        (self.kind.rules.requested_by)(object, user);
    }

    fn prepare_update(&self, object: &mut Value, old: &Value) {
        (self.kind.rules.drop_gated)(object);
        (self.kind.rules.prepare_update)(object, old);
    }

    fn prepare_part_update(&self, part: Subresource, object: &mut Value, old: &Value, now: &str) {
        if part == Subresource::Status {
            (self.kind.rules.prepare_status)(object, old);
        }
        (self.kind.rules.prepare_part)(part, object, old, now);
    }

    fn allocates(&self) -> bool {
        self.kind.rules.allocation.is_some()
    }

    fn claims(&self, object: &Value) -> Option<Claims> {
        Some((self.kind.rules.allocation?.claims)(object))
    }

    fn allocate(
        &self,
        object: &mut Value,
        old: Option<&Value>,
        pool: &mut dyn Pool,
    ) -> Result<(), Unallocated> {
        self.kind.rules.allocation.map_or(Ok(()), |allocation| (allocation.take)(object, old, pool))
    }

    fn create_refusal(&self, object: &Value) -> Option<String> {
        (self.kind.rules.create_refusal)(object)
    }

    fn validate_status_update(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = match self.kind.rules.status {
            Some(check) => check(object, old),
            None => self.validate_update(object, old),
        };
        errors.extend((self.kind.rules.validate_part)(Subresource::Status, object, old));
        errors
    }

    fn validate_part_update(&self, part: Subresource, object: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.check(object);
        errors.extend((self.kind.rules.validate_part)(part, object, old));
        errors
    }

    fn validate(&self, object: &Value) -> Vec<FieldError> {
        let object = &*self.stored(object);
        let mut errors = self.check(object);
        errors.extend((self.kind.rules.validate_new)(object));
        errors
    }

    fn validate_update(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        let (object, old) = (&*self.stored(object), &*self.stored(old));
        let mut errors = self.check(object);
        if let Some(is_repeated) = self.kind.rules.repeated_on_update {
            let again: Vec<FieldError> = errors.iter().filter(|error| is_repeated(error)).cloned().collect();
            errors.extend(again);
        }
        errors.extend((self.kind.rules.immutable)(object, old));
        let kept = self.kind.rules.immutable_fields.iter();
        errors.extend(kept.filter_map(|field| immutable(object, old, field)));
        errors
    }

    fn check_name(&self, name: &str, prefix: bool) -> Vec<String> {
        let name = if prefix { masked(name) } else { name.to_owned() };
        (self.kind.rules.check_name)(&name)
    }

    fn create_on_update(&self) -> bool {
        self.kind.create_on_update
    }

    fn unconditional_update(&self) -> bool {
        self.kind.unconditional
    }

    fn generation(&self) -> Generation {
        self.kind.generation
    }

    fn selectable(&self) -> &'static [&'static str] {
        self.kind.selectable
    }

    fn field(&self, object: &Value, field: &str) -> String {
        let rules = &self.kind.rules;
        or_zero((rules.field)(object, field), field, rules.zeros)
    }

    fn unknown_field(&self, field: &str) -> String {
        match self.kind.rules.unknown_field {
            Some(words) => words(field),
            None => unknown_field(self.selectable(), field),
        }
    }

    fn orphans_by_default(&self) -> bool {
        self.kind.orphans
    }

    fn grace_period(&self, object: &Value, asked: Option<i64>) -> Option<i64> {
        self.kind.rules.grace_period.map(|period| period(object, asked))
    }

    fn metadata_repeats(&self) -> (usize, usize) {
        self.kind.metadata_repeats
    }

    fn status_repeats_metadata(&self) -> bool {
        self.kind.status_repeats_metadata
    }

    fn reset(&self, part: Subresource) -> Option<Reset<'static>> {
        (self.kind.rules.reset)(part)
    }

    fn orphan_warning(&self) -> Option<&'static str> {
        self.kind.rules.orphan_warning
    }

    fn delete_returns_object(&self) -> bool {
        self.kind.returns_deleted
    }
}
