//! The interface to machines: power, boot device, virtual media and firmware.

use std::collections::BTreeMap;
use std::sync::Arc;

use bmc::{Bmc, BmcAddress, Boot, BootDevice, BootMode, Error, Persistence, PowerAction, Reset, Setting};
use futures::future::BoxFuture;
use schemas::bmc_address::Capability;

/// A command for a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Switch the machine on.
    PowerOn,
    /// Ask the operating system to shut down.
    SoftOff,
    /// Cut the power.
    HardOff,
    /// Select the boot device: the disk for every start, others for the next one only.
    Boot(BootDevice),
    /// Insert the image at this URL as a CD.
    Insert(String),
    /// Eject the CD.
    Eject,
    /// Change firmware settings for the machine's next start.
    Set(BTreeMap<String, String>),
    /// Restart the machine at once; start it if it is off.
    Reset,
}

/// The connection data of a machine's BMC.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Connection {
    /// `spec.bmc.address`.
    pub address: BmcAddress,
    /// The user name at the BMC.
    pub username: String,
    /// The password of that user.
    pub password: String,
    /// Whether the BMC's certificate is not verified.
    pub is_unverified: bool,
    /// `spec.bootMode`, which applies to boot device selections.
    pub boot_mode: BootMode,
    /// `spec.bootMACAddress`.
    pub boot_mac_address: Option<String>,
}

/// The failure of an operation on a machine: the message names the call, the error, and how to fix it. It never contains a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The message for the host's status.
    pub message: String,
    /// Whether the BMC refused user and password.
    pub is_refused: bool,
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self { is_refused: error.is_unauthorized(), message: error.to_string() }
    }
}

/// What leads to machines.
pub trait Control: Send + Sync + 'static {
    /// Returns the machine's BMC.
    fn bmc(&self, machine: &Connection) -> Result<Arc<dyn Bmc>, Fault>;

    /// Wakes the machine with this MAC address by Wake-on-LAN.
    fn wake<'a>(&'a self, mac: &'a str) -> BoxFuture<'a, Result<(), Fault>>;
}

/// Carries out a command at the machine's BMC. Commands are idempotent.
pub(crate) async fn carry_out(bmc: &dyn Bmc, machine: &Connection, command: &Command) -> Result<(), Fault> {
    let done = match command {
        Command::PowerOn => bmc.set_power(PowerAction::On).await,
        Command::HardOff => bmc.set_power(PowerAction::HardOff).await,
        Command::SoftOff => match bmc.set_power(PowerAction::SoftOff).await {
            // A BMC that cannot ask the operating system to shut down cuts the power instead.
            Err(error) if error.is_unsupported() => bmc.set_power(PowerAction::HardOff).await,
            done => done,
        },
        Command::Boot(device) => bmc.set_boot(&selection(device, machine)).await.map(drop),
        Command::Insert(url) => bmc.insert_media(url).await,
        Command::Eject => bmc.eject_media().await,
        Command::Set(settings) => set(bmc, settings).await,
        Command::Reset => bmc.set_power(PowerAction::Reset(Reset::Hard)).await,
    };
    done.map_err(Fault::from)
}

/// Changes firmware settings. The objects hold texts, so each value is converted to the setting's current type.
async fn set(bmc: &dyn Bmc, wanted: &BTreeMap<String, String>) -> bmc::Result<()> {
    let current = bmc.settings().await?.current;
    let typed = |name: &String, text: &String| match current.get(name) {
        Some(Setting::Number(_)) => text.parse().map(Setting::Number).ok(),
        Some(Setting::Switch(_)) => text.to_lowercase().parse().map(Setting::Switch).ok(),
        _ => Some(Setting::Text(text.clone())),
    };
    let mut settings = BTreeMap::new();
    for (name, text) in wanted {
        let setting = typed(name, text).ok_or_else(|| {
            Error::Input(format!("the setting {name} of the firmware can't be {text:?}: it has another type"))
        })?;
        settings.insert(name.clone(), setting);
    }
    bmc.set_settings(&settings).await
}

/// Returns the boot device selection for the BMC.
fn selection(device: &BootDevice, machine: &Connection) -> Boot {
    let persistence = if *device == BootDevice::Disk { Persistence::Always } else { Persistence::Once };
    let device = match device {
        BootDevice::Network if machine.address.scheme.can(Capability::BootUrl) => {
            BootDevice::UefiHttp { url: None }
        }
        device => device.clone(),
    };
    Boot { device, persistence, mode: Some(machine.boot_mode) }
}
