//! Waiting for a level, with a deadline.

use std::future::Future;
use std::time::Duration;

use anyhow::{Result, bail};

/// For each step of a scenario. Machines take seconds; a loaded processor takes many times as long.
pub(crate) const DEADLINE: Duration = Duration::from_secs(300);

/// How often a condition is looked at. Virtual machines tell nobody when they have come further.
const INTERVAL: Duration = Duration::from_millis(100);

/// Waits until `condition` gives something.
///
/// # Errors
/// When it has not within `deadline`; `what` says what was waited for.
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
