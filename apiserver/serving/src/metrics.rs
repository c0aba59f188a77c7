//! The metrics at `/metrics`.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use metrics::Limits;
use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
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

/// The metrics of the servers that share a registry of metrics. A metric is the sum over these servers.
#[derive(Clone)]
pub(crate) struct Metrics {
    requests: Family<RequestLabels, Counter>,
    durations: Family<VerbLabels, Histogram, fn() -> Histogram>,
    watches: Family<ResourceLabels, Gauge>,
    events: Family<ResourceLabels, Counter>,
    stores: StoreFigures,
    limits: Limits,
}

/// Collects the figures of the stores when metrics are read: size, quota, history and watchers. A figure is the sum over all stores.
#[derive(Clone, Default)]
struct StoreFigures(Arc<Mutex<Vec<Store>>>);

impl StoreFigures {
    /// Adds a store. A store that two servers serve counts once.
    fn add(&self, store: &Store) {
        let mut stores = self.0.lock();
        if !stores.iter().any(|known| known.is_same(store)) {
            stores.push(store.clone());
        }
    }

    fn sum(&self, figure: impl Fn(&Store) -> u64) -> u64 {
        self.0.lock().iter().map(figure).fold(0, u64::saturating_add)
    }
}

impl fmt::Debug for StoreFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreFigures")
    }
}

impl Collector for StoreFigures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let figures = [
            (
                "apiserver_storage_size_bytes",
                "Bytes of the store's file",
                self.sum(|store| store.size().file),
            ),
            (
                "firstlight_store_used_bytes",
                "Bytes that objects and history take: what counts against the quota",
                self.sum(Store::used),
            ),
            (
                "firstlight_store_quota_bytes",
                "Bytes that objects and history may take",
                self.sum(Store::quota),
            ),
            (
                "firstlight_store_alarm",
                "1 while writes are refused for want of space",
                self.sum(|store| u64::from(store.alarm())),
            ),
            (
                "firstlight_watch_queued_bytes",
                "Bytes of events that wait for watchers, each counted once",
                self.sum(|store| store.queued_bytes() as u64),
            ),
            (
                "firstlight_store_watchers",
                "Watchers of the store now",
                self.sum(|store| store.watcher_count() as u64),
            ),
            (
                "firstlight_store_history_events",
                "Events that the history holds",
                self.sum(|store| store.history_count() as u64),
            ),
        ];
        for (name, help, figure) in figures {
            let gauge = ConstGauge::new(i64::try_from(figure).unwrap_or(i64::MAX));
            gauge.encode(encoder.encode_descriptor(name, help, None, MetricType::Gauge)?)?;
        }
        let counters = [
            (
                "firstlight_store_watch_queue_overflows",
                "Times that a watcher's queue was emptied because of too many events; the watcher went on from the history",
                self.sum(|store| store.overflows().events),
            ),
            (
                "firstlight_store_watch_queues_overflows",
                "Times that the queues of all watchers were emptied because of too many bytes",
                self.sum(|store| store.overflows().bytes),
            ),
            (
                "firstlight_store_refusals",
                "Writes that were refused for want of space",
                self.sum(Store::refusals),
            ),
        ];
        for (name, help, figure) in counters {
            let counter = ConstCounter::new(figure);
            counter.encode(encoder.encode_descriptor(name, help, None, MetricType::Counter)?)?;
        }
        Ok(())
    }
}

/// Upper bounds in seconds; most requests take well under a millisecond.
const BUCKETS: [f64; 10] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 10.0];

impl Metrics {
    /// Returns the metrics of the servers in the registry `metrics`, and adds the figures of `store`. The first call registers them.
    pub(crate) fn of(metrics: &metrics::Metrics, store: &Store) -> Self {
        let limits = Limits::of(metrics);
        let metrics = metrics.part(|registry| Self::register(registry, limits));
        metrics.stores.add(store);
        metrics
    }

    fn register(registry: &mut Registry, limits: Limits) -> Self {
        let metrics = Self {
            requests: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(BUCKETS)),
            watches: Family::default(),
            events: Family::default(),
            stores: StoreFigures::default(),
            limits,
        };
        registry.register("apiserver_request", "Requests answered", metrics.requests.clone());
        let help = "Seconds until the answer's headers were ready";
        registry.register("apiserver_request_duration_seconds", help, metrics.durations.clone());
        registry.register("apiserver_longrunning_requests", "Watches now", metrics.watches.clone());
        registry.register("apiserver_watch_events", "Watch events sent", metrics.events.clone());
        registry.register_collector(Box::new(metrics.stores.clone()));
        metrics
    }

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
        self.limits.reached(limit);
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
