//! Values of inline patches: variables by path, and rendered templates.

use serde_json::Value;
use templates::Template;

use super::engine::Budget;

/// The size of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// About as many bytes as its JSON has.
    pub bytes: usize,
    /// Nested objects and lists.
    pub levels: usize,
}

/// Measures a value.
pub fn measure(value: &Value) -> Size {
    let mut size = Size { bytes: 0, levels: 0 };
    let mut add = |text: usize, value: &Value| {
        let below = measure(value);
        size = Size { bytes: size.bytes + text + below.bytes + 1, levels: size.levels.max(below.levels + 1) };
    };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| add(name.len() + 3, value)),
        Value::Array(items) => items.iter().for_each(|item| add(0, item)),
        Value::String(text) => return Size { bytes: text.len() + 2, levels: 0 },
        _ => return Size { bytes: 8, levels: 0 },
    }
    Size { bytes: size.bytes + 2, levels: size.levels.max(1) }
}

/// Returns the value of a variable, of its field or of an item of its list: `proxy.url`, `zones[0].name`, `builtin.cluster.name`.
///
/// # Errors
/// Says which part of the path does not exist, or is no path.
pub fn variable<'a>(variables: &'a Value, path: &str) -> Result<&'a Value, String> {
    let mut value = variables;
    for segment in path.split('.') {
        let (name, index) = parse_segment(segment)
            .ok_or_else(|| format!("{path:?} is not a path of a variable: {segment:?}"))?;
        value = value
            .as_object()
            .and_then(|fields| fields.get(name))
            .ok_or_else(|| format!("the variable {path:?} has no value: there is no {name:?}"))?;
        if let Some(index) = index {
            let items =
                value.as_array().ok_or_else(|| format!("the variable {path:?}: {name:?} is not a list"))?;
            value = items
                .get(index)
                .ok_or_else(|| format!("the variable {path:?}: {name:?} has no item {index}"))?;
        }
    }
    Ok(value)
}

/// Splits `name[0]`.
fn parse_segment(segment: &str) -> Option<(&str, Option<usize>)> {
    if !segment.contains(['[', ']']) {
        return Some((segment, None));
    }
    let (name, rest) = segment.split_once('[')?;
    let index = rest.strip_suffix(']')?.parse().ok()?;
    Some((name, Some(index)))
}

/// Renders a template, and reads the text as YAML. An empty text is null.
///
/// # Errors
/// Says what failed in the template, or that its text is no YAML.
pub fn rendered(template: &Template, variables: &Value, budget: &mut Budget) -> Result<Value, String> {
    let text = template.render_within(variables, &mut budget.steps).map_err(|error| error.to_string())?;
    // Reading YAML takes several times as long as writing JSON.
    budget.bytes(text.len().saturating_mul(8))?;
    let decoded = machinery::decode::yaml(text.as_bytes());
    let decoded =
        decoded.map_err(|error| format!("the rendered text is no YAML: {error}: {:?}", shortened(&text)))?;
    Ok(decoded.value)
}

/// The beginning of a text, for messages.
fn shortened(text: &str) -> String {
    const LENGTH_MAX: usize = 200;
    let mut shortened: String = text.chars().take(LENGTH_MAX).collect();
    if shortened.len() < text.len() {
        shortened.push_str("...");
    }
    shortened
}
