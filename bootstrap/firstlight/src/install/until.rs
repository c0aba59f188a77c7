//! Waits for the cluster, which cannot be watched while its API server restarts.

use std::time::Duration;

use anyhow::Result;
use machinery::clock::Clock;

/// Calls `is_true` every `pause` until it is, and returns whether that was within `limit`.
///
/// # Errors
/// Those of `is_true`, which end the wait.
pub(super) async fn until(
    limit: Duration,
    pause: Duration,
    clock: &Clock,
    mut is_true: impl AsyncFnMut() -> Result<bool>,
) -> Result<bool> {
    let waits = async {
        while !is_true().await? {
            clock.sleep(pause).await;
        }
        Ok(true)
    };
    tokio::time::timeout(limit, waits).await.unwrap_or(Ok(false))
}
