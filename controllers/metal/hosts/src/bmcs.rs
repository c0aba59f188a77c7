//! [`Control`] by real BMCs.

use std::collections::BTreeMap;
use std::sync::Arc;

use bmc::{
    Bmc, BootDevice, BootMode, Credentials, Dependencies, Error, Persistence, PowerAction, Privilege, Reset,
    Setting, Target, Verification,
};
use engine::Manager;
use futures::FutureExt;
use futures::future::BoxFuture;
use metrics::Limits;
use schemas::bmc_address::{BmcAddress, PrivilegeLevel, Scheme};

use crate::clients::{Clients, Closing};
use crate::control::{Boot, Capabilities, Command, Connection, Control, Fault, Power};

/// The machines behind real BMCs. Clients are cached, because they hold sessions and data about their service.
pub struct Bmcs {
    dependencies: Dependencies,
    /// The network interfaces through which magic packets are sent.
    interfaces: Vec<String>,
    clients: Clients<Login, Client>,
}

/// What a client is made of.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Login {
    address: String,
    username: String,
    password: String,
    is_unverified: bool,
}

/// A client, and the scheme of its address, which decides how the machine boots.
#[derive(Clone)]
struct Client {
    bmc: Arc<dyn Bmc>,
    scheme: Scheme,
}

impl Closing for Client {
    fn close(&self) -> BoxFuture<'_, ()> {
        self.bmc.close()
    }
}

impl Bmcs {
    /// Creates clients over `dependencies`, which counts in `reached` and closes sessions when they are not used and when `manager` ends; magic packets
    /// are sent through `interfaces`.
    pub fn start(manager: &Manager, dependencies: Dependencies, interfaces: Vec<String>) -> Arc<Self> {
        let clients = Clients::new(Limits::of(manager.all_metrics()));
        let bmcs = Arc::new(Self { dependencies, interfaces, clients });
        let (idle, ended) = (bmcs.clone(), bmcs.clone());
        manager.spawn(async move { idle.clients.close_idle().await });
        manager.at_end(async move { ended.clients.close_all().await });
        bmcs
    }

    fn client(&self, machine: &Connection) -> Result<Client, Fault> {
        let login = Login {
            address: machine.address.clone(),
            username: machine.username.clone(),
            password: machine.password.clone(),
            is_unverified: machine.is_unverified,
        };
        if let Some(known) = self.clients.get(&login) {
            return Ok(known);
        }
        let address = BmcAddress::parse(&machine.address).map_err(|error| Fault {
            message: format!("spec.bmc.address {:?}: {error}", machine.address),
            is_refused: false,
        })?;
        let credentials = Credentials::new(machine.username.clone(), machine.password.clone());
        let verification = if machine.is_unverified { Verification::Off } else { Verification::Machine };
        let bmc = bmc::connect(target(&address), credentials, verification, self.dependencies.clone())?;
        let made = Client { bmc, scheme: address.scheme };
        self.clients.add(login, made.clone());
        Ok(made)
    }
}

fn target(address: &BmcAddress) -> Target {
    let base = if address.scheme.is_redfish() {
        Target::redfish(address.host.clone())
    } else {
        Target::ipmi(address.host.clone())
    };
    let privilege = match address.privilege_level {
        PrivilegeLevel::Callback => Privilege::Callback,
        PrivilegeLevel::User => Privilege::User,
        PrivilegeLevel::Operator => Privilege::Operator,
        PrivilegeLevel::Administrator => Privilege::Administrator,
    };
    Target {
        port: address.port,
        tls: address.tls,
        path: address.system.clone().unwrap_or_default(),
        privilege,
        ..base
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self { is_refused: error.is_unauthorized(), message: error.to_string() }
    }
}

/// Changes firmware settings. The objects hold texts, so each value is converted to the setting's current type.
async fn set(client: &dyn Bmc, wanted: &BTreeMap<String, String>) -> bmc::Result<()> {
    let current = client.settings().await?.current;
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
    client.set_settings(&settings).await
}

/// Returns the boot device selection for the BMC.
fn override_of(boot: Boot, machine: &Connection, scheme: Scheme) -> bmc::Boot {
    let is_http = scheme == Scheme::RedfishUefiHttp;
    let (device, persistence) = match boot {
        Boot::Network if is_http => (BootDevice::UefiHttp { url: None }, Persistence::Once),
        Boot::Network => (BootDevice::Network, Persistence::Once),
        Boot::Disk => (BootDevice::Disk, Persistence::Always),
        Boot::Media => (BootDevice::VirtualMedia, Persistence::Once),
    };
    let mode = if machine.boot_mode == "legacy" { BootMode::Legacy } else { BootMode::Uefi };
    bmc::Boot { device, persistence, mode: Some(mode) }
}

impl Control for Bmcs {
    fn capabilities(&self, address: &str) -> Result<Capabilities, String> {
        let parsed =
            BmcAddress::parse(address).map_err(|error| format!("spec.bmc.address {address:?}: {error}"))?;
        Ok(Capabilities {
            has_media: parsed.scheme.supports_iso_images(),
            boots_media: parsed.scheme.boots_virtual_media(),
        })
    }

    fn power<'a>(&'a self, machine: &'a Connection) -> BoxFuture<'a, Result<Power, Fault>> {
        async move {
            let power = self.client(machine)?.bmc.power().await.map_err(Fault::from)?;
            Ok(match power {
                bmc::Power::On => Power::On,
                bmc::Power::Off => Power::Off,
                bmc::Power::Unknown => Power::Unknown,
            })
        }
        .boxed()
    }

    fn command<'a>(
        &'a self,
        machine: &'a Connection,
        command: &'a Command,
    ) -> BoxFuture<'a, Result<(), Fault>> {
        async move {
            let Client { bmc: client, scheme } = self.client(machine)?;
            let done = match command {
                Command::PowerOn => client.set_power(PowerAction::On).await,
                Command::HardOff => client.set_power(PowerAction::HardOff).await,
                Command::SoftOff => match client.set_power(PowerAction::SoftOff).await {
                    // A BMC that cannot ask the operating system to shut down cuts the power instead.
                    Err(error) if error.is_unsupported() => client.set_power(PowerAction::HardOff).await,
                    done => done,
                },
                Command::Boot(boot) => client.set_boot(&override_of(*boot, machine, scheme)).await.map(drop),
                Command::Insert(url) => client.insert_media(url).await,
                Command::Eject => client.eject_media().await,
                Command::Set(settings) => set(client.as_ref(), settings).await,
                Command::Reset => client.set_power(PowerAction::Reset(Reset::Hard)).await,
            };
            done.map_err(Fault::from)
        }
        .boxed()
    }

    fn bmc(&self, machine: &Connection) -> Result<Arc<dyn Bmc>, Fault> {
        self.client(machine).map(|client| client.bmc)
    }

    fn wake<'a>(&'a self, mac: &'a str) -> BoxFuture<'a, Result<(), Fault>> {
        async move {
            if self.interfaces.is_empty() {
                let message = "a machine is woken over a network that is served: name its interface with --netboot-interface";
                return Err(Fault { message: message.to_owned(), is_refused: false });
            }
            for interface in &self.interfaces {
                bmc::wake::wake(self.dependencies.network.as_ref(), interface, mac).await.map_err(Fault::from)?;
            }
            Ok(())
        }
        .boxed()
    }
}
