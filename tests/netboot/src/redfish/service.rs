//! The service and its state.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use super::machine::{Machine, Start};
use super::orders::{Behaviour, Fault, Order};

/// The state of the service.
pub(super) struct State {
    pub(super) user: String,
    pub(super) password: String,
    pub(super) boot: BTreeMap<&'static str, Value>,
    pub(super) secure_boot: bool,
    pub(super) media: Option<String>,
    pub(super) media_boots: bool,
    pub(super) attributes: Value,
    pub(super) dell: Value,
    pub(super) pending: Value,
    pub(super) subscriptions: BTreeMap<String, Value>,
    pub(super) sessions: Vec<String>,
    pub(super) looks_at_task: u32,
    pub(super) version: u64,
    pub(super) orders: Vec<Order>,
    pub(super) requests: Vec<String>,
}

/// The Redfish service.
pub struct Service {
    pub(super) behaviour: Behaviour,
    pub(super) machine: Arc<dyn Machine>,
    pub(super) state: Mutex<State>,
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

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
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
    pub(super) fn fault(&self, method: &str, path: &str) -> Option<Fault> {
        let mut state = self.state();
        let fits = |order: &Order| order.times > 0 && order.method == method && path.ends_with(order.path);
        let order = state.orders.iter_mut().find(|order| fits(order))?;
        order.times = order.times.saturating_sub(usize::from(order.times != usize::MAX));
        Some(order.fault.clone())
    }

    /// Returns the boot settings for a start now, and resets one-time settings.
    pub(super) fn start(&self) -> Start {
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
