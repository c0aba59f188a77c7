//! Inline patches.

use std::collections::BTreeMap;

use schemas::cluster::{ClusterClassPatch, JsonPatch};
use serde_json::Value;
use templates::Template;

use super::apply;
use super::budget::Budget;
use super::items::Item;
use super::json_patch::Operation;
use super::selector;
use super::value;

/// The templates of a class's patches, each parsed once.
#[derive(Default)]
pub struct Parsed<'a>(BTreeMap<&'a str, Template>);

impl<'a> Parsed<'a> {
    fn template(&mut self, text: &'a str) -> Result<&Template, String> {
        if !self.0.contains_key(text) {
            let template = Template::parse(text).map_err(|error| error.to_string())?;
            self.0.insert(text, template);
        }
        self.0.get(text).ok_or_else(|| "the template is gone".to_owned())
    }
}

/// Applies a patch to the template of an item, if any of its definitions is for it and the patch is enabled. `variables` gives the item's variables.
///
/// # Errors
/// Says which definition and which operation failed, and why.
pub fn apply<'a>(
    patch: &'a ClusterClassPatch,
    item: &mut Item,
    variables: impl FnOnce(&Item) -> Value,
    parsed: &mut Parsed<'a>,
    budget: &mut Budget,
) -> Result<(), String> {
    let mut matching = Vec::new();
    for (place, definition) in patch.definitions.iter().enumerate() {
        if selector::matches(&definition.selector, item, budget)? {
            matching.push((place, definition));
        }
    }
    if matching.is_empty() {
        return Ok(());
    }
    let variables = variables(item);
    budget.read(&variables)?;
    if !is_enabled(patch, &variables, parsed, budget).map_err(|message| format!("enabledIf: {message}"))? {
        return Ok(());
    }
    for (place, definition) in matching {
        let mut operations = Vec::new();
        for (index, operation) in definition.json_patches.iter().enumerate() {
            let value = match operation.op.as_str() {
                "add" | "replace" => value_of(operation, &variables, parsed, budget)
                    .map_err(|message| format!("definitions[{place}].jsonPatches[{index}]: {message}"))?,
                _ => Value::Null,
            };
            let (op, path) = (operation.op.clone(), operation.path.clone());
            operations.push(Operation { op, path, from: String::new(), value });
        }
        apply::json_patch(&mut item.item.object, operations, budget)
            .map_err(|message| format!("definitions[{place}]: {message}"))?;
    }
    Ok(())
}

/// A patch without a condition is always enabled; one with a condition where that renders to true.
fn is_enabled<'a>(
    patch: &'a ClusterClassPatch,
    variables: &Value,
    parsed: &mut Parsed<'a>,
    budget: &mut Budget,
) -> Result<bool, String> {
    let Some(condition) = patch.enabled_if.as_deref().filter(|condition| !condition.is_empty()) else {
        return Ok(true);
    };
    budget.read(variables)?;
    Ok(value::rendered(parsed.template(condition)?, variables, budget)? == Value::Bool(true))
}

fn value_of<'a>(
    operation: &'a JsonPatch,
    variables: &Value,
    parsed: &mut Parsed<'a>,
    budget: &mut Budget,
) -> Result<Value, String> {
    let from = operation.value_from.as_ref();
    let (path, template) = (
        from.and_then(|from| from.variable.as_deref()).filter(|path| !path.is_empty()),
        from.and_then(|from| from.template.as_deref()).filter(|template| !template.is_empty()),
    );
    match (&operation.value, path, template) {
        (Some(value), None, None) => Ok(value.clone()),
        (None, Some(path), None) => value::variable(variables, path).cloned(),
        (None, None, Some(template)) => {
            budget.read(variables)?;
            value::rendered(parsed.template(template)?, variables, budget)
        }
        _ => Err("it must have exactly one of value, valueFrom.variable and valueFrom.template".to_owned()),
    }
}
