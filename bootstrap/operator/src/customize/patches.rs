//! Patches of components: `spec.manifestPatches` (merge patches) and `spec.patches` (merge or JSON patches, with a target).

use machinery::patch::{json_patch, merge_patch};
use machinery::selector::LabelSelector;
use schemas::operator::{ProviderPatchSelector, ProviderSpec};
use serde_json::Value;

use crate::conditions::PATCH_FAILED;
use crate::failure::Failure;

/// Applies the patches in their order.
///
/// # Errors
/// A patch is no YAML, has no kind, or does not fit; or the object has both kinds of patches.
pub(super) fn apply(spec: &ProviderSpec, objects: &mut [Value]) -> Result<(), Failure> {
    if !spec.manifest_patches.is_empty() && !spec.patches.is_empty() {
        return Err(failed("cannot use both patches and manifestPatches; please choose one"));
    }
    for (index, text) in spec.manifest_patches.iter().enumerate() {
        let name = format!("spec.manifestPatches[{index}]");
        let patch = parsed(text, &name)?;
        if patch["kind"].as_str().is_none_or(str::is_empty) {
            return Err(failed(format!("{name} has no kind, and so changes no component")));
        }
        for object in objects.iter_mut().filter(|object| is_meant(object, &patch)) {
            change(object, &patch, &name)?;
        }
    }
    for (index, wanted) in spec.patches.iter().enumerate() {
        let name = format!("spec.patches[{index}]");
        let patch = parsed(wanted.patch.as_deref().unwrap_or_default(), &name)?;
        let target = Target::of(wanted.target.as_ref(), &name)?;
        for object in objects.iter_mut().filter(|object| target.has(object)) {
            change(object, &patch, &name)?;
        }
    }
    Ok(())
}

fn failed(message: impl Into<String>) -> Failure {
    Failure::new(PATCH_FAILED, message)
}

fn parsed(text: &str, name: &str) -> Result<Value, Failure> {
    let decoded = machinery::decode::yaml(text.as_bytes());
    let decoded = decoded.map_err(|error| failed(format!("{name} is not valid YAML: {error}")))?;
    match decoded.value {
        value @ (Value::Object(_) | Value::Array(_)) => Ok(value),
        _ => Err(failed(format!("{name} is neither a merge patch nor a list of operations"))),
    }
}

/// Whether an object has the kind of a patch, and the other names that the patch has.
fn is_meant(object: &Value, patch: &Value) -> bool {
    let same = |pointer: &str| {
        let wanted = patch.pointer(pointer).and_then(Value::as_str).filter(|wanted| !wanted.is_empty());
        wanted.is_none_or(|wanted| object.pointer(pointer).and_then(Value::as_str) == Some(wanted))
    };
    ["/kind", "/apiVersion", "/metadata/name", "/metadata/namespace"].into_iter().all(same)
}

/// Patches an object: a list has the operations of a JSON patch, anything else is merged.
fn change(object: &mut Value, patch: &Value, name: &str) -> Result<(), Failure> {
    let body = patch.to_string();
    let patched = match patch.is_array() {
        true => json_patch(object, body.as_bytes()),
        false => merge_patch(object, body.as_bytes()),
    };
    let shown = || format!("{} {}", text(object, "/kind"), text(object, "/metadata/name"));
    let patched =
        patched.map_err(|status| failed(format!("{name} does not fit {}: {}", shown(), status.message)))?;
    let after = patched.object;
    // A patch must not make another object of the one that it selects.
    for pointer in ["/kind", "/apiVersion", "/metadata/name", "/metadata/namespace"] {
        if after.pointer(pointer) != object.pointer(pointer) {
            return Err(failed(format!("{name} changes {} of {}", &pointer[1..], shown())));
        }
    }
    *object = after;
    Ok(())
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The objects that a patch changes.
struct Target<'a> {
    wanted: Option<&'a ProviderPatchSelector>,
    labels: Option<LabelSelector>,
}

impl<'a> Target<'a> {
    fn of(wanted: Option<&'a ProviderPatchSelector>, name: &str) -> Result<Self, Failure> {
        let labels =
            wanted.and_then(|wanted| wanted.label_selector.as_deref()).filter(|text| !text.is_empty());
        let labels = labels.map(LabelSelector::parse).transpose();
        let labels =
            labels.map_err(|error| failed(format!("{name} has an invalid labelSelector: {error}")))?;
        Ok(Self { wanted, labels })
    }

    fn has(&self, object: &Value) -> bool {
        let Some(wanted) = self.wanted else { return true };
        let api = text(object, "/apiVersion");
        let (group, version) = api.split_once('/').unwrap_or(("", api));
        let same = |wanted: &Option<String>, actual: &str| {
            wanted.as_deref().filter(|wanted| !wanted.is_empty()).is_none_or(|wanted| wanted == actual)
        };
        let labels = object["metadata"]["labels"].as_object();
        same(&wanted.group, group)
            && same(&wanted.version, version)
            && same(&wanted.kind, text(object, "/kind"))
            && same(&wanted.name, text(object, "/metadata/name"))
            && same(&wanted.namespace, text(object, "/metadata/namespace"))
            && self.labels.as_ref().is_none_or(|selector| selector.matches(labels))
    }
}
