//! The variables of a whole topology: of the cluster, and the overrides of its parts.

use std::collections::BTreeMap;

use machinery::field::{FieldError, FieldErrorKind};
use machinery::limits::{MAX_DEFAULTS_SIZE, MAX_FIELD_ERRORS};
use machinery::pattern;

use super::values::{Definitions, Scope, check, defaulted};
use crate::cluster::{ClusterClassStatusVariable, ClusterVariable, Topology};

const VARIABLES: &str = "spec.topology.variables";

/// Sets the defaults of all variables of a topology, and checks their values. `old` is the topology before an update, for rules
/// that compare. `variables` are the definitions in the class's status.
///
/// An override gets no variable that it does not have, but defaults inside of those that it has. Whoever writes a class writes its schemas and
/// rules, too, so all variables together have the limits of one object.
///
/// # Errors
/// All variables that are wrong, with their paths, such as `spec.topology.variables[size].value`. Lists with a wrong name or a
/// variable without a definition get no defaults.
pub fn default_and_check(
    topology: &mut Topology,
    old: Option<&Topology>,
    variables: &[ClusterClassStatusVariable],
) -> Result<(), Vec<FieldError>> {
    pattern::limited(|| cel::limited(|| default_and_check_all(topology, old, variables)))
}

fn default_and_check_all(
    topology: &mut Topology,
    old: Option<&Topology>,
    variables: &[ClusterClassStatusVariable],
) -> Result<(), Vec<FieldError>> {
    let definitions = match Definitions::new(variables) {
        Ok(definitions) => definitions,
        Err(why) => return Err(vec![FieldError::bare(FieldErrorKind::Invalid, VARIABLES, why)]),
    };
    let old = old.map(old_lists).unwrap_or_default();
    let lists = lists(topology);
    let mut errors = Vec::new();
    let mut checked = Vec::new();
    let mut left = MAX_DEFAULTS_SIZE;
    for List { place, scope, values } in lists {
        let field = place.to_string();
        match defaulted(values, &definitions, scope, &field, &mut left) {
            Ok(with_defaults) => *values = with_defaults,
            Err(found) => errors.extend(found),
        }
        let before = old.get(&place).copied().unwrap_or_default();
        checked.extend(check(values, before, &definitions, scope, &field));
    }
    // Setting defaults finds some of the errors of the check, too.
    for error in checked {
        if errors.len() < MAX_FIELD_ERRORS && !errors.contains(&error) {
            errors.push(error);
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Where a list of variables is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Cluster,
    ControlPlane,
    MachineDeployment(String),
    MachinePool(String),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cluster => f.write_str(VARIABLES),
            Self::ControlPlane => f.write_str("spec.topology.controlPlane.variables.overrides"),
            Self::MachineDeployment(name) => {
                write!(f, "spec.topology.workers.machineDeployments[{name}].variables.overrides")
            }
            Self::MachinePool(name) => {
                write!(f, "spec.topology.workers.machinePools[{name}].variables.overrides")
            }
        }
    }
}

struct List<'a> {
    place: Place,
    scope: Scope,
    values: &'a mut Vec<ClusterVariable>,
}

/// Returns the variables of the cluster, and all overrides that there are.
fn lists(topology: &mut Topology) -> Vec<List<'_>> {
    let cluster = List { place: Place::Cluster, scope: Scope::Cluster, values: &mut topology.variables };
    let mut parts = Vec::new();
    if let Some(part) = &mut topology.control_plane {
        parts.push((Place::ControlPlane, &mut part.variables));
    }
    if let Some(workers) = &mut topology.workers {
        for part in &mut workers.machine_deployments {
            parts.push((Place::MachineDeployment(part.name.clone()), &mut part.variables));
        }
        for part in &mut workers.machine_pools {
            parts.push((Place::MachinePool(part.name.clone()), &mut part.variables));
        }
    }
    let overrides = parts.into_iter().filter_map(|(place, variables)| {
        let values = &mut variables.as_mut()?.overrides;
        (!values.is_empty()).then_some(List { place, scope: Scope::Overrides, values })
    });
    [cluster].into_iter().chain(overrides).collect()
}

/// Returns the values of the same lists before an update.
fn old_lists(topology: &Topology) -> BTreeMap<Place, &[ClusterVariable]> {
    let workers = topology.workers.iter();
    let deployments = workers.clone().flat_map(|workers| &workers.machine_deployments);
    let pools = workers.flat_map(|workers| &workers.machine_pools);
    let parts = topology.control_plane.iter().map(|part| (Place::ControlPlane, &part.variables));
    let parts =
        parts.chain(deployments.map(|part| (Place::MachineDeployment(part.name.clone()), &part.variables)));
    let parts = parts.chain(pools.map(|part| (Place::MachinePool(part.name.clone()), &part.variables)));
    let overrides =
        parts.filter_map(|(place, variables)| Some((place, variables.as_ref()?.overrides.as_slice())));
    [(Place::Cluster, topology.variables.as_slice())].into_iter().chain(overrides).collect()
}
