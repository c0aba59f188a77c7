//! What a balancer writes to the console of its container.

use std::io::Write;

use machinery::clock::{Clock, rfc3339};

/// Writes a line to the console, which may be gone.
pub(crate) fn say(text: &str) {
    let now = rfc3339(Clock::system().now());
    writeln!(std::io::stdout(), "{now} {text}").ok();
}
