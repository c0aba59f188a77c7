//! Finds values by the paths of server-side apply, for example `spec.taints[key="a",effect="NoSchedule"].value`. Pure.

use serde_json::Value;

/// Returns the value at a path; `None` if the object has no such field.
pub fn find<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    steps(path).iter().try_fold(object, |value, step| match step.strip_prefix('[') {
        None => value.get(step),
        Some(selector) => item(value, selector.trim_end_matches(']')),
    })
}

/// Splits a path into names and the selectors of list items.
fn steps(path: &str) -> Vec<String> {
    let mut steps = vec![String::new()];
    let mut quoted = false;
    let mut brackets = 0_usize;
    for character in path.chars() {
        match character {
            '"' => quoted = !quoted,
            '[' if !quoted => {
                brackets += 1;
                steps.push(String::new());
            }
            ']' if !quoted => brackets = brackets.saturating_sub(1),
            '.' if !quoted && brackets == 0 => {
                steps.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(step) = steps.last_mut() {
            step.push(character);
        }
    }
    steps.retain(|step| !step.is_empty());
    steps
}

/// Returns the item of a list that a selector names: `3`, `="value"`, or `key="value"` with more keys after commas.
fn item<'a>(list: &'a Value, selector: &str) -> Option<&'a Value> {
    let items = list.as_array()?;
    if let Ok(index) = selector.parse::<usize>() {
        return items.get(index);
    }
    if let Some(value) = selector.strip_prefix('=') {
        return items.iter().find(|item| is_equal(item, value));
    }
    let keys: Vec<(&str, &str)> = selector.split(',').filter_map(|key| key.split_once('=')).collect();
    items.iter().find(|item| keys.iter().all(|(key, value)| is_equal(&item[*key], value)))
}

/// Returns whether the value is that of a selector, which is JSON.
fn is_equal(value: &Value, selected: &str) -> bool {
    serde_json::from_str::<Value>(selected).is_ok_and(|selected| selected == *value)
}
