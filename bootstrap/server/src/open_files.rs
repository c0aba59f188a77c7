//! The limit of open files; each connection is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit to the maximum that the system allows. Programs start with a low limit because of those that use `select`.
pub fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    if limit.current == limit.maximum {
        return;
    }
    let highest = Rlimit { current: limit.maximum, maximum: limit.maximum };
    if let Err(error) = setrlimit(Resource::Nofile, highest) {
        tracing::warn!(%error, limit = limit.current, "cannot raise the number of open files");
    }
}
