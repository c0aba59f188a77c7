//! ClusterClass.

use serde_json::Value;

use super::super::moves::Move::{self, Custom, Each, Rename, Template, Within, Zero};
use super::parts::{deletion, health_check, strategy};
use super::status::CONDITIONS;

pub const CLUSTER_CLASS: &[Move] = &[
    Template("/spec/infrastructure/ref", "/spec/infrastructure/templateRef"),
    Rename("/spec/infrastructureNamingStrategy/template", "/spec/infrastructure/naming/template"),
    Within("/spec/controlPlane", CONTROL_PLANE),
    Each("/spec/workers/machineDeployments", WORKERS),
    Each("/spec/workers/machinePools", WORKERS),
    Each("/spec/patches", PATCH),
    Each("/spec/variables", VARIABLE),
    Each("/status/variables", &[Zero("/definitionsConflict"), Each("/definitions", VARIABLE)]),
    CONDITIONS,
];

const CONTROL_PLANE: &[Move] = &[
    Template("/ref", "/templateRef"),
    Template("/machineInfrastructure/ref", "/machineInfrastructure/templateRef"),
    CLASS,
];

const WORKERS: &[Move] = &[
    Rename("/template/metadata", "/metadata"),
    Template("/template/bootstrap/ref", "/bootstrap/templateRef"),
    Template("/template/infrastructure/ref", "/infrastructure/templateRef"),
    strategy!("", "/healthCheck/remediation"),
    CLASS,
];

/// What classes of control planes and of workers have in common.
const CLASS: Move = Move::All(&[
    deletion!("", ""),
    health_check!("/machineHealthCheck", "/healthCheck"),
    Rename("/namingStrategy/template", "/naming/template"),
]);

const PATCH: &[Move] = &[
    Rename("/external/generateExtension", "/external/generatePatchesExtension"),
    Rename("/external/validateExtension", "/external/validateTopologyExtension"),
    Each(
        "/definitions",
        &[
            Zero("/selector/matchResources/controlPlane"),
            Zero("/selector/matchResources/infrastructureCluster"),
        ],
    ),
];

const VARIABLE: &[Move] = &[
    Rename("/metadata", "/deprecatedV1Beta1Metadata"),
    Within("/schema/openAPIV3Schema", &[Custom { up: drop_false, down: drop_false }]),
];

/// Drops what is `false` in the schema of a variable, which means the same as absence.
fn drop_false(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else { return };
    fields.retain(|name, value| !(*value == false && IS_FALSE_BY_DEFAULT.contains(&name.as_str())));
    for (name, inner) in fields {
        match name.as_str() {
            "additionalProperties" | "items" | "not" => drop_false(inner),
            "properties" => {
                inner.as_object_mut().into_iter().flatten().for_each(|(_, property)| drop_false(property));
            }
            "allOf" | "anyOf" | "oneOf" => {
                inner.as_array_mut().into_iter().flatten().for_each(drop_false);
            }
            _ => {}
        }
    }
}

const IS_FALSE_BY_DEFAULT: [&str; 5] = [
    "exclusiveMaximum",
    "exclusiveMinimum",
    "uniqueItems",
    "x-kubernetes-int-or-string",
    "x-kubernetes-preserve-unknown-fields",
];
