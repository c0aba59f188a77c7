//! Recorded lives of Clusters of a class, with the requests of their users.

mod changes;
mod errors;
mod plain;
mod rebase;
mod upgrades;

use simulation::lifecycles::play::{Rules, play};
use simulation::world::World;

/// The deletion of the Cluster.
const GOES: &str = "
    Cluster demo deletionTimestamp=set
    MachineDeployment demo-md-0-$workers deletionTimestamp=set
    MachineDeployment demo-md-0-$workers gone
    KubeadmControlPlane demo-$plane deletionTimestamp=set
    Machine demo-$machine gone
    KubeadmControlPlane demo-$plane gone
    DevCluster demo-$infrastructure deletionTimestamp=set
    DevCluster demo-$infrastructure gone
    Cluster demo gone";
/// Another bootstrap template replaces two workers, one after the other.
const WORKERS: &str = "
    KubeadmConfigTemplate demo-md-0-$template created
    MachineDeployment demo-md-0-$workers reference KubeadmConfigTemplate=demo-md-0-$template
    MachineSet $set created
    Machine $a created
    Machine $x deletionTimestamp=set
    Machine $x gone
    Machine $b created
    Machine $y deletionTimestamp=set
    Machine $y gone
    MachineSet $old deletionTimestamp=set
    MachineSet $old gone";

/// Plays a recording in a fresh world.
fn live(recording: &str, rules: Rules<'_>) {
    let lived = World::new(1).live(async |life, _| play(life, recording, rules).await);
    if let Err(error) = lived {
        panic!("{error:?}");
    }
}
