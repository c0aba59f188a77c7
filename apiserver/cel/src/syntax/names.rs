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

/// Returns whether a text can name a variable.
pub fn is_identifier(text: &str) -> bool {
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let first = text.chars().next().is_some_and(|c| !c.is_ascii_digit());
    plain && first && !is_literal(text) && !RESERVED.contains(&text)
}

/// Returns whether a text stands for itself in an expression, as a value or an operator.
pub(super) fn is_literal(text: &str) -> bool {
    matches!(text, "true" | "false" | "null" | "in")
}

/// Returns the name by which rules refer to a property.
fn escape(property: &str) -> String {
    if property == "__" || is_literal(property) || RESERVED.contains(&property) {
        return format!("__{property}__");
    }
    property
        .replace("__", "__underscores__")
        .replace('.', "__dot__")
        .replace('-', "__dash__")
        .replace('/', "__slash__")
}

/// Returns whether a field of a rule names the property. A property whose name is a reserved word is named by the
/// word, too.
pub(crate) fn names_property(field: &str, property: &str) -> bool {
    escape(property) == field || (field == property && RESERVED.contains(&field))
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
