//! The metrics of HTTP and of enrolments. docs/metrics.md describes them.

use metrics::Limits;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    service: &'static str,
    code: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ServiceLabels {
    service: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EnrolmentLabels {
    result: &'static str,
}

/// The metrics of these services. Clones share the values.
#[derive(Clone)]
pub struct Metrics {
    requests: Family<RequestLabels, Counter>,
    sent: Family<ServiceLabels, Counter>,
    enrolments: Family<EnrolmentLabels, Counter>,
    limits: Limits,
}

impl Metrics {
    /// Returns the metrics of the services in the registry `metrics`, and registers them at the first call.
    pub fn of(metrics: &metrics::Metrics) -> Self {
        let limits = Limits::of(metrics);
        metrics.part(|registry| Self::register(registry, limits))
    }

    fn register(registry: &mut Registry, limits: Limits) -> Self {
        let metrics = Self {
            requests: Family::default(),
            sent: Family::default(),
            enrolments: Family::default(),
            limits,
        };
        let help = "HTTP requests of machines that were answered, by service and status code";
        registry.register("firstlight_netboot_http_requests", help, metrics.requests.clone());
        let help = "Bytes of HTTP response bodies that were sent to machines, by service";
        registry.register("firstlight_netboot_http_sent_bytes", help, metrics.sent.clone());
        let help = "Enrolments of agents, by result: enrolled, or the reason of the refusal";
        registry.register("firstlight_netboot_enrolments", help, metrics.enrolments.clone());
        metrics
    }

    /// Counts an answered request, and returns the counter of the bytes of its response.
    pub(crate) fn request(&self, service: &'static str, code: u16) -> Counter {
        self.requests.get_or_create(&RequestLabels { service, code }).inc();
        self.sent.get_or_create_owned(&ServiceLabels { service })
    }

    /// Counts an enrolment.
    pub(crate) fn enrolment(&self, result: &'static str) {
        self.enrolments.get_or_create(&EnrolmentLabels { result }).inc();
    }

    /// Returns the counter of limits that were reached.
    pub(crate) fn limits(&self) -> Limits {
        self.limits.clone()
    }

    /// Counts that a limit was reached. `limit` is `netboot_` and the name of a constant of [`crate::limits`] in lower case.
    pub(crate) fn limit(&self, limit: &'static str) {
        self.limits.reached(limit);
    }
}
