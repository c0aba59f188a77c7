//! Controller of HostFirmwareSettings: reports the firmware's settings, and whether the wanted ones can be set.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::conditions::{self, FALSE, TRUE, UNKNOWN};
use engine::events::Recorder;
use engine::{Action, Controller, Manager, NamespacedName, Objects, Reconciler, Request, Result, owners};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use machinery::clock::rfc3339;
use schemas::metal3::{
    BareMetalHost, FirmwareSchema, FirmwareSchemaSpec, HostFirmwareSettings, SchemaReference, SettingSchema,
};

use super::comparison::{CHANGE_DETECTED, UNREADABLE, VALID, as_text, new_objection, next_look};
use super::rules::{Values, objection, schema_name, values};
use crate::connection::{Beside, Hosts};
use crate::control::Control;
use crate::limits;

/// The reason of a condition without a problem, or of a change that can be made.
const SUCCESS: &str = "Success";
/// The reason if a setting cannot be changed.
const CONFIGURATION_ERROR: &str = "ConfigurationError";

/// Starts the controller.
pub(super) fn start(manager: &Manager, control: Arc<dyn Control>) {
    let hosts = Hosts { hosts: manager.objects(), secrets: manager.objects(), control };
    let reconciler = SettingsReconciler {
        settings: manager.objects(),
        schemas: manager.objects(),
        hosts,
        recorder: manager.recorder("metal3-hostfirmwaresettings-controller"),
        manager: manager.clone(),
    };
    Controller::new(manager, "hostfirmwaresettings")
        .time_limit(limits::RECONCILE)
        .reconciles(&reconciler.settings.clone())
        .without_resync()
        .reads(&reconciler.schemas.clone())
        .reads(&reconciler.hosts.hosts.clone())
        .reads(&reconciler.hosts.secrets.clone())
        .start(reconciler);
}

struct SettingsReconciler {
    settings: Objects<HostFirmwareSettings>,
    schemas: Objects<FirmwareSchema>,
    hosts: Hosts,
    recorder: Recorder,
    manager: Manager,
}

/// The settings, and their constraints.
pub type Found = super::comparison::Found<Values>;

/// Returns the object with the status that follows from the machine's settings.
pub fn compared(
    object: &HostFirmwareSettings,
    found: &Found,
    reference: Option<SchemaReference>,
    now: DateTime<Utc>,
) -> HostFirmwareSettings {
    let mut wanted = object.clone();
    let spec: BTreeMap<&String, String> =
        object.spec.settings.iter().map(|(name, value)| (name, as_text(value))).collect();
    let mut set = |type_, status, reason, message: &str| {
        conditions::set(&mut wanted, now, conditions::new(type_, status, reason, message));
    };
    match found {
        Found::Unreadable(problem) => set(CHANGE_DETECTED, UNKNOWN, UNREADABLE, problem),
        Found::Unsupported(_) if spec.is_empty() => {
            set(CHANGE_DETECTED, FALSE, SUCCESS, "");
            set(VALID, TRUE, SUCCESS, "");
        }
        Found::Unsupported(problem) => {
            set(CHANGE_DETECTED, TRUE, SUCCESS, "");
            set(VALID, FALSE, CONFIGURATION_ERROR, problem);
        }
        Found::Known((current, schema)) => {
            let is_changed = spec.iter().any(|(name, text)| current.get(*name) != Some(text));
            let objections: Vec<String> = spec
                .iter()
                .filter_map(|(name, text)| {
                    objection(name, text, current.contains_key(*name), schema.get(*name))
                })
                .collect();
            set(CHANGE_DETECTED, conditions::word(is_changed), SUCCESS, "");
            match objections.as_slice() {
                [] => set(VALID, TRUE, SUCCESS, ""),
                _ => set(VALID, FALSE, CONFIGURATION_ERROR, &objections.join("; ")),
            }
            let status = wanted.status.get_or_insert_default();
            status.settings.clone_from(current);
            status.schema = reference;
        }
    }
    if wanted.status != object.status {
        wanted.status.get_or_insert_default().last_updated = Some(rfc3339(now));
    }
    wanted
}

impl SettingsReconciler {
    /// Creates or shares the FirmwareSchema of this model. It is deleted with its last owner.
    async fn keep_schema(
        &self,
        object: &HostFirmwareSettings,
        host: &BareMetalHost,
        schema: &BTreeMap<String, SettingSchema>,
    ) -> Result<Option<SchemaReference>> {
        if schema.is_empty() {
            return Ok(None);
        }
        let owner = owners::reference(object, &());
        let key =
            NamespacedName::new(object.metadata.namespace.clone().unwrap_or_default(), schema_name(schema));
        let vendor = host.status.as_ref().and_then(|status| status.hardware.as_ref()?.system_vendor.clone());
        let wanted = FirmwareSchema {
            metadata: ObjectMeta {
                name: Some(key.name.clone()),
                namespace: Some(key.namespace.clone()),
                owner_references: Some(vec![owner.clone()]),
                ..ObjectMeta::default()
            },
            spec: FirmwareSchemaSpec {
                hardware_vendor: vendor.as_ref().and_then(|vendor| vendor.manufacturer.clone()),
                hardware_model: vendor.as_ref().and_then(|vendor| vendor.product_name.clone()),
                schema: schema.clone(),
            },
        };
        let (existing, _) = self.schemas.create_if_absent(&wanted).await?;
        if !owners::is_owned_by(existing.as_ref(), &owner.uid) {
            let mut shared = existing.as_ref().clone();
            shared.metadata.owner_references.get_or_insert_default().push(owner);
            self.schemas.patch(&existing, &shared, &[]).await?;
        }
        Ok(Some(SchemaReference { name: key.name, namespace: key.namespace }))
    }
}

impl Reconciler for SettingsReconciler {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(object) = self.settings.get(&request) else { return Ok(Action::done()) };
        if object.metadata.deletion_timestamp.is_some() {
            return Ok(Action::done());
        }
        let mut reference = None;
        let found = match self.hosts.beside(&request) {
            Beside::Nobody | Beside::Untouched(_) => {
                return Ok(Action::requeue_after(limits::FIRMWARE_CHANGE));
            }
            Beside::Unusable(_, problem) => Found::Unsupported(problem),
            Beside::Machine(host, connection) => {
                let found = match self.hosts.control.bmc(&connection) {
                    Ok(bmc) => Found::from(bmc.settings().await.map(|settings| values(&settings))),
                    Err(fault) => Found::Unreadable(fault.message),
                };
                if let Found::Known((_, schema)) = &found {
                    reference = self.keep_schema(&object, &host, schema).await?;
                }
                found
            }
        };
        let wanted = compared(&object, &found, reference, self.manager.clock().now());
        if let Some(objection) = new_objection(object.as_ref(), &wanted) {
            let message = format!("Invalid BIOS setting: {objection}");
            self.recorder.warning(object.as_ref(), &(), "ValidationFailed", message);
        }
        self.settings.patch(&object, &wanted, &[CHANGE_DETECTED, VALID]).await?;
        Ok(Action::requeue_after(next_look(!object.spec.settings.is_empty(), &wanted)))
    }
}
