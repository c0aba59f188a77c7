//! References to other objects. In `v1beta2` most name a group, and which of its versions is used follows from the contract that
//! its CustomResourceDefinition names; in older versions they name a version and a namespace.

use machinery::meta;
use serde_json::{Value, json};

use super::fields::Fields;

/// What a conversion to an older version has to know beside the fields of the object.
pub struct Context<'a> {
    /// The namespace of the object.
    pub namespace: &'a str,
    /// The older version.
    pub version: &'a str,
    /// Returns the version of a kind that implements the contract of Cluster API, by group and kind.
    pub contract_version: &'a dyn Fn(&str, &str) -> Option<String>,
}

fn text<'a>(reference: &'a Fields, name: &str) -> &'a str {
    reference.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Makes an object of the fields that are not empty; `None` if all are.
fn of(fields: &[(&str, &str)]) -> Option<Value> {
    let fields = fields.iter().filter(|(_, text)| !text.is_empty());
    let fields: Fields = fields.map(|(name, text)| ((*name).to_owned(), json!(text))).collect();
    (!fields.is_empty()).then(|| fields.into())
}

/// Makes a reference by group.
pub fn with_group(reference: &Fields) -> Option<Value> {
    let (group, _) = meta::group_version(text(reference, "apiVersion"));
    of(&[("apiGroup", group), ("kind", text(reference, "kind")), ("name", text(reference, "name"))])
}

/// Makes a reference by version and namespace. If nothing says which version of the kind implements the contract, the reference names
/// the older version: upstream fails there, and nobody could read the object.
pub fn with_version(reference: &Fields, context: &Context<'_>) -> Option<Value> {
    let (group, kind) = (text(reference, "apiGroup"), text(reference, "kind"));
    let version = (context.contract_version)(group, kind);
    let version = version.as_deref().unwrap_or(context.version);
    let api_version = if group.is_empty() { String::new() } else { format!("{group}/{version}") };
    of(&[
        ("apiVersion", &api_version),
        ("kind", kind),
        ("name", text(reference, "name")),
        ("namespace", context.namespace),
    ])
}

/// Makes a reference to a template, which has no namespace.
pub fn to_template(reference: &Fields) -> Option<Value> {
    let kept = ["apiVersion", "kind", "name"].map(|name| (name, text(reference, name)));
    of(&kept)
}

/// Adds the namespace to a reference to a template.
pub fn in_namespace(reference: &Fields, context: &Context<'_>) -> Option<Value> {
    of(&[
        ("apiVersion", text(reference, "apiVersion")),
        ("kind", text(reference, "kind")),
        ("name", text(reference, "name")),
        ("namespace", context.namespace),
    ])
}
