//! The interface that all clients implement.

use std::collections::BTreeMap;

use futures::future::BoxFuture;

use crate::{
    Boot, FirmwareComponent, Identity, Power, PowerAction, Result, Setting, Settings, Subscribed,
    Subscription, Task, TaskState,
};

/// A client of a baseboard management controller (BMC). A function that the controller lacks returns [`crate::Error::Unsupported`].
pub trait Bmc: Send + Sync {
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
    fn insert_media<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<()>>;

    /// Ejects the CD; does nothing if there is none.
    fn eject_media(&self) -> BoxFuture<'_, Result<()>>;

    /// Returns the URL of the inserted CD image, or `None`. Some controllers show only a part of it.
    fn media(&self) -> BoxFuture<'_, Result<Option<String>>>;

    /// Returns the data that identify the machine.
    fn identity(&self) -> BoxFuture<'_, Result<Identity>>;

    /// Returns whether Secure Boot is enabled in the settings.
    fn secure_boot(&self) -> BoxFuture<'_, Result<bool>>;

    /// Sets Secure Boot for the next start.
    fn set_secure_boot(&self, on: bool) -> BoxFuture<'_, Result<()>>;

    /// Returns the firmware's settings.
    fn settings(&self) -> BoxFuture<'_, Result<Settings>>;

    /// Changes firmware settings for the next start.
    fn set_settings<'a>(&'a self, settings: &'a BTreeMap<String, Setting>) -> BoxFuture<'a, Result<()>>;

    /// Returns the installed firmware versions.
    fn firmware(&self) -> BoxFuture<'_, Result<Vec<FirmwareComponent>>>;

    /// Installs the firmware at `url` into a component that [`Self::firmware`] lists. The returned task shows the progress.
    fn update_firmware<'a>(&'a self, component: &'a str, url: &'a str) -> BoxFuture<'a, Result<Task>>;

    /// Returns the state of a task.
    fn task<'a>(&'a self, task: &'a Task) -> BoxFuture<'a, Result<TaskState>>;

    /// Returns the existing event subscriptions.
    fn subscriptions(&self) -> BoxFuture<'_, Result<Vec<Subscribed>>>;

    /// Makes the controller send its events to a destination, and returns the identifier of the subscription.
    fn subscribe<'a>(&'a self, subscription: &'a Subscription) -> BoxFuture<'a, Result<String>>;

    /// Ends a subscription; does nothing if it does not exist.
    fn unsubscribe<'a>(&'a self, identifier: &'a str) -> BoxFuture<'a, Result<()>>;

    /// Ends the session at the controller, which supports only few of them. The client can still be used afterwards.
    fn close(&self) -> BoxFuture<'_, ()>;
}
