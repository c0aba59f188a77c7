//! Whether a Pod is ready.

use chrono::{DateTime, Utc};
use k8s_openapi::api::core::v1::Pod;

/// Returns whether a Pod is ready, and since when.
pub fn ready_since(pod: &Pod) -> Option<DateTime<Utc>> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let ready =
        conditions.iter().find(|condition| condition.type_ == "Ready" && condition.status == "True")?;
    Some(ready.last_transition_time.as_ref().map(engine::time::utc).unwrap_or_default())
}
