//! Fetches files over the network, each once.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use distribution::Report;
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
    report: Report,
    answers: Arc<Mutex<HashMap<String, Answer>>>,
}

impl Fetcher {
    /// A fetcher for this network and clock, which writes repeated requests to the log.
    pub fn new(network: Arc<dyn Network>, clock: Clock) -> Self {
        let report: Report = Arc::new(|line| tracing::info!("{line}"));
        Self { network, clock, report, answers: Arc::default() }
    }

    /// Tells `report` about each request that failed and is repeated.
    #[must_use]
    pub fn with_report(self, report: Report) -> Self {
        Self { report, ..self }
    }

    /// Whom to tell about what is repeated.
    pub(crate) fn report(&self) -> &Report {
        &self.report
    }

    /// Returns an answer with status 200 or 404; otherwise the last failure.
    pub(crate) async fn get(&self, request: Request) -> Result<Answer> {
        let key = format!("{} {}", request.url, request.accept.unwrap_or_default());
        if let Some(answer) = self.answers.lock().await.get(&key) {
            return Ok(answer.clone());
        }
        let mut tried = 1;
        loop {
            match self.once(request.clone()).await {
                Ok(answer) => {
                    self.answers.lock().await.insert(key, answer.clone());
                    return Ok(answer);
                }
                Err(error) if matches!(error, Error::Invalid(_)) || tried == TRIES => return Err(error),
                Err(error) => {
                    tried += 1;
                    (self.report)(&format!(
                        "{error}; attempt {tried} of {TRIES} follows in {RETRY_INTERVAL:?}"
                    ));
                    self.clock.sleep(RETRY_INTERVAL).await;
                }
            }
        }
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
            // What a server refuses it refuses again, unless it says that there were too many requests.
            status @ 400..=499 if ![408, 425, 429].contains(&status) => {
                Err(Error::invalid(format!("error getting {url}, status code: {status}")))
            }
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
