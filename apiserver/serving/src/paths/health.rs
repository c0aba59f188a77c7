//! `/healthz`, `/livez` and `/readyz`, each with all checks or a single one.

use std::sync::Arc;

use http::HeaderValue;
use machinery::status::Status;
use tokio_util::sync::CancellationToken;

use crate::request::query::Query;
use crate::response::answer::Answer;

/// A health check of one part of the process. Its error is logged, not sent to the client.
pub(crate) type Check = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;

/// The paths of health.
pub(crate) struct HealthPaths {
    /// The checks of the embedding program, with their names.
    given: Vec<(String, Check)>,
    /// Cancelled when the server stops.
    stop: CancellationToken,
}

impl HealthPaths {
    pub(crate) fn new(given: Vec<(String, Check)>, stop: CancellationToken) -> Self {
        Self { given, stop }
    }

    /// Answers a health path; `None` for any other path.
    pub(crate) fn answer(&self, path: &str, query: &Query) -> Option<Result<Answer, Status>> {
        let path = path.strip_prefix('/')?;
        let (endpoint, one) = path.split_once('/').unwrap_or((path, ""));
        if !matches!(endpoint, "healthz" | "livez" | "readyz") {
            return None;
        }
        let checks: Vec<(&str, Result<(), String>)> = self
            .checks(endpoint)
            .filter(|(name, _)| one.is_empty() || *name == one)
            .map(|(name, check)| (name, check()))
            .collect();
        if checks.is_empty() {
            return None;
        }
        Some(Ok(answer(endpoint, one, &checks, query.get("verbose").is_some())))
    }

    fn checks(&self, endpoint: &str) -> impl Iterator<Item = (&str, Check)> {
        let stop = self.stop.clone();
        let stopping: Check =
            Arc::new(move || if stop.is_cancelled() { Err("the server stops".into()) } else { Ok(()) });
        let ready = endpoint == "readyz";
        let always: Check = Arc::new(|| Ok(()));
        let own =
            [("ping", Some(always.clone())), ("log", Some(always)), ("shutdown", ready.then_some(stopping))];
        let given = self.given.iter().map(|(name, check)| (name.as_str(), check.clone()));
        own.into_iter().filter_map(|(name, check)| Some((name, check?))).chain(given)
    }
}

fn answer(endpoint: &str, one: &str, checks: &[(&str, Result<(), String>)], verbose: bool) -> Answer {
    let mut text = String::new();
    let mut failed = false;
    for (name, result) in checks {
        match result {
            Ok(()) => text.push_str(&format!("[+]{name} ok\n")),
            Err(error) => {
                tracing::warn!(endpoint, check = name, error, "unhealthy");
                text.push_str(&format!("[-]{name} failed: reason withheld\n"));
                failed = true;
            }
        }
    }
    let code = if failed { 500 } else { 200 };
    let text = match (failed, one.is_empty()) {
        (true, true) => format!("{text}{endpoint} check failed\n"),
        (true, false) => "internal server error: reason withheld\n".to_owned(),
        (false, true) if verbose => format!("{text}{endpoint} check passed\n"),
        (false, _) => "ok".to_owned(),
    };
    let mut answer = Answer::text(code, text);
    answer.headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    answer
}
