//! Logging to standard error: text on a terminal, JSON otherwise; `RUST_LOG` is the filter.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

/// Starts logging. With `quiet` only warnings are shown, so that they rarely disturb a live view.
pub fn start(quiet: bool) {
    let default = if quiet { "warn" } else { "info" };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let outcome = if std::io::stderr().is_terminal() {
        builder.with_target(false).try_init()
    } else {
        builder.json().with_target(true).try_init()
    };
    // An error means that logging was started before, as in tests; the first settings stay.
    drop(outcome);
}
