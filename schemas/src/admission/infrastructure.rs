//! Admission rules of the kinds of infrastructure: the table of the Metal3* kinds, and the rules of the Dev*
//! kinds.

use serde_json::Value;

use super::common::{Errors, at};
use super::defaults;
use super::request::Request;
use super::{Rules, metal3_cluster, metal3_data, metal3_machine, metal3_remediation, with};

const BACKENDS: [&str; 2] = ["docker", "inMemory"];
/// The spec of a template's objects.
const TEMPLATE: [&str; 3] = ["spec", "template", "spec"];

pub fn rules(kind: &str) -> Option<Rules> {
    let rules: Rules = match kind {
        "DevCluster" => |request, errors| {
            backend(&["spec"], request.new, errors);
            failure_domains(&["spec"], request.new, errors);
        },
        "DevMachine" => |request, errors| backend(&["spec"], request.new, errors),
        "DevClusterTemplate" => |request, errors| {
            backend(&TEMPLATE, request.new, errors);
            failure_domains(&TEMPLATE, request.new, errors);
            // A template that was stored without a default has not changed.
            let old = request.old.cloned().map(|mut old| {
                defaults::dev_cluster(&mut old, &TEMPLATE);
                old
            });
            template_is_immutable(Request { old: old.as_ref(), ..request }, errors);
        },
        "DevMachineTemplate" => |request, errors| {
            backend(&TEMPLATE, request.new, errors);
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

/// Checks that failure domains are sorted by name.
fn failure_domains(path: &[&str], object: &Value, errors: &mut Errors) {
    let domains = &at(object, path)["backend"]["docker"]["failureDomains"];
    let names = domains.as_array().into_iter().flatten().filter_map(|domain| domain["name"].as_str());
    if !names.is_sorted() {
        let field = format!("{}.backend.docker.failureDomains", path.join("."));
        errors.invalid(field, domains.clone(), "failure domains must be sorted by name");
    }
}

/// Refuses changes of a template's spec. Machines are compared by the name of their template, so a changed
/// template would not be noticed.
fn template_is_immutable(request: Request<'_>, errors: &mut Errors) {
    let Some(old) = request.old else { return };
    if !request.skips_immutability() && at(old, &TEMPLATE) != at(request.new, &TEMPLATE) {
        errors.invalid(
            TEMPLATE.join("."),
            at(request.new, &TEMPLATE).clone(),
            "field is immutable: make a new template and refer to it instead",
        );
    }
}
