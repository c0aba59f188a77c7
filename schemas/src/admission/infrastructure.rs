//! Admission rules of the kinds of infrastructure: the table of the Metal3* kinds, and the rules of the Dev*
//! kinds.

use serde_json::Value;

use super::common::{Errors, at};
use super::request::Request;
use super::{Rules, metal3_cluster, metal3_data, metal3_machine, metal3_remediation, with};

const BACKENDS: [&str; 2] = ["docker", "inMemory"];

pub fn rules(kind: &str) -> Option<Rules> {
    let rules: Rules = match kind {
        "DevCluster" | "DevMachine" => |request, errors| backend(&["spec"], request.new, errors),
        "DevClusterTemplate" | "DevMachineTemplate" => |request, errors| {
            backend(&["spec", "template", "spec"], request.new, errors);
            template_is_immutable(request, errors);
        },
        "Metal3Cluster" => |request, errors| with(request, errors, metal3_cluster::metal3_cluster),
        "Metal3ClusterTemplate" => {
            |request, errors| with(request, errors, metal3_cluster::metal3_cluster_template)
        }
        "Metal3Machine" => |request, errors| with(request, errors, metal3_machine::metal3_machine),
        "Metal3MachineTemplate" => {
            |request, errors| with(request, errors, metal3_machine::metal3_machine_template)
        }
        "Metal3DataTemplate" => |request, errors| with(request, errors, metal3_data::metal3_data_template),
        "Metal3DataClaim" => |request, errors| with(request, errors, metal3_data::metal3_data_claim),
        "Metal3Data" => |request, errors| with(request, errors, metal3_data::metal3_data),
        "Metal3Remediation" => {
            |request, errors| with(request, errors, metal3_remediation::metal3_remediation)
        }
        "Metal3RemediationTemplate" => {
            |request, errors| with(request, errors, metal3_remediation::metal3_remediation_template)
        }
        _ => return None,
    };
    Some(rules)
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
