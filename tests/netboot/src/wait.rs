//! Waiting for a condition, with a deadline.

use std::future::Future;
use std::time::Duration;

use anyhow::{Result, bail};

/// Limit for each step of a scenario. Machines take seconds, but on a loaded processor many times as long.
pub(crate) const DEADLINE: Duration = Duration::from_secs(300);

/// Polling interval; virtual machines send no events about their progress.
const INTERVAL: Duration = Duration::from_millis(100);

/// Waits until `condition` returns a value.
///
/// # Errors
/// Fails if it does not within `deadline`; `what` describes the condition.
pub async fn until<T, F>(what: &str, deadline: Duration, mut condition: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Option<T>>,
{
    let looked = async {
        loop {
            if let Some(found) = condition().await {
                return found;
            }
            tokio::time::sleep(INTERVAL).await;
        }
    };
    match tokio::time::timeout(deadline, looked).await {
        Ok(found) => Ok(found),
        Err(_) => bail!("not within {deadline:?}: {what}"),
    }
}
