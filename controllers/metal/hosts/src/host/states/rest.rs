//! Hosts at rest: available, provisioned, or externally provisioned.

use crate::host::plan::Planner;
use crate::names::{self, ErrorType};
use crate::state::HostState;

impl Planner<'_> {
    /// Handles an available host, which waits for an image.
    pub(in crate::host) fn rest(&mut self) {
        match self.after_rest() {
            Some(HostState::Provisioning) => {
                // Checked first, so that no disk is erased if the image cannot be written afterwards.
                if let Some(problem) = self.provisioning_problem() {
                    self.fail(ErrorType::Provisioning, problem);
                    return;
                }
                self.recover();
                self.event("ProvisioningStarted", "Image provisioning started");
                self.enter(HostState::Provisioning);
            }
            Some(next) => self.enter(next),
            None => {
                self.empty_drive();
                self.keep_power(false);
            }
        }
    }

    /// Returns the state that the spec of an available host requests; `None` if it stays available.
    pub(in crate::host) fn after_rest(&self) -> Option<HostState> {
        let (spec, status) = (&self.observed.host.spec, self.was());
        if spec.externally_provisioned == Some(true) {
            return Some(HostState::ExternallyProvisioned);
        }
        if self.annotation(names::INSPECT).is_some_and(|value| value != "disabled") {
            return Some(HostState::Inspecting);
        }
        if spec.root_device_hints != status.provisioning.root_device_hints
            || self.observed.firmware.is_wanted()
        {
            return Some(HostState::Preparing);
        }
        let image = spec.image.as_ref().is_some_and(|image| !image.url.is_empty())
            && status.provisioning.image.as_ref().is_none_or(|image| image.url.is_empty());
        let method = spec.custom_deploy.as_ref().is_some_and(|deploy| {
            status.provisioning.custom_deploy.as_ref().is_none_or(|known| known.method != deploy.method)
        });
        (spec.online && (image || method)).then_some(HostState::Provisioning)
    }

    /// Handles a provisioned host: its system runs, and only its power and firmware are managed.
    pub(in crate::host) fn serve(&mut self) {
        if self.state() == HostState::ExternallyProvisioned {
            if self.observed.host.spec.externally_provisioned != Some(true) {
                let (image, deploy) =
                    (self.observed.host.spec.image.clone(), self.observed.host.spec.custom_deploy.clone());
                let status = self.status();
                status.provisioning.image = image;
                status.provisioning.custom_deploy = deploy;
                self.enter(HostState::Provisioned);
                return;
            }
        } else if self.is_cancelled() {
            self.enter(HostState::Deprovisioning);
            return;
        }
        self.ask_operator(None);
        if self.continue_service() {
            self.keep_power(true);
        }
    }

    /// Returns whether the spec requests another image or deploy method than the provisioned one. Images are compared only by URL.
    pub(in crate::host) fn is_cancelled(&self) -> bool {
        let (spec, status) = (&self.observed.host.spec, &self.was().provisioning);
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
