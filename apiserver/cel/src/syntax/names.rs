//! Escaping of property names that are not identifiers of CEL.

use std::sync::Arc;

/// Identifiers that are reserved and name nothing.
pub(super) const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Returns the name by which rules refer to a property.
pub(crate) fn escape(property: &str) -> String {
    if ["true", "false", "null", "in", "__"].contains(&property) || RESERVED.contains(&property) {
        return format!("__{property}__");
    }
    property
        .replace("__", "__underscores__")
        .replace('.', "__dot__")
        .replace('-', "__dash__")
        .replace('/', "__slash__")
}

/// Returns the property that an escaped field name stands for.
pub(crate) fn unescape(field: &Arc<str>) -> Arc<str> {
    if !field.contains("__") {
        return field.clone();
    }
    if let Some(inner) = field.strip_prefix("__").and_then(|rest| rest.strip_suffix("__"))
        && !inner.contains("__")
        && !["underscores", "dot", "dash", "slash"].contains(&inner)
    {
        return inner.into();
    }
    let mut out = field.to_string();
    for (escaped, plain) in
        [("__dot__", "."), ("__dash__", "-"), ("__slash__", "/"), ("__underscores__", "__")]
    {
        out = out.replace(escaped, plain);
    }
    out.into()
}
