//! A Redfish test service with configurable faults.
//!
//! [`Service`] serves one [`Machine`] like sushy-tools and real BMCs: entity tags, allowed values, tasks, and
//! the peculiarities of Dell, HPE and Supermicro ([`Behaviour`]). [`Order`]s make it fail: at which request,
//! how, and how often. [`Service::serve`] works over any stream, [`Service::listen`] on a port, [`Wire`]
//! inside of a test.

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

/// A fault of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// A response with this status and an error in Redfish's format.
    Status(u16),
    /// A 503 response, with the seconds of its `Retry-After`.
    Busy(Option<u64>),
    /// No response, ever.
    Silent,
    /// A 200 response with an HTML page.
    Garbage,
    /// The connection ends without a response.
    Drop,
    /// A successful response without any effect.
    Ignore,
    /// The normal response with the value at a JSON pointer replaced.
    Lie(&'static str, Value),
}

/// A fault for certain requests.
#[derive(Debug, Clone)]
pub struct Order {
    /// The method, `GET`, `PATCH` and so on.
    pub method: &'static str,
    /// Suffix of the path.
    pub path: &'static str,
    /// How often the fault occurs; `usize::MAX` for always.
    pub times: usize,
    /// The fault.
    pub fault: Fault,
}

/// How a service differs from a plain one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Behaviour {
    /// The vendor whose extensions it has: `Dell`, `HPE` or `Supermicro`.
    pub vendor: Option<&'static str>,
    /// Whether basic authentication is disabled.
    pub sessions_only: bool,
    /// Whether writes are answered by 202 and a task.
    pub tasks: bool,
    /// Whether the allowed reset types are in an ActionInfo.
    pub action_info: bool,
    /// Whether virtual media is inserted by PATCH.
    pub media_by_patch: bool,
    /// Whether InsertMedia requires TransferProtocolType and TransferMethod.
    pub media_wants_transfer: bool,
    /// Whether `Once` is reported as `Continuous`, as in sushy-tools.
    pub once_is_continuous: bool,
    /// Whether `Continuous` is refused.
    pub no_continuous: bool,
    /// Whether entity tags are weak, while only strong ones are accepted in conditions.
    pub weak_tags: bool,
    /// Whether UEFI HTTP boot is not supported.
    pub no_http_boot: bool,
}

/// The state of the service.
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

/// The Redfish service.
pub struct Service {
    behaviour: Behaviour,
    machine: Arc<dyn Machine>,
    state: Mutex<State>,
}

impl Service {
    /// Creates a service for a machine, with the user `admin` and the password `correct horse`.
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

    /// Adds a fault.
    pub fn order(&self, order: Order) {
        self.state().orders.push(order);
    }

    /// Removes all faults.
    pub fn clear_orders(&self) {
        self.state().orders.clear();
    }

    /// Changes the password and ends all sessions.
    pub fn set_password(&self, password: &str) {
        let mut state = self.state();
        state.password = password.to_owned();
        state.sessions.clear();
    }

    /// Returns the requests since the last call, each as `GET /redfish/v1`.
    pub fn take_requests(&self) -> Vec<String> {
        std::mem::take(&mut self.state().requests)
    }

    /// Returns the URL of the inserted image.
    pub fn media(&self) -> Option<String> {
        self.state().media.clone()
    }

    /// Returns the number of open sessions.
    pub fn sessions(&self) -> usize {
        self.state().sessions.len()
    }

    /// Returns the firmware settings that take effect at the next start.
    pub fn pending(&self) -> Value {
        self.state().pending.clone()
    }

    /// Returns the fault for a request, if any.
    fn fault(&self, method: &str, path: &str) -> Option<Fault> {
        let mut state = self.state();
        let fits = |order: &Order| order.times > 0 && order.method == method && path.ends_with(order.path);
        let order = state.orders.iter_mut().find(|order| fits(order))?;
        order.times = order.times.saturating_sub(usize::from(order.times != usize::MAX));
        Some(order.fault.clone())
    }

    /// Returns the boot settings for a start now, and resets one-time settings.
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
