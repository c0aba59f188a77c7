//! The virtual drive, whose content follows the host's DataImage.
//!
//! As in Metal3, the content changes only just before a provisioned machine is switched on.

use schemas::metal3::{AttachedImage, DataImage, DataImageError};

use super::observed::{Drive, Means};
use super::plan::Planner;
use crate::control::Command;
use crate::names::ErrorType;

impl Drive {
    fn wanted(&self) -> Option<&str> {
        let is_deleting = self.image.metadata.deletion_timestamp.is_some();
        Some(self.image.spec.url.as_str()).filter(|url| !is_deleting && !url.is_empty())
    }

    /// Returns the URL of the last inserted image.
    pub(crate) fn attached(image: &DataImage) -> Option<&str> {
        let attached = image.status.as_ref()?.attached_image.as_ref()?;
        Some(attached.url.as_str()).filter(|url| !url.is_empty())
    }

    fn is_as_wanted(&self, held: Option<&str>) -> bool {
        match (self.wanted(), held) {
            (None, held) => held.is_none(),
            (Some(_), None) => false,
            // If the BMC does not show the URL of its image, the last inserted one is assumed.
            (Some(wanted), Some("")) => Self::attached(&self.image) == Some(wanted),
            (Some(wanted), Some(held)) => held == wanted,
        }
    }
}

impl Planner<'_> {
    /// Inserts or ejects the image before the machine is switched on. Returns whether the machine may be switched on.
    pub(super) fn fill_drive(&mut self) -> bool {
        let Some(drive) = self.observed.drive.as_ref().filter(|_| self.has_bmc()) else { return true };
        let held = match &drive.held {
            Ok(held) => held.as_deref(),
            Err(fault) => {
                self.fail_drive(&fault.message);
                self.fail(ErrorType::PowerManagement, fault.message.clone());
                return false;
            }
        };
        if !drive.is_as_wanted(held) {
            self.plan.commands.push(match drive.wanted() {
                Some(url) => Command::Insert(url.to_owned()),
                None => Command::Eject,
            });
        }
        self.note_drive(drive.wanted().map(str::to_owned));
        true
    }

    /// Ejects the image of a system that has been deprovisioned.
    pub(super) fn empty_drive(&mut self) {
        let Some(drive) = self.observed.drive.as_ref().filter(|_| self.has_bmc()) else { return };
        if Drive::attached(&drive.image).is_some() {
            self.plan.commands.push(Command::Eject);
            self.note_drive(None);
        }
    }

    fn has_bmc(&self) -> bool {
        matches!(self.observed.means, Means::Bmc { .. })
    }

    fn note_drive(&mut self, attached: Option<String>) {
        let Some(drive) = &self.observed.drive else { return };
        let (mut image, now) = (drive.image.clone(), self.now());
        let status = image.status.get_or_insert_default();
        status.attached_image = attached.map(|url| AttachedImage { url });
        status.error = None;
        status.last_reconciled = Some(now);
        self.plan.data_image = Some(image);
    }

    fn fail_drive(&mut self, message: &str) {
        let Some(drive) = &self.observed.drive else { return };
        self.plan.data_image = Some(failed(&drive.image, message, self.now()));
    }
}

/// Returns the DataImage with a failed operation in its status.
pub(super) fn failed(image: &DataImage, message: &str, now: String) -> DataImage {
    let mut image = image.clone();
    let status = image.status.get_or_insert_default();
    let count = status.error.as_ref().map_or(0, |error| error.count) + 1;
    status.error = Some(DataImageError { count, message: message.to_owned() });
    status.last_reconciled = Some(now);
    image
}
