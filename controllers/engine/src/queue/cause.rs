//! Why an object is reconciled.

use std::fmt;
use std::sync::Arc;

/// Why an object is reconciled: the first event since its last reconcile began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// An object of this kind was added, changed or removed.
    Changed(Arc<str>),
    /// The connection to a workload cluster, or its health, has changed.
    Connection,
    /// Work outside of the API has ended, or needs the controller.
    Outside,
    /// The last reconcile asked for this moment.
    Requeue,
    /// The last reconcile failed.
    Retry,
    /// Nothing has happened for an interval of the resync.
    Resync,
}

impl Cause {
    /// Whether a time has come, and nothing has happened.
    pub(super) fn is_time(&self) -> bool {
        matches!(self, Self::Requeue | Self::Retry | Self::Resync)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed(kind) => write!(formatter, "{kind} changed"),
            Self::Connection => formatter.write_str("connection changed"),
            Self::Outside => formatter.write_str("work outside of the API"),
            Self::Requeue => formatter.write_str("requeue"),
            Self::Retry => formatter.write_str("retry"),
            Self::Resync => formatter.write_str("resync"),
        }
    }
}
