//! What every controller can be asked.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::BoxFuture;

use crate::{
    Boot, Error, FirmwareComponent, Identity, Power, PowerAction, Result, Setting, Settings, Subscribed,
    Subscription, Task, TaskState, limits,
};

/// A baseboard management controller. What it cannot do is [`Error::Unsupported`].
pub trait Bmc: Send + Sync {
    /// Whether the machine runs.
    fn power(&self) -> BoxFuture<'_, Result<Power>>;

    /// Does something with the machine's power; done when the controller has taken it on, which is before the machine is there
    /// ([`wait_for_power`]). Nothing is sent when the machine already is where the action leads, but for resets and interrupts.
    fn set_power(&self, action: PowerAction) -> BoxFuture<'_, Result<()>>;

    /// The boot device that is chosen; `None` when there is none, or one that [`crate::BootDevice`] does not know.
    fn boot(&self) -> BoxFuture<'_, Result<Option<Boot>>>;

    /// Chooses the boot device, and reads it back: the answer is what is stored. Its persistence may differ, since there are
    /// controllers that know no persistent boot device and others that know nothing else.
    ///
    /// # Errors
    /// [`Error::NotStored`] when another device or mode is read back.
    fn set_boot<'a>(&'a self, boot: &'a Boot) -> BoxFuture<'a, Result<Boot>>;

    /// Inserts the image at `url` as a CD, in place of one that is inserted. With [`crate::BootDevice::VirtualMedia`] the machine
    /// starts from it.
    fn insert_media<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<()>>;

    /// Ejects the CD; nothing happens when there is none.
    fn eject_media(&self) -> BoxFuture<'_, Result<()>>;

    /// The address of the image that is inserted as a CD. Some controllers do not tell all of it.
    fn media(&self) -> BoxFuture<'_, Result<Option<String>>>;

    /// What the controller knows about its machine.
    fn identity(&self) -> BoxFuture<'_, Result<Identity>>;

    /// Whether Secure Boot is set to be on.
    fn secure_boot(&self) -> BoxFuture<'_, Result<bool>>;

    /// Sets Secure Boot for the next start.
    fn set_secure_boot(&self, on: bool) -> BoxFuture<'_, Result<()>>;

    /// The firmware's settings.
    fn settings(&self) -> BoxFuture<'_, Result<Settings>>;

    /// Changes settings of the firmware for the next start.
    fn set_settings<'a>(&'a self, settings: &'a BTreeMap<String, Setting>) -> BoxFuture<'a, Result<()>>;

    /// The versions that are installed.
    fn firmware(&self) -> BoxFuture<'_, Result<Vec<FirmwareComponent>>>;

    /// Installs the firmware at `url` into a component that [`Self::firmware`] names. The task tells how it goes on.
    fn update_firmware<'a>(&'a self, component: &'a str, url: &'a str) -> BoxFuture<'a, Result<Task>>;

    /// How a task is getting on.
    fn task<'a>(&'a self, task: &'a Task) -> BoxFuture<'a, Result<TaskState>>;

    /// Where the controller's events are sent already.
    fn subscriptions(&self) -> BoxFuture<'_, Result<Vec<Subscribed>>>;

    /// Has the controller's events sent somewhere; the answer identifies the subscription.
    fn subscribe<'a>(&'a self, subscription: &'a Subscription) -> BoxFuture<'a, Result<String>>;

    /// Ends a subscription; nothing happens when it does not exist any more.
    fn unsubscribe<'a>(&'a self, identifier: &'a str) -> BoxFuture<'a, Result<()>>;

    /// Ends the session at the controller, which has few of them. The client may be used again.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// Waits until the controller says that the machine has this power.
///
/// # Errors
/// [`Error::Power`] after `within`; those of [`Bmc::power`] when the last look failed.
pub async fn wait_for_power(bmc: &dyn Bmc, wanted: Power, within: Duration) -> Result<()> {
    let mut last = Ok(Power::Unknown);
    let looking = async {
        loop {
            last = bmc.power().await;
            if last == Ok(wanted) {
                return;
            }
            tokio::time::sleep(limits::POWER_INTERVAL).await;
        }
    };
    if tokio::time::timeout(within, looking).await.is_ok() {
        return Ok(());
    }
    let found = last?;
    Err(Error::Power {
        call: "waiting for power".to_owned(),
        wanted: wanted.to_string(),
        found: found.to_string(),
        after: within,
    })
}
