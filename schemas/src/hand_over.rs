//! The annotations by which a program that moves Clusters and the providers of their objects agree on what is handed over.

/// On a Cluster of the source that is about to move: its providers prepare the data that they have to hand over.
pub const MOVING: &str = "firstlight.dev/moving";
/// On a source object: the server that it moved to.
pub const MOVED_TO: &str = "firstlight.dev/moved-to";
/// On an object of a Cluster that is about to move, from its provider: [`READY`]. At rest no object has it.
pub const HAND_OVER: &str = "firstlight.dev/hand-over";
/// Value of [`HAND_OVER`]: everything that the provider has to hand over is in objects, and does not change.
pub const READY: &str = "ready";
/// On an object that its provider has paused for the move, and that nobody at the target might resume: the annotation that pauses it. The
/// mover removes that at the target when the Clusters there are active.
pub const PAUSED_BY: &str = "firstlight.dev/paused-by";

/// On a DevCluster, as in Cluster API: the listener that serves it. Ours begins with [`HELD_HERE`]: while its cluster runs,
/// the cluster's objects are in memory, and are handed over.
pub const LISTENER: &str = "inmemorycluster.infrastructure.cluster.x-k8s.io/listener";
/// The begin of the name of a listener whose cluster is in the memory of this program.
pub const HELD_HERE: &str = "firstlight/";

/// Returns whether the state of a DevCluster with these annotations is in the memory of this program.
pub fn is_held_here<'a>(annotation: impl Fn(&str) -> Option<&'a str>) -> bool {
    annotation(LISTENER).is_some_and(|listener| listener.starts_with(HELD_HERE))
        && annotation(HAND_OVER) != Some(READY)
}
