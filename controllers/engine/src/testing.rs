//! For the tests of this workspace; not part of the API.

pub use crate::answers::{Identity, without_managed_fields};
pub use crate::applied::contains;
pub use crate::cache::contents::{Contents, Stored};
pub use crate::cache::packed::{is_wide, packed};
pub use crate::cache::stored;
pub use crate::connection_cause::{QUOTED_CHARS, of as connection_cause};
pub use crate::connection_state::State as ConnectionState;
pub use crate::failures::Failures;
pub use crate::limits::{
    ANSWERS_TOGETHER_BYTES, CLUSTERS_TOGETHER_BYTES, EVENT_BURST, EVENT_INTERVAL, EVENT_OBJECTS,
    EVENTS_QUEUED, OBJECT_PARTS,
};
pub use crate::quota::{Budget, Counted, Quota};
pub use crate::resident::{SLACK, STRUCTURES, resident};
pub use crate::watch::{LIST_INTERVAL, REMOTE_PAGES, WATCH_TIMEOUT, Watched, Watcher};
pub use crate::workload_clients::WorkloadClients;
pub use crate::workload_clients::bounded::{Answers, BoundedLayer};
