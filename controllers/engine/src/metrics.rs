//! The metrics of the controllers at `/metrics`, under controller-runtime's names.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabels {
    controller: &'static str,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ControllerLabels {
    controller: &'static str,
}

/// Metrics of all controllers of a process.
#[derive(Clone)]
pub struct Metrics {
    registry: Arc<Mutex<Registry>>,
    reconciles: Family<ResultLabels, Counter>,
    microseconds: Family<ControllerLabels, Counter>,
    panics: Family<ControllerLabels, Counter>,
    depth: Family<ControllerLabels, Gauge>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::default();
        let metrics = Self {
            registry: Arc::default(),
            reconciles: Family::default(),
            microseconds: Family::default(),
            panics: Family::default(),
            depth: Family::default(),
        };
        registry.register(
            "controller_runtime_reconcile",
            "Reconciles by controller and result",
            metrics.reconciles.clone(),
        );
        registry.register(
            "controller_runtime_reconcile_time_microseconds",
            "Time spent in reconciles",
            metrics.microseconds.clone(),
        );
        registry.register(
            "controller_runtime_reconcile_panics",
            "Reconciles that panicked",
            metrics.panics.clone(),
        );
        registry.register("workqueue_depth", "Objects that wait for a reconcile", metrics.depth.clone());
        *metrics.registry.lock() = registry;
        metrics
    }
}

impl Metrics {
    /// Returns the metrics in the OpenMetrics text format.
    pub fn encode(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = prometheus_client::encoding::text::encode(&mut text, &self.registry.lock());
        text
    }

    /// Registers further metrics from another part of the process.
    pub fn register(&self, add: impl FnOnce(&mut Registry)) {
        add(&mut self.registry.lock());
    }

    /// Returns how many reconciles of `controller` ended with `result`: `success`, `requeue_after`, `error`
    /// or `panic`.
    pub fn count(&self, controller: &'static str, result: &'static str) -> u64 {
        self.reconciles.get_or_create(&ResultLabels { controller, result }).get()
    }

    pub(crate) fn reconciled(&self, controller: &'static str, result: &'static str, took: Duration) {
        self.reconciles.get_or_create(&ResultLabels { controller, result }).inc();
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.microseconds.get_or_create(&ControllerLabels { controller }).inc_by(micros);
        if result == "panic" {
            self.panics.get_or_create(&ControllerLabels { controller }).inc();
        }
    }

    pub(crate) fn depth(&self, controller: &'static str, depth: usize) {
        let depth = i64::try_from(depth).unwrap_or(i64::MAX);
        self.depth.get_or_create(&ControllerLabels { controller }).set(depth);
    }
}
