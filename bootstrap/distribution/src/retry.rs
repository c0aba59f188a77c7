//! The one place where a registry is asked again.

use std::future::Future;

use anyhow::{Error, Result};

use crate::client::Client;
use crate::limits;

/// Why one attempt failed.
pub(crate) enum Failure {
    /// Another attempt may succeed: a server was silent, too slow, at fault, or sent something damaged.
    Passing(Error),
    /// Another attempt would fail in the same way.
    Lasting(Error),
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Passing(error) | Failure::Lasting(error) => error,
        }
    }
}

impl Client {
    /// Repeats `attempt` with growing pauses as long as its failures are passing, for [`limits::TRIES`] times.
    ///
    /// # Errors
    /// The last failure.
    pub(crate) async fn retried<T, F>(&self, mut attempt: impl FnMut() -> F) -> Result<T>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let mut pause = limits::PAUSE;
        for tried in 1..limits::TRIES {
            match attempt().await {
                Ok(found) => return Ok(found),
                Err(Failure::Lasting(error)) => return Err(error),
                Err(Failure::Passing(error)) => {
                    let (next, all) = (tried + 1, limits::TRIES);
                    (self.report)(&format!("{error:#}; attempt {next} of {all} follows in {pause:?}"));
                }
            }
            self.clock.sleep(pause).await;
            pause *= 2;
        }
        Ok(attempt().await?)
    }
}
