//! Admission rules of the Dev* kinds.

use serde_json::Value;

use super::common::{Errors, at};
use super::request::Request;

const BACKENDS: [&str; 2] = ["docker", "inMemory"];

pub fn validate(kind: &str, request: Request<'_>, errors: &mut Errors) {
    match kind {
        "DevCluster" | "DevMachine" => backend(&["spec"], request.new, errors),
        "DevClusterTemplate" | "DevMachineTemplate" => {
            backend(&["spec", "template", "spec"], request.new, errors);
            template_is_immutable(request, errors);
        }
        _ => {}
    }
}

/// Checks that exactly one backend is set.
fn backend(path: &[&str], object: &Value, errors: &mut Errors) {
    let field = format!("{}.backend", path.join("."));
    let backend = &at(object, path)["backend"];
    match BACKENDS.iter().filter(|name| backend[**name].is_object()).count() {
        0 => errors.required(field, "one of docker and inMemory must be set"),
        1 => {}
        _ => errors.forbidden(field, "only one of docker and inMemory can be set"),
    }
}

/// Refuses changes of a template's spec. Machines are compared by the name of their template, so a changed
/// template would not be noticed.
fn template_is_immutable(request: Request<'_>, errors: &mut Errors) {
    const PATH: [&str; 3] = ["spec", "template", "spec"];
    let Some(old) = request.old else { return };
    if !request.skips_immutability() && at(old, &PATH) != at(request.new, &PATH) {
        errors.invalid(
            PATH.join("."),
            at(request.new, &PATH).clone(),
            "field is immutable: make a new template and refer to it instead",
        );
    }
}
