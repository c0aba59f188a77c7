//! The machines themselves. They outlive every process.

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

/// How often things go wrong, each as one in so many; 0 for never.
#[derive(Clone, Copy, Debug)]
pub struct Faults {
    /// A call of the BMC ends without an answer, done or not.
    pub bmc: u64,
    /// A machine hangs on its way to the agent.
    pub hang: u64,
    /// An instruction fails.
    pub instruction: u64,
}

/// A machine.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    /// Whether it runs.
    pub is_on: bool,
    /// Where it starts from: once, then for good.
    once: Option<Boot>,
    always: Option<Boot>,
    /// What is on its disk.
    pub disk: Option<String>,
    /// The agent's start, once it has called.
    pub boot: Option<String>,
    /// When the agent will call.
    pub calls_at: Option<DateTime<Utc>>,
    starts: u64,
    /// How often an image was written to its end.
    pub written: usize,
    /// What its agent does, or did last.
    pub doing: Option<Doing>,
}

/// An instruction that an agent carries out.
#[derive(Clone, Debug)]
pub struct Doing {
    /// Which.
    pub instruction: Instruction,
    /// Since when.
    pub since: DateTime<Utc>,
    /// How it fares.
    pub state: State,
}

/// All machines, by the address of their BMC.
#[derive(Clone)]
pub struct Machines {
    inner: Arc<Mutex<BTreeMap<String, Machine>>>,
    random: Arc<Random>,
    faults: Faults,
    now: Arc<Mutex<DateTime<Utc>>>,
    heard: Arc<Mutex<Vec<(usize, String)>>>,
}

impl Machines {
    /// None yet; they appear when they are first asked.
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

    /// Whether something that happens once in `odds` times happens now.
    pub fn happens(&self, odds: u64) -> bool {
        odds > 0 && self.random.number().is_multiple_of(odds)
    }

    /// The odds.
    pub fn faults(&self) -> Faults {
        self.faults
    }

    /// Draws a number below `below`.
    pub fn draw(&self, below: u64) -> u64 {
        self.random.number() % below.max(1)
    }

    /// The tokens that machines were told in clear, by machine: somebody on the wire hears them.
    pub fn heard(&self) -> &Mutex<Vec<(usize, String)>> {
        &self.heard
    }

    /// Time goes on.
    pub fn set_time(&self, now: DateTime<Utc>) {
        *self.now.lock() = now;
    }

    /// Changes or reads a machine.
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

    /// The power is cut.
    pub fn stop(&self, mac: &str) {
        self.with(mac, |machine| {
            machine.is_on = false;
            (machine.boot, machine.doing) = (None, None);
            machine.calls_at = None;
        });
    }

    /// The system ends and starts from what the firmware has.
    pub fn restart(&self, mac: &str) {
        self.stop(mac);
        self.start(mac);
    }

    /// The name of the machine's start.
    pub fn boot(&self, mac: &str) -> String {
        self.with(mac, |machine| format!("start-{}", machine.starts))
    }

    /// The agent was let in, or is asked for: its start's name, once it is.
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
            // Done or not, the answer may be lost.
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
