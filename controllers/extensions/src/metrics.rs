//! Metrics of calls. Names and labels are those of upstream's managers, so that their dashboards show these calls, too.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::answers::{FAILURE, SUCCESS};
use crate::hooks::Hook;
use crate::names::HOOKS_VERSION;

/// Upper bounds in seconds, as upstream's.
const BUCKETS: [f64; 23] = [
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0,
    20.0, 30.0, 45.0, 60.0,
];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Asked {
    host: String,
    group: &'static str,
    version: &'static str,
    hook: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    code: String,
    host: String,
    group: &'static str,
    version: &'static str,
    hook: &'static str,
    status: &'static str,
}

/// The metrics of all clients that share a registry.
#[derive(Clone)]
pub(crate) struct Metrics {
    requests: Family<Answered, Counter>,
    seconds: Family<Asked, Histogram, fn() -> Histogram>,
}

impl Metrics {
    /// Returns the metrics in the registry `metrics`, and registers them at the first call.
    pub(crate) fn of(metrics: &metrics::Metrics) -> Self {
        metrics.part(Self::register)
    }

    fn register(registry: &mut Registry) -> Self {
        let seconds: fn() -> Histogram = || Histogram::new(BUCKETS);
        let metrics = Self { requests: Family::default(), seconds: Family::new_with_constructor(seconds) };
        let help = "Calls of runtime extensions, by status code, host, hook and status of the answer";
        registry.register("capi_runtime_sdk_requests", help, metrics.requests.clone());
        let help = "Seconds that a call of a runtime extension takes";
        registry.register("capi_runtime_sdk_request_duration_seconds", help, metrics.seconds.clone());
        metrics
    }

    /// Counts a call. Without an answer there is no `code`, and `status` is empty if the answer cannot be read. Only known statuses become labels: an
    /// extension must not make any number of metrics.
    pub(crate) fn count(&self, hook: Hook, url: &str, code: Option<u16>, status: &str, took: Duration) {
        let (group, version) = HOOKS_VERSION.split_once('/').unwrap_or_default();
        let host = url.split('/').nth(2).unwrap_or_default().to_owned();
        let hook = hook.name();
        let asked = Asked { host: host.clone(), group, version, hook };
        self.seconds.get_or_create(&asked).observe(took.as_secs_f64());
        let status = [SUCCESS, FAILURE].into_iter().find(|known| *known == status).unwrap_or("Unknown");
        let code = code.map_or_else(|| "<error>".to_owned(), |code| code.to_string());
        self.requests.get_or_create(&Answered { code, host, group, version, hook, status }).inc();
    }
}
