//! Metal3Machine and Metal3MachineTemplate.

use serde_json::Value;

use super::super::fields::{
    Fields, at, drop_empty, drop_template_metadata, rename, shorten_reference, template_spec,
};
use super::status;

pub fn up(machine: &mut Value) {
    if let Some(spec) = at(machine, &["spec"]) {
        spec_up(spec);
    }
    if let Some(fields) = at(machine, &["status"]) {
        status::up(fields);
        fields.remove("phase");
        shorten_reference(fields, "renderedData");
    }
}

pub fn down(machine: &mut Value) {
    if let Some(spec) = at(machine, &["spec"]) {
        spec_down(spec);
    }
    if let Some(fields) = at(machine, &["status"]) {
        status::down(fields);
        drop_empty(fields, "renderedData");
    }
}

pub fn template_up(template: &mut Value) {
    if let Some(spec) = template_spec(template) {
        spec_up(spec);
    }
}

pub fn template_down(template: &mut Value) {
    drop_template_metadata(template);
    if let Some(spec) = template_spec(template) {
        spec_down(spec);
    }
}

fn spec_up(spec: &mut Fields) {
    if let Some(image) = spec.get_mut("image").and_then(Value::as_object_mut) {
        rename(image, "format", "diskFormat");
    }
    shorten_reference(spec, "dataTemplate");
}

fn spec_down(spec: &mut Fields) {
    if let Some(image) = spec.get_mut("image").and_then(Value::as_object_mut) {
        rename(image, "diskFormat", "format");
    }
    drop_empty(spec, "dataTemplate");
}
