//! Carries out the commands of a plan in order, until one of them fails.

use engine::object::annotation;
use machinery::clock::rfc3339;
use schemas::metal3::{BareMetalHost, FirmwareUpdate};

use super::draft::{Plan, fail};
use super::observe::Gathered;
use super::observed::Means;
use super::states::firmware::{self, Progress};
use super::{HostReconciler, drive};
use crate::control::{self, Command, Fault};
use crate::names::{BOOTING, ErrorType, FIRMWARE};
use crate::state::HostState;

impl HostReconciler {
    /// Carries out the commands, and records a failure in the plan.
    pub(super) async fn execute(&self, host: &BareMetalHost, gathered: &Gathered, plan: &mut Plan) {
        for command in std::mem::take(&mut plan.commands) {
            let Err(fault) = self.command(gathered, &command).await else { continue };
            // The drive may also hold the agent's image, so a failure concerns the DataImage only if the plan changes it.
            if matches!(command, Command::Insert(_) | Command::Eject)
                && plan.data_image.is_some()
                && let Some(image) = self.companions.data_image(&gathered.key)
            {
                let now = rfc3339(self.manager.clock().now());
                plan.data_image = Some(drive::failed(&image, &fault.message, now));
            } else {
                plan.data_image = None;
            }
            let error = match command {
                Command::Set(_) => error_of_firmware(host),
                _ => ErrorType::PowerManagement,
            };
            return record_fault(host, plan, error, fault);
        }
        let Some(update) = plan.update.take() else { return };
        match self.install(gathered, &update).await {
            Ok(task) => note_task(plan, task),
            Err(fault) => record_fault(host, plan, error_of_firmware(host), fault),
        }
    }

    async fn command(&self, gathered: &Gathered, command: &Command) -> Result<(), Fault> {
        let cuts = matches!(command, Command::HardOff | Command::SoftOff | Command::Reset);
        let done = match (&gathered.means, &gathered.connection, command) {
            (Means::WakeOnLan, _, Command::PowerOn) => self.wake(gathered).await,
            (_, Some(connection), command) => match self.control.bmc(connection) {
                Ok(bmc) => control::carry_out(bmc.as_ref(), connection, command).await,
                Err(fault) => Err(fault),
            },
            // Without a BMC, a person does it.
            _ => Ok(()),
        };
        self.memory.note_command(&gathered.key, self.manager.clock().now(), cuts);
        done
    }

    /// Starts a firmware update at the BMC, and returns the path of its task.
    async fn install(&self, gathered: &Gathered, update: &FirmwareUpdate) -> Result<String, Fault> {
        let Some(connection) = &gathered.connection else {
            let message = "firmware is installed by a BMC: set spec.bmc".to_owned();
            return Err(Fault { message, is_refused: false });
        };
        let bmc = self.control.bmc(connection)?;
        let task = bmc.update_firmware(&update.component, &update.url).await?;
        Ok(task.path)
    }

    async fn wake(&self, gathered: &Gathered) -> Result<(), Fault> {
        let host = self.hosts.get(&gathered.key);
        let mac = host.and_then(|host| host.spec.boot_mac_address.clone());
        match mac {
            Some(mac) => self.control.wake(&mac).await,
            None => Err(Fault {
                message: "a machine is woken by its MAC address: set spec.bootMACAddress".to_owned(),
                is_refused: false,
            }),
        }
    }
}

/// Records the failure, and reverts the annotations that would make later plans wait for the failed command.
fn record_fault(host: &BareMetalHost, plan: &mut Plan, error: ErrorType, fault: Fault) {
    let annotations = plan.host.metadata.annotations.get_or_insert_default();
    if annotation(host, BOOTING).is_none() {
        annotations.remove(BOOTING);
    }
    match annotation(host, FIRMWARE) {
        Some(before) => drop(annotations.insert(FIRMWARE.to_owned(), before.to_owned())),
        None => drop(annotations.remove(FIRMWARE)),
    }
    fail(plan, error, fault.message);
}

fn error_of_firmware(host: &BareMetalHost) -> ErrorType {
    if HostState::of(host).is_in_use() { ErrorType::Servicing } else { ErrorType::Preparation }
}

/// Records the path of the started task, for which the host then waits.
fn note_task(plan: &mut Plan, task: String) {
    let annotations = plan.host.metadata.annotations.get_or_insert_default();
    let Some(progress) = firmware::progress(annotations.get(FIRMWARE).map(String::as_str)) else { return };
    let text = serde_json::to_string(&Progress { task, ..progress }).unwrap_or_default();
    annotations.insert(FIRMWARE.to_owned(), text);
}
