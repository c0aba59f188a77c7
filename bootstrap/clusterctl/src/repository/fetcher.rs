//! Fetches files over the network, each once.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use machinery::clock::Clock;
use tokio::sync::Mutex;

use crate::network::{Answer, Network, Request};
use crate::{Error, Result};

/// Pause before a failed request is tried again.
const RETRY_INTERVAL: Duration = Duration::from_secs(10);
/// How often a request is tried.
const TRIES: usize = 6;

/// Fetches files and keeps the answers, so that each file is fetched only once; retries failed requests.
#[derive(Clone)]
pub struct Fetcher {
    network: Arc<dyn Network>,
    clock: Clock,
    answers: Arc<Mutex<HashMap<String, Answer>>>,
}

impl Fetcher {
    /// A fetcher for this network and clock.
    pub fn new(network: Arc<dyn Network>, clock: Clock) -> Self {
        Self { network, clock, answers: Arc::default() }
    }

    /// Returns an answer with status 200 or 404; otherwise the last failure.
    pub(crate) async fn get(&self, request: Request) -> Result<Answer> {
        let key = format!("{} {}", request.url, request.accept.unwrap_or_default());
        if let Some(answer) = self.answers.lock().await.get(&key) {
            return Ok(answer.clone());
        }
        let mut outcome = Err(Error::NotFound);
        for attempt in 0..TRIES {
            if attempt > 0 {
                self.clock.sleep(RETRY_INTERVAL).await;
            }
            outcome = self.once(request.clone()).await;
            match &outcome {
                Ok(answer) => {
                    self.answers.lock().await.insert(key, answer.clone());
                    break;
                }
                Err(Error::Invalid(_)) => break,
                Err(_) => {}
            }
        }
        outcome
    }

    async fn once(&self, request: Request) -> Result<Answer> {
        let url = request.url.clone();
        let answer = self.network.get(request).await?;
        match answer.status {
            200 | 404 => Ok(answer),
            403 | 429 if answer.exhausted => Err(Error::invalid(
                "rate limit for github api has been reached. Please wait one hour or get a personal API token and assign it to the GITHUB_TOKEN environment variable",
            )),
            401 => Err(Error::invalid(format!("{url}: unauthorized access, please check your credentials"))),
            status => Err(Error::Network(format!("error getting {url}, status code: {status}"))),
        }
    }

    /// The clock.
    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The network itself, for a request that must be sent only once.
    pub fn network(&self) -> &dyn Network {
        self.network.as_ref()
    }
}
