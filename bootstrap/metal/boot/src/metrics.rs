//! The metrics of DHCP, TFTP and router advertisements. docs/metrics.md describes them.

use metrics::Limits;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

/// The version of IP whose addresses a DHCP message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    V4,
    V6,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DhcpLabels {
    version: &'static str,
    request: &'static str,
    answer: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TransferLabels {
    result: &'static str,
}

/// The metrics of these services on all interfaces. Clones share the values.
#[derive(Clone)]
pub struct Metrics {
    dhcp: Family<DhcpLabels, Counter>,
    advertisements: Counter,
    transfers: Family<TransferLabels, Counter>,
    transfer_bytes: Counter,
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
            dhcp: Family::default(),
            advertisements: Counter::default(),
            transfers: Family::default(),
            transfer_bytes: Counter::default(),
            limits,
        };
        let help = "DHCP messages of machines, by IP version, kind of message and kind of answer";
        registry.register("firstlight_netboot_dhcp_messages", help, metrics.dhcp.clone());
        let help = "Router solicitations that were answered";
        registry.register("firstlight_netboot_router_advertisements", help, metrics.advertisements.clone());
        let help = "TFTP transfers that ended, by result";
        registry.register("firstlight_netboot_tftp_transfers", help, metrics.transfers.clone());
        let help = "Bytes of files that TFTP clients have received completely";
        registry.register("firstlight_netboot_tftp_file_bytes", help, metrics.transfer_bytes.clone());
        metrics
    }

    /// Counts a DHCP message. `request` and `answer` are names of kinds; `answer` is `none` if the message was not answered.
    pub(crate) fn dhcp(&self, version: Version, request: &'static str, answer: Option<&'static str>) {
        let version = match version {
            Version::V4 => "4",
            Version::V6 => "6",
        };
        let labels = DhcpLabels { version, request, answer: answer.unwrap_or("none") };
        self.dhcp.get_or_create(&labels).inc();
    }

    /// Counts an answered router solicitation.
    pub(crate) fn advertisement(&self) {
        self.advertisements.inc();
    }

    /// Counts a transfer that has ended, and the bytes of the file that the client has received.
    pub(crate) fn transfer(&self, result: &'static str, bytes: u64) {
        self.transfers.get_or_create(&TransferLabels { result }).inc();
        self.transfer_bytes.inc_by(bytes);
    }

    /// Counts that a limit was reached. `limit` is `netboot_` and the name of a constant of [`crate::limits`] in lower case.
    pub(crate) fn limit(&self, limit: &'static str) {
        self.limits.reached(limit);
    }
}
