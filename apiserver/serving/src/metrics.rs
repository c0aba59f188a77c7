//! The metrics at `/metrics`.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry as Collector;
use store::Store;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    verb: &'static str,
    group: String,
    resource: String,
    subresource: String,
    code: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct VerbLabels {
    verb: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResourceLabels {
    group: String,
    resource: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LimitLabels {
    limit: &'static str,
}

/// The metrics of one server.
pub(crate) struct Metrics {
    collector: Collector,
    requests: Family<RequestLabels, Counter>,
    durations: Family<VerbLabels, Histogram, fn() -> Histogram>,
    watches: Family<ResourceLabels, Gauge>,
    events: Family<ResourceLabels, Counter>,
    limits: Family<LimitLabels, Counter>,
    store: StoreFigures,
}

/// Sizes and limits of the store, as of the last scrape.
#[derive(Default)]
struct StoreFigures {
    file: Gauge,
    rows: Gauge,
    quota: Gauge,
    alarm: Gauge,
    queued: Gauge,
    watchers: Gauge,
    history: Gauge,
}

/// Upper bounds in seconds; most requests take well under a millisecond.
const BUCKETS: [f64; 10] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 10.0];

impl Default for Metrics {
    fn default() -> Self {
        let mut metrics = Self {
            collector: Collector::default(),
            requests: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(BUCKETS)),
            watches: Family::default(),
            events: Family::default(),
            limits: Family::default(),
            store: StoreFigures::default(),
        };
        let collector = &mut metrics.collector;
        collector.register("apiserver_request", "Requests answered", metrics.requests.clone());
        let help = "Seconds until the answer's headers were ready";
        collector.register("apiserver_request_duration_seconds", help, metrics.durations.clone());
        collector.register("apiserver_longrunning_requests", "Watches now", metrics.watches.clone());
        collector.register("apiserver_watch_events", "Watch events sent", metrics.events.clone());
        let help = "Times that a limit was reached";
        collector.register("firstlight_limit_reached", help, metrics.limits.clone());
        let StoreFigures { file, rows, quota, alarm, queued, watchers, history } = &metrics.store;
        let help = "Bytes of the store's file";
        collector.register("apiserver_storage_size_bytes", help, file.clone());
        let help = "Bytes that objects and history take: what counts against the quota";
        collector.register("firstlight_store_used_bytes", help, rows.clone());
        let help = "Bytes that objects and history may take";
        collector.register("firstlight_store_quota_bytes", help, quota.clone());
        let help = "1 while writes are refused for want of space";
        collector.register("firstlight_store_alarm", help, alarm.clone());
        let help = "Bytes of events that wait for watchers, each counted once";
        collector.register("firstlight_watch_queued_bytes", help, queued.clone());
        let help = "Watchers of the store now";
        collector.register("firstlight_store_watchers", help, watchers.clone());
        let help = "Events that the history holds";
        collector.register("firstlight_store_history_events", help, history.clone());
        metrics
    }
}

impl Metrics {
    /// Counts an answered request.
    pub(crate) fn request(
        &self,
        verb: &'static str,
        (group, resource, subresource): (&str, &str, &str),
        code: u16,
        took: Duration,
    ) {
        let (group, resource) = (group.to_owned(), resource.to_owned());
        let labels = RequestLabels { verb, group, resource, subresource: subresource.to_owned(), code };
        self.requests.get_or_create(&labels).inc();
        self.durations.get_or_create(&VerbLabels { verb }).observe(took.as_secs_f64());
    }

    /// Counts a watch until the returned value is dropped.
    pub(crate) fn watch(&self, group: &str, resource: &str) -> WatchCount {
        let labels = ResourceLabels { group: group.to_owned(), resource: resource.to_owned() };
        let gauge = self.watches.get_or_create(&labels).clone();
        gauge.inc();
        WatchCount { gauge, events: self.events.get_or_create(&labels).clone() }
    }

    /// Counts that a limit was reached; `limit` is the name of a constant of [`crate::limits`] in lower case.
    pub(crate) fn limit(&self, limit: &'static str) {
        self.limits.get_or_create(&LimitLabels { limit }).inc();
    }

    /// Returns all metrics in the text format, with the current state of `store`.
    pub(crate) fn text(&self, store: &Store) -> String {
        let (size, figure) = (store.size(), |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX));
        self.store.file.set(figure(size.file));
        self.store.rows.set(figure(size.rows));
        self.store.quota.set(figure(store.quota()));
        self.store.alarm.set(i64::from(store.alarm()));
        self.store.queued.set(figure(store.queued_bytes() as u64));
        self.store.watchers.set(figure(store.watcher_count() as u64));
        self.store.history.set(figure(store.history_count() as u64));
        let mut text = String::new();
        if let Err(error) = encode(&mut text, &self.collector) {
            tracing::error!(%error, "cannot write metrics");
        }
        text
    }
}

/// Counts a watch while it lives.
pub(crate) struct WatchCount {
    gauge: Gauge,
    events: Counter,
}

impl WatchCount {
    /// Counts a sent event.
    pub(crate) fn event(&self) {
        self.events.inc();
    }
}

impl Drop for WatchCount {
    fn drop(&mut self) {
        self.gauge.dec();
    }
}
