//! A Redfish service that can be told to go wrong.
//!
//! [`Service`] answers for one [`Machine`], as sushy-tools and services of machines do: tags, offered values, tasks, and what is
//! particular about Dell, HPE and Supermicro ([`Behaviour`]). [`Order`]s make it fail: at which request, how, and how often.
//! [`Service::serve`] speaks over any stream, [`Service::listen`] at a port, [`Wire`] inside of a test.

#![allow(clippy::unwrap_used, reason = "a part of tests, which may panic")]

mod answers;
mod machine;
mod resources;
mod serve;
mod wire;
mod writes;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

pub use machine::{InMemory, Machine, Start};
pub use serve::Identity;
pub use wire::Wire;

/// What goes wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// This status, with an error in Redfish's form.
    Status(u16),
    /// 503, with the seconds of its `Retry-After`.
    Busy(Option<u64>),
    /// No answer, ever.
    Silent,
    /// 200 and a page of HTML.
    Garbage,
    /// The connection ends without an answer.
    Drop,
    /// Says that it was done, and does not do it.
    Ignore,
    /// The answer, with this at a pointer in place of what is true.
    Lie(&'static str, Value),
}

/// A fault that is to happen.
#[derive(Debug, Clone)]
pub struct Order {
    /// `GET`, `PATCH` …
    pub method: &'static str,
    /// How the path ends.
    pub path: &'static str,
    /// How often; `usize::MAX` for always.
    pub times: usize,
    /// What happens.
    pub fault: Fault,
}

/// How a service differs from a plain one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Behaviour {
    /// `Dell`, `HPE`, `Supermicro`: with their extensions.
    pub vendor: Option<&'static str>,
    /// Basic authentication is switched off.
    pub sessions_only: bool,
    /// Writes are answered by 202 and a task.
    pub tasks: bool,
    /// The offered reset types are in an ActionInfo.
    pub action_info: bool,
    /// Virtual media is inserted by PATCH.
    pub media_by_patch: bool,
    /// InsertMedia wants TransferProtocolType and TransferMethod.
    pub media_wants_transfer: bool,
    /// `Once` is shown as `Continuous`, as sushy-tools does.
    pub once_is_continuous: bool,
    /// `Continuous` is refused.
    pub no_continuous: bool,
    /// Tags are weak, and only strong ones are taken back.
    pub weak_tags: bool,
    /// There is no UEFI HTTP boot.
    pub no_http_boot: bool,
}

/// What the service holds.
struct State {
    user: String,
    password: String,
    boot: BTreeMap<&'static str, Value>,
    secure_boot: bool,
    media: Option<String>,
    media_boots: bool,
    attributes: Value,
    dell: Value,
    pending: Value,
    subscriptions: BTreeMap<String, Value>,
    sessions: Vec<String>,
    looks_at_task: u32,
    version: u64,
    orders: Vec<Order>,
    requests: Vec<String>,
}

/// The service.
pub struct Service {
    behaviour: Behaviour,
    machine: Arc<dyn Machine>,
    state: Mutex<State>,
}

impl Service {
    /// A service for a machine, with a user `admin` and the password `correct horse`.
    pub fn new(machine: Arc<dyn Machine>, behaviour: Behaviour) -> Arc<Self> {
        let state = State {
            user: "admin".to_owned(),
            password: "correct horse".to_owned(),
            boot: BTreeMap::from([
                ("BootSourceOverrideTarget", json!("None")),
                ("BootSourceOverrideEnabled", json!("Disabled")),
                ("BootSourceOverrideMode", json!("UEFI")),
                ("HttpBootUri", Value::Null),
            ]),
            secure_boot: false,
            media: None,
            media_boots: false,
            attributes: json!({"BootMode": "Uefi", "ProcVirtualization": "Enabled", "Cores": 8, "Quiet": false}),
            dell: json!({"ServerBoot.1.FirstBootDevice": "Normal", "ServerBoot.1.BootOnce": "Disabled"}),
            pending: json!({}),
            subscriptions: BTreeMap::new(),
            sessions: Vec::new(),
            looks_at_task: 0,
            version: 1,
            orders: Vec::new(),
            requests: Vec::new(),
        };
        Arc::new(Self { behaviour, machine, state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has something go wrong.
    pub fn order(&self, order: Order) {
        self.state().orders.push(order);
    }

    /// Nothing goes wrong any more.
    pub fn clear_orders(&self) {
        self.state().orders.clear();
    }

    /// From now on the password is another one; sessions end.
    pub fn set_password(&self, password: &str) {
        let mut state = self.state();
        state.password = password.to_owned();
        state.sessions.clear();
    }

    /// What was asked for, since the last time: `GET /redfish/v1`.
    pub fn take_requests(&self) -> Vec<String> {
        std::mem::take(&mut self.state().requests)
    }

    /// The image that is inserted.
    pub fn media(&self) -> Option<String> {
        self.state().media.clone()
    }

    /// How many sessions there are.
    pub fn sessions(&self) -> usize {
        self.state().sessions.len()
    }

    /// The settings of the firmware that the next start brings.
    pub fn pending(&self) -> Value {
        self.state().pending.clone()
    }

    /// The fault that was ordered for a request.
    fn fault(&self, method: &str, path: &str) -> Option<Fault> {
        let mut state = self.state();
        let fits = |order: &Order| order.times > 0 && order.method == method && path.ends_with(order.path);
        let order = state.orders.iter_mut().find(|order| fits(order))?;
        order.times = order.times.saturating_sub(usize::from(order.times != usize::MAX));
        Some(order.fault.clone())
    }

    /// How the machine starts now. What holds for one start is over with it.
    fn start(&self) -> Start {
        let mut state = self.state();
        let text = |state: &State, name: &str| state.boot[name].as_str().unwrap_or_default().to_owned();
        let enabled = text(&state, "BootSourceOverrideEnabled");
        let mut target = match enabled.as_str() {
            "Disabled" => "None".to_owned(),
            _ => text(&state, "BootSourceOverrideTarget"),
        };
        if state.media_boots || state.dell["ServerBoot.1.FirstBootDevice"] == "VCD-DVD" {
            target = "Cd".to_owned();
        }
        let start = Start {
            target: if target == "UsbCd" { "Cd".to_owned() } else { target },
            http_uri: state.boot["HttpBootUri"].as_str().map(str::to_owned),
            uefi: state.boot["BootSourceOverrideMode"] == "UEFI",
            secure_boot: state.secure_boot,
            media: state.media.clone(),
        };
        state.media_boots = false;
        if state.dell["ServerBoot.1.BootOnce"] == "Enabled" {
            state.dell["ServerBoot.1.FirstBootDevice"] = json!("Normal");
        }
        if enabled == "Once" {
            state.boot.insert("BootSourceOverrideEnabled", json!("Disabled"));
            state.boot.insert("BootSourceOverrideTarget", json!("None"));
        }
        if let (Some(pending), Some(_)) = (state.pending.as_object().cloned(), state.attributes.as_object()) {
            for (name, value) in pending {
                state.attributes[name] = value;
            }
            state.pending = json!({});
        }
        state.version += 1;
        start
    }
}
