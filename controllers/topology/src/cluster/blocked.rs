//! What holds up a Cluster: hooks whose extensions say to wait.

use std::time::Duration;

/// A hook whose extensions hold something up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    /// The name of the hook.
    pub hook: String,
    /// What the extensions say.
    pub message: String,
    /// When to ask again.
    pub retry_after: Duration,
}

/// Returns the message about the hooks that hold up `what`.
pub fn blocking_message(blocked: &[Blocked], what: &str) -> String {
    let named = blocked.iter().map(|blocked| match blocked.message.as_str() {
        "" => blocked.hook.clone(),
        message => format!("{}: {message}", blocked.hook),
    });
    format!("Following hooks are blocking {what}: {}", named.collect::<Vec<_>>().join("; "))
}

/// Returns when to ask the first of the hooks again.
pub fn retry_after(blocked: &[Blocked]) -> Option<Duration> {
    blocked.iter().map(|blocked| blocked.retry_after).min()
}
