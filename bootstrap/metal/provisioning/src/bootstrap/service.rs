//! Records the reports of installed systems.

use std::net::IpAddr;
use std::sync::Arc;

use engine::{Manager, Objects};
use machinery::clock::Clock;
use metal::names::BOOTSTRAP;
use metal_boot::dhcp4::server::Addresses;
use schemas::metal3::BareMetalHost;

use super::report::{Decision, Report, decide, is_open};
use crate::directory::Kube;
use crate::fingerprint::fingerprint;
use crate::metrics::Metrics;

/// The answer to a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is recorded.
    Recorded,
    /// No host takes reports with this token from this address. The answer says nothing more, because a stranger could ask.
    Unknown,
    /// It comes too soon, or is one too many.
    TooMany,
    /// It cannot be recorded now.
    Failed,
}

/// The service for reports of installed systems.
pub struct BootstrapReports {
    machines: Kube,
    hosts: Objects<BareMetalHost>,
    addresses: Arc<Addresses>,
    clock: Clock,
    pub(crate) metrics: Metrics,
}

impl BootstrapReports {
    /// Creates the service.
    pub fn new(manager: &Manager, machines: Kube, addresses: Arc<Addresses>) -> Arc<Self> {
        let metrics = Metrics::of(manager.all_metrics());
        Arc::new(Self {
            machines,
            hosts: manager.objects(),
            addresses,
            clock: manager.clock().clone(),
            metrics,
        })
    }

    /// Returns the host whose configuration drive has the token, if it takes reports from `client`. A system may have another address
    /// than the leased one (a static address), but never that of another host.
    pub(crate) fn host(&self, token: &str, client: IpAddr) -> Option<Arc<BareMetalHost>> {
        let host = self.machines.host_of_drive(&fingerprint(token.as_bytes()))?;
        let holder = self.addresses.holder_of(client).or_else(|| self.machines.agent_at(client));
        let other = holder.and_then(|mac| self.machines.host(mac));
        let is_other = other.is_some_and(|other| other.metadata.uid != host.metadata.uid);
        (!is_other && is_open(&host, self.clock.now())).then_some(host)
    }

    /// Records a report about the host.
    pub(crate) async fn record(&self, host: &Arc<BareMetalHost>, report: &Report) -> Answer {
        let record = match decide(host, report, self.clock.now()) {
            Decision::Record(record) => record,
            Decision::Known => return Answer::Recorded,
            Decision::Ended => return Answer::Unknown,
            Decision::TooMany(limit) => {
                self.metrics.limit(limit);
                return Answer::TooMany;
            }
        };
        let Ok(text) = serde_json::to_string(&record) else { return Answer::Failed };
        let mut wanted = host.as_ref().clone();
        wanted.metadata.annotations.get_or_insert_default().insert(BOOTSTRAP.to_owned(), text);
        // It fails if the host has changed meanwhile, so that a report never follows the last one. The machine sends it again.
        match self.hosts.patch_unchanged(host, &wanted).await {
            Ok(_) => Answer::Recorded,
            Err(error) => {
                tracing::info!(host = host.metadata.name, %error, "a report about the bootstrap is not recorded");
                Answer::Failed
            }
        }
    }
}
