//! Controller of HostFirmwareComponents: reports the installed versions, and whether the wanted updates can be installed.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::conditions::{self, FALSE, TRUE, UNKNOWN};
use engine::events::Recorder;
use engine::{Action, Controller, Manager, Objects, Reconciler, Request, Result};
use machinery::clock::rfc3339;
use schemas::metal3::{FirmwareComponentStatus, HostFirmwareComponents};

use super::comparison::{CHANGE_DETECTED, UNREADABLE, VALID, new_objection, next_look};
use crate::connection::{Beside, Hosts};
use crate::control::Control;
use crate::limits;

/// The reason of a condition without a problem.
const OK: &str = "OK";
/// The reason if an update cannot be installed.
const INVALID: &str = "InvalidComponent";

/// Starts the controller.
pub(super) fn start(manager: &Manager, control: Arc<dyn Control>) {
    let hosts = Hosts { hosts: manager.objects(), secrets: manager.objects(), control };
    let reconciler = ComponentsReconciler {
        components: manager.objects(),
        hosts,
        recorder: manager.recorder("metal3-hostfirmwarecomponents-controller"),
        manager: manager.clone(),
    };
    Controller::new(manager, "hostfirmwarecomponents")
        .time_limit(limits::RECONCILE)
        .reconciles(&reconciler.components.clone())
        .without_resync()
        .reads(&reconciler.hosts.hosts.clone())
        .reads(&reconciler.hosts.secrets.clone())
        .start(reconciler);
}

struct ComponentsReconciler {
    components: Objects<HostFirmwareComponents>,
    hosts: Hosts,
    recorder: Recorder,
    manager: Manager,
}

/// The installed versions.
pub type Found = super::comparison::Found<Vec<bmc::FirmwareComponent>>;

/// Returns a message for each update that cannot be installed.
fn objections(object: &HostFirmwareComponents) -> Vec<String> {
    let mut found = Vec::new();
    for update in &object.spec.updates {
        let component = &update.component;
        if component != "bios" && component != "bmc" && !component.starts_with("nic:") {
            found.push(format!(
                "component {component:?} is not known: use bios, bmc, or nic: and the name of a network card"
            ));
        }
        if update.url.is_empty() {
            found.push(format!("the update of {component} has no url"));
        }
    }
    found
}

/// Returns the object with the status that follows from the installed versions.
pub fn compared(
    object: &HostFirmwareComponents,
    found: &Found,
    now: DateTime<Utc>,
) -> HostFirmwareComponents {
    let mut wanted = object.clone();
    let status = object.status.clone().unwrap_or_default();
    let is_changed = object.spec.updates.iter().any(|update| !status.updates.contains(update));
    let mut objections = objections(object);
    match found {
        Found::Unsupported(problem) if is_changed => objections.push(problem.clone()),
        Found::Known(versions) => {
            let known = |name: &str| status.components.iter().find(|known| known.component == name).cloned();
            let updated = |name: &str| status.updates.iter().any(|update| update.component == name);
            let entry = |version: &bmc::FirmwareComponent| {
                let was = known(&version.component);
                let current = Some(version.version.clone());
                let is_flashed = was.as_ref().is_some_and(|was| was.current_version != current)
                    && updated(&version.component);
                let mut entry = was.unwrap_or_else(|| FirmwareComponentStatus {
                    component: version.component.clone(),
                    initial_version: version.version.clone(),
                    ..FirmwareComponentStatus::default()
                });
                if is_flashed {
                    entry.last_version_flashed.clone_from(&current);
                    entry.updated_at = Some(rfc3339(now));
                }
                entry.current_version = current;
                entry
            };
            wanted.status.get_or_insert_default().components = versions.iter().map(entry).collect();
        }
        _ => {}
    }
    let mut set = |type_, status, reason, message: &str| {
        conditions::set(&mut wanted, now, conditions::new(type_, status, reason, message));
    };
    match found {
        Found::Unreadable(problem) => set(CHANGE_DETECTED, UNKNOWN, UNREADABLE, problem),
        _ => set(CHANGE_DETECTED, conditions::word(is_changed), OK, ""),
    }
    match objections.as_slice() {
        [] => set(VALID, TRUE, OK, ""),
        _ => set(VALID, FALSE, INVALID, &objections.join("; ")),
    }
    if wanted.status != object.status {
        wanted.status.get_or_insert_default().last_updated = Some(rfc3339(now));
    }
    wanted
}

impl Reconciler for ComponentsReconciler {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(object) = self.components.get(&request) else { return Ok(Action::done()) };
        if object.metadata.deletion_timestamp.is_some() {
            return Ok(Action::done());
        }
        let found = match self.hosts.beside(&request) {
            Beside::Nobody | Beside::Untouched(_) => {
                return Ok(Action::requeue_after(limits::FIRMWARE_CHANGE));
            }
            Beside::Unusable(_, problem) => Found::Unsupported(problem),
            Beside::Machine(_, connection) => match self.hosts.control.bmc(&connection) {
                Ok(bmc) => Found::from(bmc.firmware().await),
                Err(fault) => Found::Unreadable(fault.message),
            },
        };
        let wanted = compared(&object, &found, self.manager.clock().now());
        if let Some(objection) = new_objection(object.as_ref(), &wanted) {
            let message = format!("Invalid Firmware Components: {objection}");
            self.recorder.warning(object.as_ref(), &(), "ValidationFailed", message);
        }
        self.components.patch(&object, &wanted, &[CHANGE_DETECTED, VALID]).await?;
        Ok(Action::requeue_after(next_look(!object.spec.updates.is_empty(), &wanted)))
    }
}
