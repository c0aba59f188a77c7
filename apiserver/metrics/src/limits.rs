//! The counter of the limits that were reached.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;

use crate::Metrics;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LimitLabels {
    limit: &'static str,
}

/// Counts how often each limit was reached, in `firstlight_limit_reached_total`. All parts of a process share this counter.
/// docs/metrics.md lists the names, and which limits are not counted.
#[derive(Clone, Default)]
pub struct Limits(Family<LimitLabels, Counter>);

impl Limits {
    /// Returns the counter in the registry `metrics`, and registers it at the first call.
    pub fn of(metrics: &Metrics) -> Self {
        metrics.part(|registry| {
            let limits = Self::default();
            registry.register("firstlight_limit_reached", "Times that a limit was reached", limits.0.clone());
            limits
        })
    }

    /// Counts that a limit was reached. `limit` is the name of a constant of a `limits.rs` in lower case; the names of bare metal begin
    /// with `netboot_`.
    pub fn reached(&self, limit: &'static str) {
        self.0.get_or_create(&LimitLabels { limit }).inc();
    }
}
