//! The virtual drive: what a host's DataImage wants to be in it.
//!
//! As Metal3 does, the drive changes just before a provisioned machine is switched on, and in no other moment of its system's life.

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

    /// The image that was put into it last.
    pub(crate) fn attached(image: &DataImage) -> Option<&str> {
        let attached = image.status.as_ref()?.attached_image.as_ref()?;
        Some(attached.url.as_str()).filter(|url| !url.is_empty())
    }

    fn is_as_wanted(&self, held: Option<&str>) -> bool {
        match (self.wanted(), held) {
            (None, held) => held.is_none(),
            (Some(_), None) => false,
            // A BMC that does not tell which image it holds is taken to hold what was put in last.
            (Some(wanted), Some("")) => Self::attached(&self.image) == Some(wanted),
            (Some(wanted), Some(held)) => held == wanted,
        }
    }
}

impl Planner<'_> {
    /// Puts into the drive what is wanted in it, before the machine is switched on. Whether it may be.
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

    /// Takes out what was put in for a system that is no more.
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

/// The DataImage of which something could not be done.
pub(super) fn failed(image: &DataImage, message: &str, now: String) -> DataImage {
    let mut image = image.clone();
    let status = image.status.get_or_insert_default();
    let count = status.error.as_ref().map_or(0, |error| error.count) + 1;
    status.error = Some(DataImageError { count, message: message.to_owned() });
    status.last_reconciled = Some(now);
    image
}
