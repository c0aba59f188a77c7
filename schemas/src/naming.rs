//! Names from templates (`machineNaming.template`), and names as label values.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use machinery::hash::fnv1a_32;

/// The values of a naming template, by the path after the dot: `cluster.name`, `random`.
pub type Values<'a> = [(&'a str, &'a str)];

/// Renders a naming template such as `{{ .machineSet.name }}-{{ .random }}`.
///
/// Of Go's template language only paths are supported, with blanks and `-` trim markers.
///
/// # Errors
/// A sentence with the part that is not supported.
pub fn render(template: &str, values: &Values<'_>) -> Result<String, String> {
    let mut name = String::new();
    let mut rest = template;
    while let Some(begin) = rest.find("{{") {
        let (before, inside) = (&rest[..begin], &rest[begin + 2..]);
        let Some(end) = inside.find("}}") else {
            return Err(format!("`{{{{` without `}}}}` in {template:?}"));
        };
        let (mut action, mut after) = (&inside[..end], &inside[end + 2..]);
        name.push_str(before);
        if let Some(trimmed) = action.strip_prefix("- ") {
            name.truncate(name.trim_end().len());
            action = trimmed;
        }
        if let Some(trimmed) = action.strip_suffix(" -") {
            after = after.trim_start();
            action = trimmed;
        }
        let path = action.trim().strip_prefix('.');
        let value = path.and_then(|path| values.iter().find(|(known, _)| *known == path));
        match value {
            Some((_, value)) => name.push_str(value),
            None => {
                let known: Vec<String> = values.iter().map(|(known, _)| format!(".{known}")).collect();
                return Err(format!("{:?} is none of {}", action.trim(), known.join(", ")));
            }
        }
        rest = after;
    }
    name.push_str(rest);
    Ok(name)
}

/// Returns a name as a label value: unchanged if it is a valid one, else a hash of it.
///
/// The hash has Cluster API's form, so that objects keep their labels when they are moved.
pub fn label_value(name: &str) -> String {
    if machinery::names::label_value(name).is_empty() {
        return name.to_owned();
    }
    let hash = fnv1a_32(name.as_bytes());
    format!("hash_{}_z", URL_SAFE_NO_PAD.encode(hash.to_be_bytes()))
}
