//! Which policies and bindings match a request, and with which parameters.

use std::sync::Arc;

use kinds::definition::{Definition, Version};
use machinery::meta;
use machinery::selector::LabelSelector;
use serde_json::Value;

use super::attributes::Attributes;
use super::basis::{Basis, Binding};
use crate::versions::current::Versions;

/// The version in which a request matches a policy, and the kind of the policy's parameters.
pub(crate) type Matched = (Arc<Version>, Option<Arc<Definition>>);

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
    let failed = |why: String| format!("failed to configure policy: {why}");
    let version = basis.matcher.matches(versions, attributes, object);
    let Some(version) = version.map_err(|status| failed(status.message))? else { return Ok(None) };
    Ok(Some((version, kind(versions, basis).map_err(failed)?)))
}

/// Returns the parameters of a policy, which are of this kind, for a binding; `None` if the request does not match the binding.
///
/// # Errors
/// What is wrong with the binding.
pub(crate) async fn bound(
    versions: &Versions,
    basis: &Basis,
    kind: Option<&Definition>,
    binding: &Binding,
    attributes: &Attributes<'_>,
    object: &Value,
) -> Result<Option<Vec<Value>>, String> {
    let failed = |why: String| format!("failed to configure binding: {why}");
    let matched = binding.matcher.as_ref().map(|matcher| matcher.matches(versions, attributes, object));
    match matched {
        Some(Err(status)) => Err(failed(status.message)),
        Some(Ok(None)) => Ok(None),
        Some(Ok(Some(_))) | None => {
            find(versions, basis, kind, binding, attributes).await.map(Some).map_err(failed)
        }
    }
}

/// Returns the kind of the parameters, or `None` for a policy without.
fn kind(versions: &Versions, basis: &Basis) -> Result<Option<Arc<Definition>>, String> {
    let Some((group, version, kind)) = &basis.param_kind else { return Ok(None) };
    let definitions = versions.definitions();
    let served = definitions
        .by_kind(group, kind)
        .filter(|definition| definition.version(version).is_some_and(|version| version.served));
    match served {
        Some(definition) => Ok(Some(definition.clone())),
        None => {
            Err(format!("failed to find resource referenced by paramKind: '{group}/{version}, Kind={kind}'"))
        }
    }
}

/// Returns the parameter objects of a kind with which a policy is evaluated for a binding. If one of both has no parameters, this is a
/// single null.
async fn find(
    versions: &Versions,
    basis: &Basis,
    definition: Option<&Definition>,
    binding: &Binding,
    attributes: &Attributes<'_>,
) -> Result<Vec<Value>, String> {
    let (Some(definition), Some((group, version, _)), true) =
        (definition, &basis.param_kind, binding.params.is_object())
    else {
        return Ok(vec![Value::Null]);
    };
    let reference = &binding.params;
    let given = reference["namespace"].as_str().unwrap_or_default();
    let namespace = match (definition.namespaced, given, attributes.target.namespace) {
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
    let found: Vec<Value> = match reference["name"].as_str().filter(|name| !name.is_empty()) {
        Some(name) => {
            versions.reader().stored_object(group, &definition.plural, namespace, name).into_iter().collect()
        }
        None => {
            let selector = LabelSelector::from_object(&reference["selector"])?;
            let mut all = versions.reader().stored_objects(group, &definition.plural, namespace);
            all.retain(|object| selector.matches(meta::labels(object)));
            all
        }
    };
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
