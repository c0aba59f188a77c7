//! The virtual drive, whose content follows the host's DataImage.
//!
//! As in Metal3, the content changes only just before a provisioned machine is switched on.

use schemas::metal3::{AttachedImage, DataImage, DataImageError};

use super::draft::Draft;
use super::observed::{Drive, Observed};
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

/// Inserts or ejects the image before the machine is switched on. Returns whether the machine may be switched on.
pub(super) fn fill_drive(observed: &Observed, draft: &mut Draft) -> bool {
    let Some(drive) = observed.drive.as_ref().filter(|_| observed.has_bmc()) else { return true };
    let held = match &drive.held {
        Ok(held) => held.as_deref(),
        Err(fault) => {
            fail_drive(observed, draft, &fault.message);
            draft.fail(ErrorType::PowerManagement, fault.message.clone());
            return false;
        }
    };
    if !drive.is_as_wanted(held) {
        draft.command(match drive.wanted() {
            Some(url) => Command::Insert(url.to_owned()),
            None => Command::Eject,
        });
    }
    note_drive(observed, draft, drive.wanted().map(str::to_owned));
    true
}

/// Ejects the image of a system that has been deprovisioned.
pub(super) fn empty_drive(observed: &Observed, draft: &mut Draft) {
    let Some(drive) = observed.drive.as_ref().filter(|_| observed.has_bmc()) else { return };
    if Drive::attached(&drive.image).is_some() {
        draft.command(Command::Eject);
        note_drive(observed, draft, None);
    }
}

fn note_drive(observed: &Observed, draft: &mut Draft, attached: Option<String>) {
    let Some(drive) = &observed.drive else { return };
    let (mut image, now) = (drive.image.clone(), observed.now());
    let status = image.status.get_or_insert_default();
    status.attached_image = attached.map(|url| AttachedImage { url });
    status.error = None;
    status.last_reconciled = Some(now);
    draft.note_drive(image);
}

fn fail_drive(observed: &Observed, draft: &mut Draft, message: &str) {
    let Some(drive) = &observed.drive else { return };
    draft.note_drive(failed(&drive.image, message, observed.now()));
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
