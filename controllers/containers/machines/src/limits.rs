//! How long the steps of a machine may take, and how often something is looked at that has no events.

use std::time::Duration;

/// How long a container may take until its init has started all units.
pub const READY: Duration = Duration::from_secs(30);
/// How long the import of one image into a node may take.
pub const IMPORT: Duration = Duration::from_secs(300);
/// How long all commands of a bootstrap may take together, if the machine does not say it: as in Cluster API's provider.
pub const BOOTSTRAP: Duration = Duration::from_secs(300);
/// How much longer than its time a bootstrap is waited for, which notices the end of its time itself.
pub const OVERDUE: Duration = Duration::from_secs(30);
/// How long a command may take that only reads or writes the state of a bootstrap.
pub const COMMAND: Duration = Duration::from_secs(30);
/// The pause between two looks at a bootstrap that runs.
pub const LOOK: Duration = Duration::from_millis(250);
/// The pause between two looks at a container or a load balancer, whose end nothing reports.
pub const INSPECT: Duration = Duration::from_secs(10);
/// The pause between two looks at the claims of a cluster whose volumes are made here. They are read from a cache.
pub const CLAIMS: Duration = Duration::from_secs(1);
/// When an event about a claim is repeated. API servers keep events for an hour.
pub const SAY_AGAIN: Duration = Duration::from_secs(30 * 60);
/// The first pause after a failed step. Each further one is twice as long.
pub const RETRY: Duration = Duration::from_secs(1);
/// The longest pause after a failed step.
pub const LONGEST_RETRY: Duration = Duration::from_secs(60);
/// The most bytes of a message of a failed step.
pub const MESSAGE: usize = 2000;
