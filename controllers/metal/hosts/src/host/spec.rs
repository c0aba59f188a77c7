//! What the spec of a host asks for, compared with its status.

use agent_protocol::State;
use schemas::metal3::{HostClaim, OperationHistory, OperationMetric};

use super::annotations;
use super::observed::{Agent, Means, Observed};
use crate::names;
use crate::state::HostState;

impl Observed {
    pub(super) fn inspection_is_disabled(&self) -> bool {
        self.host.spec.inspection_mode.as_deref() == Some("disabled")
            || self.annotation(names::INSPECT) == Some("disabled")
    }

    pub(super) fn detachment(&self) -> Option<annotations::Detached> {
        annotations::detached(self.host.metadata.annotations.as_ref()?)
    }

    pub(super) fn detachment_holds(&self) -> bool {
        self.detachment().is_some_and(|detached| self.state().is_settled() || detached.force)
    }

    pub(super) fn has_bmc(&self) -> bool {
        matches!(self.means, Means::Bmc { .. })
    }

    /// Returns whether the disks are cleaned at the end of a provisioning. They are left as they are after a live image, unless a HostClaim
    /// uses the host: the system of one tenant may have written to them, and the next tenant must not find it.
    pub(super) fn cleans(&self) -> bool {
        self.cleaning_is_enabled() && (!self.was_live() || self.is_claimed())
    }

    pub(super) fn cleaning_is_enabled(&self) -> bool {
        self.host.spec.automated_cleaning_mode.as_deref() != Some("disabled")
    }

    /// Returns whether a HostClaim uses the host. It names the host as its own until the host is deprovisioned.
    pub(super) fn is_claimed(&self) -> bool {
        let consumer = self.host.spec.consumer_ref.as_ref();
        consumer.is_some_and(|consumer| consumer.kind.as_deref() == Some(HostClaim::KIND))
    }

    /// Returns whether a live image was provisioned, which was booted from a virtual CD.
    pub(super) fn was_live(&self) -> bool {
        self.was()
            .provisioning
            .image
            .as_ref()
            .is_some_and(|image| image.format.as_deref() == Some("live-iso"))
    }

    /// Returns the start time of the state's operation, which is part of the identifiers of its instructions.
    pub(super) fn started(&self, of: impl Fn(&OperationHistory) -> Option<&OperationMetric>) -> String {
        let operation = self.was().operation_history.as_ref().and_then(of);
        operation.and_then(|operation| operation.start.clone()).unwrap_or_default()
    }

    /// Returns whether the image of the spec is booted from a virtual CD, and not written to a disk.
    pub(super) fn is_live(&self) -> bool {
        let image = self.host.spec.image.as_ref();
        image.is_some_and(|image| image.format.as_deref() == Some("live-iso"))
    }

    /// Returns whether the disks must be cleaned before the live image starts: on the host of a HostClaim, its system must not find what
    /// others have left.
    pub(super) fn cleans_before_live_image(&self) -> bool {
        let clean = format!("clean/{}", self.started(|history| history.provision.as_ref()));
        let is_clean = |agent: &Agent| agent.id == clean && agent.state == Some(State::Done);
        self.is_live()
            && self.is_claimed()
            && self.cleaning_is_enabled()
            && !self.agent.as_ref().is_some_and(is_clean)
    }

    /// Returns the state that the spec of an available host requests; `None` if it stays available.
    pub(super) fn after_rest(&self) -> Option<HostState> {
        let (spec, status) = (&self.host.spec, self.was());
        if spec.externally_provisioned == Some(true) {
            return Some(HostState::ExternallyProvisioned);
        }
        if self.annotation(names::INSPECT).is_some_and(|value| value != "disabled") {
            return Some(HostState::Inspecting);
        }
        if spec.root_device_hints != status.provisioning.root_device_hints || self.firmware.is_wanted() {
            return Some(HostState::Preparing);
        }
        let image = spec.image.as_ref().is_some_and(|image| !image.url.is_empty())
            && status.provisioning.image.as_ref().is_none_or(|image| image.url.is_empty());
        let method = spec.custom_deploy.as_ref().is_some_and(|deploy| {
            status.provisioning.custom_deploy.as_ref().is_none_or(|known| known.method != deploy.method)
        });
        (spec.online && (image || method)).then_some(HostState::Provisioning)
    }

    /// Returns whether the spec requests another image or deploy method than the provisioned one. Images are compared only by URL.
    pub(super) fn is_cancelled(&self) -> bool {
        let (spec, status) = (&self.host.spec, &self.was().provisioning);
        let wanted = spec.image.as_ref().map(|image| image.url.as_str()).filter(|url| !url.is_empty());
        let current = status.image.as_ref().map(|image| image.url.as_str()).filter(|url| !url.is_empty());
        match (&spec.custom_deploy, &status.custom_deploy) {
            (Some(wanted_deploy), current_deploy) => {
                current_deploy.as_ref().is_none_or(|known| known.method != wanted_deploy.method)
                    || current.is_some_and(|url| wanted != Some(url))
            }
            (None, Some(_)) => true,
            (None, None) => match (wanted, current) {
                (None, _) => true,
                (Some(_), None) => false,
                (Some(wanted), Some(current)) => wanted != current,
            },
        }
    }
}
