//! The simulated machines. They outlive every process.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use agent_protocol::{Instruction, State};
use bmc::Bmc;
use chrono::{DateTime, Utc};
use futures::FutureExt;
use futures::future::BoxFuture;
use machinery::random::Random;
use metal::control::{Boot, Capabilities, Command, Connection, Control, Fault, Power};
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
    once: Option<Boot>,
    always: Option<Boot>,
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
            let from = machine.once.take().or(machine.always).unwrap_or(Boot::Network);
            let comes = from == Boot::Network && !hangs;
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

    async fn answer(&self) -> Result<(), Fault> {
        sleep(Duration::from_millis(20 + self.draw(400))).await;
        if !self.happens(self.faults.bmc) {
            return Ok(());
        }
        sleep(Duration::from_secs(10)).await;
        Err(Fault {
            message: "GET /redfish/v1/Systems/1: no answer within 10 s".to_owned(),
            is_refused: false,
        })
    }
}

fn mac(machine: &Connection) -> String {
    machine.boot_mac_address.clone().unwrap_or_default()
}

impl Control for Machines {
    fn capabilities(&self, _: &str) -> Result<Capabilities, String> {
        Ok(Capabilities::default())
    }

    fn power<'a>(&'a self, machine: &'a Connection) -> BoxFuture<'a, Result<Power, Fault>> {
        async move {
            self.answer().await?;
            Ok(if self.with(&mac(machine), |machine| machine.is_on) { Power::On } else { Power::Off })
        }
        .boxed()
    }

    fn command<'a>(
        &'a self,
        machine: &'a Connection,
        command: &'a Command,
    ) -> BoxFuture<'a, Result<(), Fault>> {
        async move {
            let mac = mac(machine);
            // The response may be lost whether or not the command is executed.
            let answered = self.answer().await;
            if answered.is_ok() || self.happens(2) {
                match command {
                    Command::PowerOn => self.start(&mac),
                    Command::HardOff | Command::SoftOff => self.stop(&mac),
                    Command::Boot(Boot::Disk) => self.with(&mac, |machine| machine.always = Some(Boot::Disk)),
                    Command::Boot(boot) => self.with(&mac, |machine| machine.once = Some(*boot)),
                    Command::Reset => self.restart(&mac),
                    Command::Insert(_) | Command::Eject | Command::Set(_) => {}
                }
            }
            answered
        }
        .boxed()
    }

    fn bmc(&self, _: &Connection) -> Result<Arc<dyn Bmc>, Fault> {
        Err(Fault { message: "this BMC does power and nothing else".to_owned(), is_refused: false })
    }

    fn wake<'a>(&'a self, mac: &'a str) -> BoxFuture<'a, Result<(), Fault>> {
        async move {
            self.start(mac);
            Ok(())
        }
        .boxed()
    }
}
