//! Metrics of the controllers and their queues. Names and labels are those of controller-runtime, so that dashboards for controller-runtime
//! show these controllers, too.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::queue::{Queue, QueueMetrics};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabels {
    controller: &'static str,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ControllerLabels {
    controller: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StepLabels {
    controller: &'static str,
    step: &'static str,
    outcome: &'static str,
}

/// Labels of a queue. Both labels are the name of the controller, because dashboards use either of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct QueueLabels {
    name: &'static str,
    controller: &'static str,
}

type Durations<L> = Family<L, Histogram, fn() -> Histogram>;

/// Upper bounds in seconds, a subset of controller-runtime's.
const RECONCILE_BUCKETS: [f64; 21] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 15.0, 25.0,
    40.0, 60.0,
];

/// The metrics of all controllers that share a registry. Clones share the values.
#[derive(Clone)]
pub struct Metrics {
    reconciles: Family<ResultLabels, Counter>,
    errors: Family<ControllerLabels, Counter>,
    panics: Family<ControllerLabels, Counter>,
    seconds: Durations<ControllerLabels>,
    active: Family<ControllerLabels, Gauge>,
    workers: Family<ControllerLabels, Gauge>,
    adds: Family<QueueLabels, Counter>,
    retries: Family<QueueLabels, Counter>,
    waited: Durations<QueueLabels>,
    worked: Durations<QueueLabels>,
    queues: Queues,
    steps: Family<StepLabels, Counter>,
}

impl Metrics {
    /// Returns the metrics of the controllers in the registry `metrics`, and registers them at the first call.
    pub fn of(metrics: &metrics::Metrics) -> Self {
        metrics.part(Self::register)
    }

    fn register(registry: &mut Registry) -> Self {
        let reconcile_seconds: fn() -> Histogram = || Histogram::new(RECONCILE_BUCKETS);
        let queue_seconds: fn() -> Histogram = || Histogram::new(exponential_buckets(1e-8, 10.0, 12));
        let metrics = Self {
            reconciles: Family::default(),
            errors: Family::default(),
            panics: Family::default(),
            seconds: Family::new_with_constructor(reconcile_seconds),
            active: Family::default(),
            workers: Family::default(),
            adds: Family::default(),
            retries: Family::default(),
            waited: Family::new_with_constructor(queue_seconds),
            worked: Family::new_with_constructor(queue_seconds),
            queues: Queues::default(),
            steps: Family::default(),
        };
        let help = "Reconciles by controller and result";
        registry.register("controller_runtime_reconcile", help, metrics.reconciles.clone());
        let help = "Reconciles that failed, panics included";
        registry.register("controller_runtime_reconcile_errors", help, metrics.errors.clone());
        let help = "Reconciles that panicked";
        registry.register("controller_runtime_reconcile_panics", help, metrics.panics.clone());
        let help = "Seconds that a reconcile takes";
        registry.register("controller_runtime_reconcile_time_seconds", help, metrics.seconds.clone());
        let help = "Reconciles that run now";
        registry.register("controller_runtime_active_workers", help, metrics.active.clone());
        let help = "Reconciles that may run at the same time";
        registry.register("controller_runtime_max_concurrent_reconciles", help, metrics.workers.clone());
        registry.register("workqueue_adds", "Objects that were queued", metrics.adds.clone());
        let help = "Objects that were queued for a later time, after an error or by request";
        registry.register("workqueue_retries", help, metrics.retries.clone());
        let help = "Seconds that an object waits until it is worked on";
        registry.register("workqueue_queue_duration_seconds", help, metrics.waited.clone());
        let help = "Seconds that an object is worked on";
        registry.register("workqueue_work_duration_seconds", help, metrics.worked.clone());
        registry.register_collector(Box::new(metrics.queues.clone()));
        let help = "Steps of plans by controller, step and outcome";
        registry.register("firstlight_controller_steps", help, metrics.steps.clone());
        metrics
    }

    /// Returns the number of reconciles of `controller` with `result`: `success`, `requeue_after` or `error`.
    pub fn count(&self, controller: &'static str, result: &'static str) -> u64 {
        self.reconciles.get_or_create(&ResultLabels { controller, result }).get()
    }

    /// Returns the number of reconciles of `controller` that panicked.
    pub fn panics(&self, controller: &'static str) -> u64 {
        self.panics.get_or_create(&ControllerLabels { controller }).get()
    }

    /// Returns the number of steps of `controller` that ended so: `changed`, `unchanged`, `failed` or `skipped`.
    pub fn steps(&self, controller: &'static str, step: &'static str, outcome: &'static str) -> u64 {
        self.steps.get_or_create(&StepLabels { controller, step, outcome }).get()
    }

    /// Counts a step of a plan.
    pub(crate) fn step(&self, controller: &'static str, step: &'static str, outcome: &'static str) {
        self.steps.get_or_create(&StepLabels { controller, step, outcome }).inc();
    }

    /// Returns the metrics that the queue of `controller` updates.
    pub(crate) fn of_queue(&self, controller: &'static str) -> QueueMetrics {
        let labels = QueueLabels { name: controller, controller };
        QueueMetrics {
            adds: self.adds.get_or_create_owned(&labels),
            retries: self.retries.get_or_create_owned(&labels),
            waited: self.waited.get_or_create_owned(&labels),
            worked: self.worked.get_or_create_owned(&labels),
        }
    }

    /// Adds `queue` to the queues whose depth and running work are read at each scrape.
    pub(crate) fn show_queue(&self, controller: &'static str, queue: &Arc<Queue>) {
        self.queues.0.lock().push((controller, Arc::downgrade(queue)));
    }

    /// Records that the controller starts with `workers` workers.
    pub(crate) fn started(&self, controller: &'static str, workers: usize) {
        let workers = i64::try_from(workers).unwrap_or(i64::MAX);
        self.workers.get_or_create(&ControllerLabels { controller }).set(workers);
        // Creates the metrics with the value 0, because a dashboard shows nothing for a metric that does not exist yet.
        let labels = ControllerLabels { controller };
        drop(self.active.get_or_create(&labels));
        drop(self.errors.get_or_create(&labels));
        drop(self.panics.get_or_create(&labels));
        for result in ["success", "error", "requeue_after"] {
            drop(self.reconciles.get_or_create(&ResultLabels { controller, result }));
        }
    }

    /// Counts a running reconcile until the returned value is dropped.
    pub(crate) fn active(&self, controller: &'static str) -> Active {
        let gauge = self.active.get_or_create_owned(&ControllerLabels { controller });
        gauge.inc();
        Active(gauge)
    }

    pub(crate) fn reconciled(&self, controller: &'static str, outcome: Outcome, took: Duration) {
        let labels = ControllerLabels { controller };
        let result = match outcome {
            Outcome::Success => "success",
            Outcome::RequeueAfter => "requeue_after",
            Outcome::Error | Outcome::Panic => "error",
        };
        self.reconciles.get_or_create(&ResultLabels { controller, result }).inc();
        self.seconds.get_or_create(&labels).observe(took.as_secs_f64());
        if matches!(outcome, Outcome::Error | Outcome::Panic) {
            self.errors.get_or_create(&labels).inc();
        }
        if outcome == Outcome::Panic {
            self.panics.get_or_create(&labels).inc();
        }
    }
}

/// The result of a reconcile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Success,
    RequeueAfter,
    Error,
    Panic,
}

/// Counts a reconcile while it runs.
pub(crate) struct Active(Gauge);

impl Drop for Active {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// A queue with the name of its controller.
type NamedQueue = (&'static str, Weak<Queue>);

/// The queues of all controllers. Their load is read at each scrape.
#[derive(Clone, Default)]
struct Queues(Arc<Mutex<Vec<NamedQueue>>>);

impl fmt::Debug for Queues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Queues")
    }
}

impl Collector for Queues {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let mut queues = self.0.lock();
        queues.retain(|(_, queue)| queue.strong_count() > 0);
        let now: Vec<_> = queues
            .iter()
            .filter_map(|(controller, queue)| {
                let labels = QueueLabels { name: controller, controller };
                Some((labels, queue.upgrade()?.load()))
            })
            .collect();
        type Figure = fn(&crate::queue::Load) -> f64;
        let figures: [(&str, &str, Figure); 3] = [
            ("workqueue_depth", "Objects that wait for a reconcile", |load| load.waiting as f64),
            ("workqueue_unfinished_work_seconds", "Seconds of all reconciles that run now", |load| {
                load.unfinished.as_secs_f64()
            }),
            (
                "workqueue_longest_running_processor_seconds",
                "Seconds of the longest reconcile that runs now",
                |load| load.longest.as_secs_f64(),
            ),
        ];
        for (name, help, figure) in figures {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for (labels, load) in &now {
                ConstGauge::new(figure(load)).encode(family.encode_family(labels)?)?;
            }
        }
        Ok(())
    }
}
