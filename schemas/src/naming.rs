//! Names from templates (`machineNaming.template`), and names as label values.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use machinery::hash::fnv1a_32;
use serde_json::{Map, Value};
use templates::Template;
use templates::limits::NAME_STEPS_MAX;

/// The values of a naming template, by the path after the dot: `cluster.name`, `random`.
pub type Values<'a> = [(&'a str, &'a str)];

/// Renders a naming template such as `{{ .machineSet.name }}-{{ .random }}`. It has the functions of Go's `text/template`, as upstream's have, and
/// makes at most [`NAME_STEPS_MAX`] steps.
///
/// # Errors
/// A sentence with what is wrong in the template.
pub fn render(template: &str, values: &Values<'_>) -> Result<String, String> {
    let mut variables = Value::Object(Map::new());
    for (path, value) in values {
        let mut place = &mut variables;
        for name in path.split('.') {
            place = &mut place[name];
        }
        *place = Value::from(*value);
    }
    Template::parse_name(template)
        .and_then(|parsed| parsed.render_within(&variables, &mut { NAME_STEPS_MAX }))
        .map_err(|error| format!("{error} ({template:?})"))
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
