//! A simulated machine for plans: power, firmware, and an agent that carries out its instructions. The test controls the time.
#![allow(clippy::expect_used, reason = "a test ends where something is not as it must be")]
#![allow(dead_code, reason = "each test uses a part")]

use std::time::Duration;

use agent_protocol::{Action, Erase, State};
use bmc::TaskState;
use bmc::{BootDevice, Power};
use chrono::{DateTime, TimeZone as _, Utc};
use metal::control::{Command, Fault};
use metal::host::observed::{Agent, BootImage, Drive, Firmware, Means, Observed};
use metal::host::plan::{Plan, plan};
use schemas::metal3::{BareMetalHost, BareMetalHostSpec, BareMetalHostStatus, HardwareDetails, Image};

/// The time between power-on and the start of the agent.
const BOOT: Duration = Duration::from_secs(30);

/// A host, its machine, and the current time.
pub struct Fixture {
    pub host: BareMetalHost,
    pub now: DateTime<Utc>,
    pub means: Means,
    pub power: Power,
    pub boot: BootDevice,
    /// The URL of the image that was completely written to the disk.
    pub disk: Option<String>,
    /// The last erase method of the disks.
    pub erased: Option<Erase>,
    /// The agent, while it runs.
    pub agent: Option<Agent>,
    booted: Option<DateTime<Utc>>,
    /// The commands that were carried out.
    pub commands: Vec<Command>,
    /// The reasons of the events, in order.
    pub events: Vec<&'static str>,
    /// The states that were entered, in order.
    pub states: Vec<String>,
    /// The fault with which the BMC answers.
    pub fault: Option<Fault>,
    /// The agent's boot image, if it is not booted over the network.
    pub boot_image: BootImage,
    /// The wanted and the current content of the drive.
    pub drive: Option<Drive>,
    /// The wanted firmware changes.
    pub firmware: Firmware,
    /// A setting that the firmware never applies.
    pub stubborn: Option<&'static str>,
    /// The prefix of instruction identifiers that the agent fails, and how often.
    pub failing: Option<(&'static str, u32)>,
    /// Whether the machine never starts its agent.
    pub is_deaf: bool,
    /// Whether the BMC accepts power-on without effect.
    pub is_dead: bool,
    pub is_gone: bool,
}

impl Fixture {
    /// Returns a host with a BMC and an image.
    pub fn new() -> Self {
        let mut host = BareMetalHost {
            spec: BareMetalHostSpec {
                online: true,
                image: Some(image("http://images/a.raw")),
                ..BareMetalHostSpec::default()
            },
            ..BareMetalHost::default()
        };
        host.metadata.name = Some("host-0".into());
        host.metadata.namespace = Some("metal".into());
        host.metadata.uid = Some("11111111-2222-3333-4444-555555555555".into());
        host.spec.boot_mac_address = Some("52:54:00:00:00:01".into());
        let means = Means::Bmc {
            credentials: "bmc".into(),
            version: "1".into(),
            has_media: false,
            boots_media: false,
        };
        Self {
            host,
            now: Utc.with_ymd_and_hms(2026, 1, 1, 0, 0, 0).single().expect("a time"),
            means,
            power: Power::Off,
            boot: BootDevice::Disk,
            disk: None,
            erased: None,
            agent: None,
            booted: None,
            commands: Vec::new(),
            events: Vec::new(),
            states: Vec::new(),
            fault: None,
            boot_image: BootImage::default(),
            drive: None,
            firmware: Firmware::default(),
            stubborn: None,
            failing: None,
            is_deaf: false,
            is_dead: false,
            is_gone: false,
        }
    }

    pub fn status(&self) -> BareMetalHostStatus {
        self.host.status.clone().unwrap_or_default()
    }

    pub fn state(&self) -> String {
        self.status().provisioning.state
    }

    pub fn annotate(&mut self, key: &str, value: &str) {
        self.host.metadata.annotations.get_or_insert_default().insert(key.into(), value.into());
    }

    pub fn delete(&mut self) {
        self.host.metadata.deletion_timestamp = Some(engine::time::time(self.now));
    }

    /// Performs one reconcile; then the time passes until the next reconcile of the plan.
    pub fn step(&mut self) -> Plan {
        let observed = Observed {
            host: self.host.clone(),
            now: self.now,
            means: self.means.clone(),
            power: match &self.fault {
                Some(fault) => Err(fault.clone()),
                None => Ok(self.power),
            },
            agent: self.agent.clone(),
            hardware_data: None,
            drive: self.drive.clone(),
            firmware: self.firmware.clone(),
            is_full: false,
            data_problem: None,
            boot_image: self.boot_image.clone(),
        };
        let made = plan(&observed);
        for command in &made.commands {
            self.command(command);
        }
        if let Some(instruction) = &made.instruction {
            self.instruct(&instruction.id, &instruction.action);
        }
        if let (Some(drive), Some(image)) = (&mut self.drive, &made.data_image) {
            drive.image = image.clone();
        }
        if made.update.is_some() {
            self.firmware.task = Some(Ok(TaskState::Running { percent: None, message: "Running".into() }));
        }
        if let Some(installed) = &made.installed {
            self.firmware.updates.retain(|update| update != installed);
            self.firmware.task = None;
        }
        self.events.extend(made.events.iter().map(|(_, reason, _)| *reason));
        if made.host.status != self.host.status
            && let Some(status) = made.host.status.clone()
            && !status.provisioning.state.is_empty()
            && self.states.last() != Some(&status.provisioning.state)
        {
            self.states.push(status.provisioning.state);
        }
        let had = self.host.metadata.finalizers.is_some();
        self.host = made.host.clone();
        self.is_gone =
            had && self.host.metadata.finalizers.is_none() && self.host.metadata.deletion_timestamp.is_some();
        self.pass(made.after.unwrap_or(Duration::from_secs(1)).min(Duration::from_secs(3600)));
        made
    }

    /// Reconciles until `done` holds, at most 200 times.
    pub fn until(&mut self, done: impl Fn(&Self) -> bool) {
        for _ in 0..200 {
            if done(self) {
                return;
            }
            self.step();
        }
        panic!(
            "not within 200 reconciles; states {:?}, status {:#?}, agent {:?}",
            self.states,
            self.status(),
            self.agent
        );
    }

    /// Reconciles until the host is in `state` without an error.
    pub fn until_state(&mut self, state: &str) {
        self.until(|fixture| fixture.state() == state && fixture.status().error_type.is_none());
    }

    /// Lets time pass, and starts the agent when the machine has booted.
    pub fn pass(&mut self, time: Duration) {
        self.now += chrono::Duration::from_std(time).expect("a span of time");
        let boots =
            self.booted.is_some_and(|at| self.now - at >= chrono::Duration::from_std(BOOT).expect("a span"));
        if self.power == Power::On
            && boots
            && (self.boot == BootDevice::Network
                || (self.boot == BootDevice::VirtualMedia && self.means.boots_media()))
            && !self.is_deaf
            && self.agent.as_ref().is_none_or(|agent| agent.is_gone)
        {
            self.agent = Some(Agent { name: "52-54-00-00-00-01".into(), ..Agent::default() });
        }
    }

    fn command(&mut self, command: &Command) {
        self.commands.push(command.clone());
        match command {
            Command::PowerOn if self.power == Power::Off && !self.is_dead => {
                self.power = Power::On;
                self.booted = Some(self.now);
            }
            Command::HardOff | Command::SoftOff => {
                self.power = Power::Off;
                self.leave();
            }
            Command::Boot(boot) => self.boot = boot.clone(),
            Command::Reset => {
                self.leave();
                self.power = Power::On;
                self.booted = Some(self.now);
                self.firmware.settings.retain(|name, _| self.stubborn == Some(name.as_str()));
            }
            Command::Insert(url) => self.hold(Some(url.clone())),
            Command::Eject => self.hold(None),
            _ => {}
        }
    }

    fn hold(&mut self, image: Option<String>) {
        if let Some(drive) = &mut self.drive {
            drive.held = Ok(image);
        }
    }

    fn leave(&mut self) {
        if let Some(agent) = &mut self.agent {
            agent.is_gone = true;
        }
    }

    fn instruct(&mut self, id: &str, action: &Action) {
        let Some(agent) = &mut self.agent else { return };
        assert!(!agent.is_gone || *action == Action::Wait, "an agent that is not there is told nothing");
        agent.is_to_write = false;
        agent.id = id.to_owned();
        agent.since = Some(self.now);
        agent.state = Some(State::Done);
        agent.message = String::new();
        if let Some((prefix, count)) = &mut self.failing
            && *count > 0
            && id.starts_with(*prefix)
        {
            *count -= 1;
            agent.state = Some(State::Failed);
            agent.message = "it did not work".to_owned();
            return;
        }
        match action {
            Action::Wait => {}
            Action::Inspect => {
                agent.hardware =
                    Some(HardwareDetails { ram_mebibytes: Some(1024), ..HardwareDetails::default() })
            }
            Action::Clean { erase } => {
                self.disk = None;
                self.erased = Some(*erase);
                agent.message = "how it was done".to_owned();
            }
            Action::Deploy(deployment) => self.disk = Some(deployment.image.url.clone()),
            Action::Restart => self.leave(),
            Action::PowerOff => {
                self.power = Power::Off;
                self.leave();
            }
        }
    }
}

pub fn image(url: &str) -> Image {
    Image { url: url.into(), checksum: Some("00".into()), ..Image::default() }
}
