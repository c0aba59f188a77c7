//! The variables of a topology with the defaults of the class. Admission sets them with each write of the Cluster, unless the class came later
//! or has changed since.

use std::sync::Arc;

use engine::{Error, Result};
use schemas::cluster::{Cluster, ClusterClass, ClusterVariable};

/// Returns the Cluster whose topology has a value for each variable with a default. Whether values fit their schemas is for admission to say.
///
/// # Errors
/// The class does not define a variable of the topology, or requires one that has neither a value nor a default.
pub(super) fn with_defaults(cluster: &Arc<Cluster>, class: &ClusterClass) -> Result<Arc<Cluster>> {
    let mut wanted = cluster.as_ref().clone();
    let Some(topology) = &mut wanted.spec.topology else { return Ok(cluster.clone()) };
    let defined = class.status.as_ref().map_or(&[][..], |status| &status.variables);
    if let Some(other) =
        topology.variables.iter().find(|set| !defined.iter().any(|known| known.name == set.name))
    {
        let name = &other.name;
        return Err(Error::failed(format!(
            "spec.topology.variables[{name}]: the ClusterClass does not define this variable"
        )));
    }
    for variable in defined {
        if topology.variables.iter().any(|set| set.name == variable.name) {
            continue;
        }
        let Some(definition) = variable.definitions.first() else { continue };
        match &definition.schema.open_api_v3_schema.default {
            Some(value) => {
                topology.variables.push(ClusterVariable { name: variable.name.clone(), value: value.clone() })
            }
            None if definition.required => {
                return Err(Error::failed(format!(
                    "spec.topology.variables: the ClusterClass requires the variable {}",
                    variable.name
                )));
            }
            None => {}
        }
    }
    Ok(Arc::new(wanted))
}
