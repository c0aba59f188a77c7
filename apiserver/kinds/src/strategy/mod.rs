//! The behavior that differs between kinds: one [`Strategy`] for each kind. The code of the verbs is common to all.

pub(crate) mod custom;
pub(crate) mod known;
pub(crate) mod rules;

use std::collections::BTreeSet;
use std::net::IpAddr;

use machinery::apply::Reset;
use machinery::field::FieldError;
use serde_json::Value;

use crate::fields::shown_at;
use crate::subresource::Subresource;
use crate::user::User;

/// The changes that increment `metadata.generation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generation {
    /// Never; the kind keeps the value that the client wrote at creation.
    Untouched,
    /// Changes outside of `metadata` and `status`.
    Spec,
    /// Changes outside of `metadata` and `status`, and of annotations.
    SpecAndAnnotations,
    /// Changes outside of `metadata`, and of labels.
    SpecAndLabels,
    /// Changes outside of `metadata`.
    All,
}

/// What rules ask about other objects, which are cluster-scoped.
pub trait Facts {
    /// Looks an object up by group, plural and name. Returns `None` if it does not exist.
    fn find(&self, group: &str, plural: &str, name: &str) -> Option<Value>;

    /// Returns all objects of a resource.
    fn all(&self, group: &str, plural: &str) -> Vec<Value>;
}

/// What an object has taken from the pools of the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claims {
    /// Cluster IPs.
    pub addresses: BTreeSet<IpAddr>,
    /// Ports of all nodes.
    pub ports: BTreeSet<u16>,
}

/// The pools of the cluster, from which nothing is given twice. The errors are those of kube-apiserver.
pub trait Pool {
    /// Takes this address.
    ///
    /// # Errors
    /// Says why nobody can have it.
    fn take_address(&mut self, address: IpAddr) -> Result<(), String>;

    /// Takes any address. Returns `None` if there is none.
    fn next_address(&mut self) -> Option<IpAddr>;

    /// Takes this port.
    ///
    /// # Errors
    /// Says why nobody can have it.
    fn take_port(&mut self, port: u16) -> Result<(), &'static str>;

    /// Takes any port.
    ///
    /// # Errors
    /// There is none.
    fn next_port(&mut self) -> Result<u16, &'static str>;
}

/// The reason why an object does not get what it needs from a pool.
#[derive(Debug)]
pub enum Unallocated {
    /// It asks for what it cannot have.
    Invalid(FieldError),
    /// There is nothing left.
    Internal(String),
}

/// The rules of one kind. The defaults fit a built-in kind without rules of its own.
pub trait Strategy: Send + Sync {
    /// Applies defaults and normal forms. The field manager of the client owns these fields.
    fn normalize(&self, _object: &mut Value) {}

    /// Updates fields that depend on the name, after the server has generated it.
    fn name_generated(&self, _object: &mut Value) {}

    /// Records the requesting user in a new object.
    fn requested_by(&self, _object: &mut Value, _user: &User) {}

    /// Applies admission that depends on other objects, before and after webhooks: refuses a new object, or completes it from the classes
    /// that it names.
    ///
    /// # Errors
    /// The reason of the refusal.
    fn admit_create(&self, _object: &mut Value, _facts: &dyn Facts) -> Result<(), String> {
        Ok(())
    }

    /// Like [`Self::admit_create`], for an update.
    ///
    /// # Errors
    /// The reason of the refusal.
    fn admit_update(&self, _object: &mut Value, _old: &Value, _facts: &dyn Facts) -> Result<(), String> {
        Ok(())
    }

    /// Sets fields of a new object after field ownership was recorded, so that no manager owns them.
    fn prepare_create(&self, _object: &mut Value) {}

    /// Sets or restores fields at each update, after field ownership was recorded.
    fn prepare_update(&self, _object: &mut Value, _old: &Value) {}

    /// Sets or restores fields at an update through `/status` or another subresource in `parts` of the version. `now`
    /// is the current time in the format of `metav1.Time`.
    fn prepare_part_update(&self, _part: Subresource, _object: &mut Value, _old: &Value, _now: &str) {}

    /// Returns the reason why a valid object must not be created, or `None` if it may.
    fn create_refusal(&self, _object: &Value) -> Option<String> {
        None
    }

    /// Returns whether objects of the kind take anything from the pools.
    fn allocates(&self) -> bool {
        false
    }

    /// Returns what an object has taken from the pools; `None` for kinds that take nothing.
    fn claims(&self, _object: &Value) -> Option<Claims> {
        None
    }

    /// Takes from the pools what a new or updated object needs, before it is validated.
    ///
    /// # Errors
    /// It cannot have that.
    fn allocate(
        &self,
        _object: &mut Value,
        _old: Option<&Value>,
        _pool: &mut dyn Pool,
    ) -> Result<(), Unallocated> {
        Ok(())
    }

    /// Validates a new object.
    fn validate(&self, _object: &Value) -> Vec<FieldError> {
        Vec::new()
    }

    /// Validates an update, including the rules that hold for every object.
    fn validate_update(&self, object: &Value, _old: &Value) -> Vec<FieldError> {
        self.validate(object)
    }

    /// Validates an update through `/status`, which changes the status only.
    fn validate_status_update(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        self.validate_update(object, old)
    }

    /// Validates an update through a subresource that is neither `status` nor `scale`.
    fn validate_part_update(&self, _part: Subresource, object: &Value, old: &Value) -> Vec<FieldError> {
        self.validate_update(object, old)
    }

    /// Returns the problems of a name, or of a `generateName` if `prefix` is set.
    fn check_name(&self, name: &str, prefix: bool) -> Vec<String> {
        machinery::names::dns1123_subdomain(if prefix { masked(name) } else { name.to_owned() }.as_str())
    }

    /// Returns whether a PUT creates an object that does not exist.
    fn create_on_update(&self) -> bool {
        false
    }

    /// Returns whether a PUT may omit `metadata.resourceVersion`.
    fn unconditional_update(&self) -> bool {
        true
    }

    /// Returns which changes increment the generation.
    fn generation(&self) -> Generation {
        Generation::Untouched
    }

    /// Returns whether field selectors support `metadata.namespace`, which is empty for objects without a namespace.
    fn selects_namespace(&self, namespaced: bool) -> bool {
        namespaced || self.selectable().is_empty()
    }

    /// Returns the fields that field selectors support beside `metadata.name` and `metadata.namespace`.
    fn selectable(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the value of a field of [`Self::selectable`] as text. An absent field has the text of the zero value of its type in Go.
    fn field(&self, object: &Value, field: &str) -> String {
        shown_at(object, field)
    }

    /// Returns the error message for a field that field selectors do not support.
    fn unknown_field(&self, field: &str) -> String {
        unknown_field(self.selectable(), field)
    }

    /// Returns whether a deletion without a propagation policy orphans the dependents.
    fn orphans_by_default(&self) -> bool {
        false
    }

    /// Returns whether a DELETE that removes the object responds with the object instead of a `Status`.
    fn delete_returns_object(&self) -> bool {
        false
    }

    /// Changes an object when its deletion begins, before finalizers have run.
    fn prepare_delete(&self, _object: &mut Value) {}

    /// Returns the deletion grace period in seconds, or `None` for kinds without graceful deletion.
    fn grace_period(&self, _object: &Value, _asked: Option<i64>) -> Option<i64> {
        None
    }

    /// Returns whether a deletion records its grace period and increments the generation.
    fn graceful(&self) -> bool {
        true
    }

    /// Returns the reason why the object of that name must never be deleted, or `None` if it may.
    fn undeletable(&self, _name: &str) -> Option<&'static str> {
        None
    }

    /// Returns how many more times the update validation of the kind validates labels, annotations and owners, and how many more times
    /// finalizers.
    /// Each repetition repeats the errors. Some kinds validate the whole object again, some only changes, some neither.
    fn metadata_repeats(&self) -> (usize, usize) {
        (1, 1)
    }

    /// Returns whether the validation of a status update repeats the validation of metadata, too, at most once.
    fn status_repeats_metadata(&self) -> bool {
        true
    }

    /// Returns the fields whose owners the server does not record in a write through `part`, if they differ from the usual ones.
    fn reset(&self, _part: Subresource) -> Option<Reset<'static>> {
        None
    }

    /// Returns the warning for a client that deletes an object without a propagation policy.
    fn orphan_warning(&self) -> Option<&'static str> {
        None
    }

    /// Returns whether a finalizer without a slash is refused, as for built-in kinds, or only causes a warning.
    fn qualified_finalizers(&self) -> bool {
        true
    }
}

/// Returns the usual error message for a field that field selectors do not support.
pub(crate) fn unknown_field(selectable: &[&str], field: &str) -> String {
    if selectable.is_empty() {
        return format!(
            "\"{field}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        );
    }
    format!("field label not supported: {field}")
}

/// Replaces a trailing dash of a `generateName` by a letter, so that the prefix can be validated as a name.
pub(crate) fn masked(prefix: &str) -> String {
    match prefix.strip_suffix('-') {
        Some(stem) => format!("{stem}a"),
        None => prefix.to_owned(),
    }
}
