//! Which policies and bindings match a request, and with which parameters.

use std::sync::Arc;

use kinds::definition::{Definition, Version};
use machinery::selector::LabelSelector;
use serde_json::Value;

use super::attributes::Attributes;
use super::basis::{Basis, Binding};
use crate::storage::{keys, outline};
use crate::versions::current::Versions;
use crate::versions::definitions::Definitions;

/// The version in which a request matches a policy, and the kind of the policy's parameters.
pub(crate) type Matched = (Arc<Version>, Option<Arc<Definition>>);

/// Maximum size of the parameters that are read for one request, in bytes of JSON.
const MAX_PARAMETERS: usize = 64 * 1024 * 1024;

/// How many bytes of parameters may still be read for one request.
pub(crate) struct Allowance(usize);

impl Default for Allowance {
    fn default() -> Self {
        Self(MAX_PARAMETERS)
    }
}

impl Allowance {
    fn take(&mut self, bytes: usize) -> Result<(), String> {
        let left = self.0.checked_sub(bytes);
        self.0 = left.ok_or_else(|| {
            format!("the parameters for one request are larger than {MAX_PARAMETERS} bytes together")
        })?;
        Ok(())
    }
}

/// Returns how a request matches a policy; `None` if it does not match.
///
/// # Errors
/// What is wrong with the policy.
pub(crate) fn matched(
    versions: &Versions,
    basis: &Basis,
    attributes: &Attributes<'_>,
    object: &Value,
) -> Result<Option<Matched>, String> {
    let version = basis.matcher.matches(versions, attributes, object);
    let Some(version) = version.map_err(|status| unusable(&status.message))? else { return Ok(None) };
    Ok(Some((version, kind(versions, basis).map_err(|why| unusable(&why))?)))
}

/// Returns the message for a policy that cannot be used.
pub(crate) fn unusable(why: &str) -> String {
    format!("failed to configure policy: {why}")
}

/// Returns whether the request matches a binding.
///
/// # Errors
/// What is wrong with the binding.
pub(crate) fn binds(
    versions: &Versions,
    binding: &Binding,
    attributes: &Attributes<'_>,
    object: &Value,
) -> Result<bool, String> {
    let Some(matcher) = &binding.matcher else { return Ok(true) };
    let matched = matcher.matches(versions, attributes, object);
    matched.map(|version| version.is_some()).map_err(|status| unbound(&status.message))
}

/// Returns the message for a binding that cannot be used.
pub(crate) fn unbound(why: &str) -> String {
    format!("failed to configure binding: {why}")
}

/// Returns the resource of a kind, if the version is served.
pub(super) fn served<'d>(
    definitions: &'d Definitions,
    group: &str,
    version: &str,
    kind: &str,
) -> Option<&'d Arc<Definition>> {
    definitions
        .by_kind(group, kind)
        .filter(|definition| definition.version(version).is_some_and(|version| version.served))
}

/// Returns the kind of the parameters, or `None` for a policy without.
fn kind(versions: &Versions, basis: &Basis) -> Result<Option<Arc<Definition>>, String> {
    let Some((group, version, kind)) = &basis.param_kind else { return Ok(None) };
    match served(&versions.definitions(), group, version, kind) {
        Some(definition) => Ok(Some(definition.clone())),
        None => {
            Err(format!("failed to find resource referenced by paramKind: '{group}/{version}, Kind={kind}'"))
        }
    }
}

/// Returns the parameters of a policy, which are of the kind `definition`, for a binding. If one of both has no parameters, this is a single
/// null.
///
/// # Errors
/// What is wrong with the binding.
pub(crate) async fn bound(
    versions: &Versions,
    basis: &Basis,
    definition: Option<&Definition>,
    binding: &Binding,
    namespace: &str,
    allowance: &mut Allowance,
) -> Result<Vec<Value>, String> {
    find(versions, basis, definition, binding, namespace, allowance).await.map_err(|why| unbound(&why))
}

async fn find(
    versions: &Versions,
    basis: &Basis,
    definition: Option<&Definition>,
    binding: &Binding,
    own: &str,
    allowance: &mut Allowance,
) -> Result<Vec<Value>, String> {
    let (Some(definition), Some((_, version, _)), true) =
        (definition, &basis.param_kind, binding.params.is_object())
    else {
        return Ok(vec![Value::Null]);
    };
    let reference = &binding.params;
    let given = reference["namespace"].as_str().unwrap_or_default();
    let namespace = match (definition.namespaced, given, own) {
        (false, "", _) => "",
        (false, ..) => {
            return Err("paramRef.namespace must not be provided for a cluster-scoped `paramKind`".to_owned());
        }
        (true, "", "") => {
            return Err(
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
                    .to_owned(),
            );
        }
        (true, "", own) => own,
        (true, given, _) => given,
    };
    let found = stored(versions, definition, namespace, reference, allowance)?;
    match (found.is_empty(), reference["parameterNotFoundAction"].as_str()) {
        (true, Some("Allow")) => Ok(Vec::new()),
        (true, _) => Err("no params found for policy binding with `Deny` parameterNotFoundAction".to_owned()),
        (false, _) => {
            let Some(version) = definition.version(version) else { return Ok(found) };
            let mut shown = Vec::with_capacity(found.len());
            for object in found {
                let object = versions.in_version(definition, version, object).await;
                shown.push(object.map_err(|status| status.message)?);
            }
            Ok(shown)
        }
    }
}

/// Returns what a reference selects, as it is stored.
fn stored(
    versions: &Versions,
    definition: &Definition,
    namespace: &str,
    reference: &Value,
    allowance: &mut Allowance,
) -> Result<Vec<Value>, String> {
    let reader = versions.reader();
    let mut found = Vec::new();
    if let Some(name) = reference["name"].as_str().filter(|name| !name.is_empty()) {
        // With a slash, it would be another key.
        let key = (!name.contains('/')).then(|| keys::object(definition, namespace, name));
        if let Some(entry) = key.and_then(|key| reader.storage().get(&key)) {
            allowance.take(entry.value.len())?;
            found.extend(machinery::decode::own::<Value>(&entry.value).ok());
        }
        return Ok(found);
    }
    let selector = LabelSelector::from_object(&reference["selector"])?;
    let (entries, _) = reader.storage().range(&keys::namespace(definition, namespace));
    // What is not selected is not parsed.
    for entry in &entries {
        if outline::of(entry).is_some_and(|outline| selector.selects(|key| outline.label(key))) {
            allowance.take(entry.value.len())?;
            found.extend(machinery::decode::own::<Value>(&entry.value).ok());
        }
    }
    Ok(found)
}
