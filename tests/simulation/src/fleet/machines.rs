//! The simulated machines. They outlive every process.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use agent_protocol::{Instruction, State};
use bmc::{Bmc, Boot, BootDevice, Error, Persistence, Power, PowerAction};
use chrono::{DateTime, Utc};
use futures::FutureExt;
use futures::future::BoxFuture;
use machinery::random::Random;
use metal::control::{Connection, Control, Fault};
use parking_lot::Mutex;
use tokio::time::sleep;

/// The probability of each fault: a value of N means one in N, and 0 means never.
#[derive(Clone, Copy, Debug)]
pub struct Faults {
    /// A BMC request that gets no response, whether executed or not.
    pub bmc: u64,
    /// A machine that hangs before its agent starts.
    pub hang: u64,
    /// An instruction that fails.
    pub instruction: u64,
}

/// A simulated machine.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    /// Whether the power is on.
    pub is_on: bool,
    /// The boot device for the next start, and the one for all later starts.
    once: Option<BootDevice>,
    always: Option<BootDevice>,
    /// URL of the image on its disk.
    pub disk: Option<String>,
    /// The user data on its disk.
    pub user_data: Option<String>,
    /// Boot ID of the agent after it has enrolled.
    pub boot: Option<String>,
    /// When the agent will enrol.
    pub calls_at: Option<DateTime<Utc>>,
    /// How often it was switched on.
    pub starts: u64,
    /// Number of images that were written completely.
    pub written: usize,
    /// The current or last instruction of the agent.
    pub doing: Option<Doing>,
}

/// An instruction that an agent executes.
#[derive(Clone, Debug)]
pub struct Doing {
    /// The instruction.
    pub instruction: Instruction,
    /// When it began.
    pub since: DateTime<Utc>,
    /// Its progress.
    pub state: State,
}

/// All machines by their boot MAC addresses.
#[derive(Clone)]
pub struct Machines {
    inner: Arc<Mutex<BTreeMap<String, Machine>>>,
    random: Arc<Random>,
    faults: Faults,
    now: Arc<Mutex<DateTime<Utc>>>,
    heard: Arc<Mutex<Vec<(usize, String)>>>,
}

impl Machines {
    /// Without machines; a machine is created by the first access to it.
    pub fn new(seed: u64, faults: Faults) -> Self {
        let now = DateTime::from_timestamp(0, 0).unwrap_or_default();
        Self {
            inner: Arc::default(),
            random: Arc::new(Random::seeded(seed)),
            faults,
            now: Arc::new(Mutex::new(now)),
            heard: Arc::default(),
        }
    }

    /// Whether an event with a probability of one in `odds` happens.
    pub fn happens(&self, odds: u64) -> bool {
        odds > 0 && self.random.number().is_multiple_of(odds)
    }

    /// The probabilities of faults.
    pub fn faults(&self) -> Faults {
        self.faults
    }

    /// A random number below `below`.
    pub fn draw(&self, below: u64) -> u64 {
        self.random.number() % below.max(1)
    }

    /// The tokens that were sent to machines in clear text, with the number of the machine. An attacker on
    /// the network can read them.
    pub fn heard(&self) -> &Mutex<Vec<(usize, String)>> {
        &self.heard
    }

    /// Sets the current time.
    pub fn set_time(&self, now: DateTime<Utc>) {
        *self.now.lock() = now;
    }

    /// Reads or changes a machine.
    pub fn with<T>(&self, mac: &str, change: impl FnOnce(&mut Machine) -> T) -> T {
        change(self.inner.lock().entry(mac.to_owned()).or_default())
    }

    fn start(&self, mac: &str) {
        let hangs = self.happens(self.faults.hang);
        let seconds = 30 + self.draw(120);
        let now = *self.now.lock();
        self.with(mac, |machine| {
            if machine.is_on {
                return;
            }
            machine.is_on = true;
            machine.starts += 1;
            (machine.boot, machine.doing) = (None, None);
            let from = machine.once.take().or(machine.always.clone()).unwrap_or(BootDevice::Network);
            let comes = from == BootDevice::Network && !hangs;
            machine.calls_at =
                comes.then(|| now + chrono::Duration::seconds(i64::try_from(seconds).unwrap_or(60)));
        });
    }

    /// Switches the power off.
    pub fn stop(&self, mac: &str) {
        self.with(mac, |machine| {
            machine.is_on = false;
            (machine.boot, machine.doing) = (None, None);
            machine.calls_at = None;
        });
    }

    /// Restarts the machine from its boot device.
    pub fn restart(&self, mac: &str) {
        self.stop(mac);
        self.start(mac);
    }

    /// Boot ID of the current start.
    pub fn boot(&self, mac: &str) -> String {
        self.with(mac, |machine| format!("start-{}", machine.starts))
    }

    /// Ends the wait for the agent. `boot` is the boot ID if the agent enrolled.
    pub fn calls(&self, mac: &str, boot: Option<String>) {
        self.with(mac, |machine| (machine.boot, machine.calls_at) = (boot, None));
    }

    async fn answer(&self) -> bmc::Result<()> {
        sleep(Duration::from_millis(20 + self.draw(400))).await;
        if !self.happens(self.faults.bmc) {
            return Ok(());
        }
        sleep(Duration::from_secs(10)).await;
        Err(Error::TimedOut { call: "GET /redfish/v1/Systems/1".to_owned(), after: Duration::from_secs(10) })
    }
}

impl Control for Machines {
    fn bmc(&self, machine: &Connection) -> Result<Arc<dyn Bmc>, Fault> {
        let mac = machine.boot_mac_address.clone().unwrap_or_default();
        Ok(Arc::new(SimulatedBmc { machines: self.clone(), mac }))
    }

    fn wake<'a>(&'a self, mac: &'a str) -> BoxFuture<'a, Result<(), Fault>> {
        async move {
            self.start(mac);
            Ok(())
        }
        .boxed()
    }
}

/// The BMC of a simulated machine: it has power and boot device, and nothing else.
struct SimulatedBmc {
    machines: Machines,
    mac: String,
}

impl SimulatedBmc {
    /// Carries out a request. The answer may be lost whether or not it is carried out.
    async fn request(&self, change: impl FnOnce(&Machines, &str)) -> bmc::Result<()> {
        let answered = self.machines.answer().await;
        if answered.is_ok() || self.machines.happens(2) {
            change(&self.machines, &self.mac);
        }
        answered
    }
}

impl Bmc for SimulatedBmc {
    fn lacks(&self, what: &str) -> Error {
        let (what, reason) = (what.to_owned(), "it does power and nothing else".to_owned());
        Error::Unsupported { call: "this BMC".to_owned(), what, reason }
    }

    fn power(&self) -> BoxFuture<'_, bmc::Result<Power>> {
        async move {
            self.machines.answer().await?;
            let is_on = self.machines.with(&self.mac, |machine| machine.is_on);
            Ok(if is_on { Power::On } else { Power::Off })
        }
        .boxed()
    }

    fn set_power(&self, action: PowerAction) -> BoxFuture<'_, bmc::Result<()>> {
        let change = move |machines: &Machines, mac: &str| match action {
            PowerAction::On => machines.start(mac),
            PowerAction::HardOff | PowerAction::SoftOff => machines.stop(mac),
            PowerAction::Reset(_) => machines.restart(mac),
            PowerAction::Interrupt => {}
        };
        self.request(change).boxed()
    }

    fn boot(&self) -> BoxFuture<'_, bmc::Result<Option<Boot>>> {
        std::future::ready(Err(self.lacks("reading the boot device"))).boxed()
    }

    fn set_boot<'a>(&'a self, boot: &'a Boot) -> BoxFuture<'a, bmc::Result<Boot>> {
        async move {
            let device = boot.device.clone();
            let change = |machines: &Machines, mac: &str| {
                machines.with(mac, |machine| match boot.persistence {
                    Persistence::Always => machine.always = Some(device),
                    Persistence::Once => machine.once = Some(device),
                });
            };
            self.request(change).await?;
            Ok(boot.clone())
        }
        .boxed()
    }
}
