//! The variables of a topology with the defaults of the class. Admission sets and checks them with each write of the Cluster, unless the class
//! came later or has changed since.

use std::sync::Arc;

use engine::{Error, Result};
use schemas::cluster::{Cluster, ClusterClass};

use crate::cluster::memory::OfCluster;

/// Returns the Cluster whose topology has a value for each variable with a default.
///
/// # Errors
/// All values that the class does not allow, and all that it requires, with their field paths.
pub(super) fn with_defaults(
    cluster: &Arc<Cluster>,
    class: &ClusterClass,
    memory: &OfCluster,
) -> Result<Arc<Cluster>> {
    let mut wanted = cluster.as_ref().clone();
    let Some(topology) = &mut wanted.spec.topology else { return Ok(cluster.clone()) };
    let defined = class.status.as_ref().map_or(&[][..], |status| &status.variables);
    match memory.defaulted(topology, defined) {
        Some(known) => *topology = known,
        None => {
            let given = topology.clone();
            let checked = schemas::variables::default_and_check(topology, None, defined);
            checked.map_err(|errors| {
                let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
                Error::failed(errors.join("; "))
            })?;
            memory.set_defaulted(given, defined.to_vec(), topology.clone());
        }
    }
    Ok(Arc::new(wanted))
}
