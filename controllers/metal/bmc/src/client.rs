//! The interface that all clients implement.

use std::collections::BTreeMap;

use futures::future::BoxFuture;

use crate::{
    Boot, Error, FirmwareComponent, Identity, Power, PowerAction, Result, Setting, Settings, Subscribed,
    Subscription, Task, TaskState,
};

/// A client of a baseboard management controller (BMC). All of them have power and a boot device. A function that a controller lacks, or its
/// whole protocol, returns [`crate::Error::Unsupported`].
pub trait Bmc: Send + Sync {
    /// Returns the error for a function that the protocol lacks.
    fn lacks(&self, what: &str) -> Error;

    /// Returns the power state of the machine.
    fn power(&self) -> BoxFuture<'_, Result<Power>>;

    /// Changes the machine's power. It returns when the controller has accepted the action, which is before the machine reaches the
    /// state. Nothing is sent if the machine is already in the resulting state, except for resets and interrupts.
    fn set_power(&self, action: PowerAction) -> BoxFuture<'_, Result<()>>;

    /// Returns the selected boot device; `None` if none is selected, or one that [`crate::BootDevice`] does not have.
    fn boot(&self) -> BoxFuture<'_, Result<Option<Boot>>>;

    /// Selects the boot device, reads it back, and returns the stored selection. Its persistence may differ, since some controllers
    /// have no persistent boot device and others no other one.
    ///
    /// # Errors
    /// [`crate::Error::NotStored`] if another device or mode is read back.
    fn set_boot<'a>(&'a self, boot: &'a Boot) -> BoxFuture<'a, Result<Boot>>;

    /// Inserts the image at `url` as a CD, and replaces an inserted one. With [`crate::BootDevice::VirtualMedia`] the machine boots
    /// from it.
    fn insert_media<'a>(&'a self, _url: &'a str) -> BoxFuture<'a, Result<()>> {
        lacking(self.lacks("virtual media"))
    }

    /// Ejects the CD; does nothing if there is none.
    fn eject_media(&self) -> BoxFuture<'_, Result<()>> {
        lacking(self.lacks("virtual media"))
    }

    /// Returns the URL of the inserted CD image, or `None`. Some controllers show only a part of it.
    fn media(&self) -> BoxFuture<'_, Result<Option<String>>> {
        lacking(self.lacks("virtual media"))
    }

    /// Returns the data that identify the machine.
    fn identity(&self) -> BoxFuture<'_, Result<Identity>> {
        lacking(self.lacks("reading the machine's identity"))
    }

    /// Returns whether Secure Boot is enabled in the settings.
    fn secure_boot(&self) -> BoxFuture<'_, Result<bool>> {
        lacking(self.lacks("Secure Boot"))
    }

    /// Sets Secure Boot for the next start.
    fn set_secure_boot(&self, _on: bool) -> BoxFuture<'_, Result<()>> {
        lacking(self.lacks("Secure Boot"))
    }

    /// Returns the firmware's settings.
    fn settings(&self) -> BoxFuture<'_, Result<Settings>> {
        lacking(self.lacks("reading the firmware's settings"))
    }

    /// Changes firmware settings for the next start.
    fn set_settings<'a>(&'a self, _settings: &'a BTreeMap<String, Setting>) -> BoxFuture<'a, Result<()>> {
        lacking(self.lacks("changing the firmware's settings"))
    }

    /// Returns the installed firmware versions.
    fn firmware(&self) -> BoxFuture<'_, Result<Vec<FirmwareComponent>>> {
        lacking(self.lacks("reading the versions of firmware"))
    }

    /// Installs the firmware at `url` into a component that [`Self::firmware`] lists. The returned task shows the progress.
    fn update_firmware<'a>(&'a self, _component: &'a str, _url: &'a str) -> BoxFuture<'a, Result<Task>> {
        lacking(self.lacks("updating firmware"))
    }

    /// Returns the state of a task.
    fn task<'a>(&'a self, _task: &'a Task) -> BoxFuture<'a, Result<TaskState>> {
        lacking(self.lacks("tasks"))
    }

    /// Returns the existing event subscriptions.
    fn subscriptions(&self) -> BoxFuture<'_, Result<Vec<Subscribed>>> {
        lacking(self.lacks("sending events"))
    }

    /// Makes the controller send its events to a destination, and returns the identifier of the subscription.
    fn subscribe<'a>(&'a self, _subscription: &'a Subscription) -> BoxFuture<'a, Result<String>> {
        lacking(self.lacks("sending events"))
    }

    /// Ends a subscription; does nothing if it does not exist.
    fn unsubscribe<'a>(&'a self, _identifier: &'a str) -> BoxFuture<'a, Result<()>> {
        lacking(self.lacks("sending events"))
    }

    /// Ends the session at the controller, if there is one: controllers support only few of them. The client can still be used afterwards.
    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

fn lacking<'a, T: Send + 'a>(error: Error) -> BoxFuture<'a, Result<T>> {
    Box::pin(std::future::ready(Err(error)))
}
