//! The objects that belong to a host: read for its plan, and written as the plan says.

use std::sync::Arc;

use engine::conditions::{TRUE, UNKNOWN};
use engine::{Controller, Manager, NamespacedName, Objects, Result, owners};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemas::meta::Condition;
use schemas::metal3::{
    BareMetalHost, DataImage, FirmwareUpdate, HostFirmwareComponents, HostFirmwareSettings, HostUpdatePolicy,
};

use super::observed::Firmware;
use crate::firmware::{CHANGE_DETECTED, VALID, as_text};

/// The change that an object requests.
enum Wish {
    Nothing,
    /// The object has not been compared with the machine yet.
    Unread,
    /// The object cannot be compared with the machine.
    Unreadable(String),
    Change,
}

/// Returns the requested change according to conditions of the current generation.
fn wish(generation: Option<i64>, conditions: &[Condition], is_asked: bool) -> Wish {
    if !is_asked {
        return Wish::Nothing;
    }
    let find = |name: &str| conditions.iter().find(|condition| condition.type_ == name);
    let Some(change) = find(CHANGE_DETECTED).filter(|change| change.observed_generation == generation) else {
        return Wish::Unread;
    };
    let is_valid = find(VALID).is_some_and(|valid| valid.status == TRUE);
    match change.status.as_str() {
        UNKNOWN => Wish::Unreadable(change.message.clone()),
        TRUE if is_valid => Wish::Change,
        _ => Wish::Nothing,
    }
}

/// The objects that belong to hosts and have their names.
pub(super) struct Companions {
    data_images: Objects<DataImage>,
    settings: Objects<HostFirmwareSettings>,
    components: Objects<HostFirmwareComponents>,
    policies: Objects<HostUpdatePolicy>,
}

impl Companions {
    pub(super) fn new(manager: &Manager) -> Self {
        Self {
            data_images: manager.objects(),
            settings: manager.objects(),
            components: manager.objects(),
            policies: manager.objects(),
        }
    }

    /// Makes a change of an object a reason to reconcile its host.
    pub(super) fn watched(&self, controller: Controller) -> Controller {
        controller
            .watches(&self.data_images, |change| vec![change.name()])
            .watches(&self.settings, |change| vec![change.name()])
            .watches(&self.components, |change| vec![change.name()])
            .watches(&self.policies, |change| vec![change.name()])
    }

    /// Returns the generations of the objects, which change with the requested changes.
    pub(super) fn wishes(&self, key: &NamespacedName) -> [Option<i64>; 4] {
        let image = self.data_images.get(key).and_then(|image| image.metadata.generation);
        let settings = self.settings.get(key).and_then(|settings| settings.metadata.generation);
        let components = self.components.get(key).and_then(|components| components.metadata.generation);
        let policy = self.policies.get(key).and_then(|policy| policy.metadata.generation);
        [image, settings, components, policy]
    }

    /// Returns the host's DataImage.
    pub(super) fn data_image(&self, key: &NamespacedName) -> Option<Arc<DataImage>> {
        self.data_images.get(key)
    }

    /// Returns the firmware changes that the objects request.
    pub(super) fn firmware(&self, key: &NamespacedName) -> Firmware {
        let mut firmware = Firmware::default();
        if let Some(object) = self.settings.get(key) {
            let conditions = object.status.as_ref().map_or(&[][..], |status| &status.conditions);
            match wish(object.metadata.generation, conditions, !object.spec.settings.is_empty()) {
                Wish::Nothing => {}
                Wish::Unread => firmware.is_unread = true,
                Wish::Unreadable(problem) => firmware.problem = Some(problem),
                Wish::Change => firmware.settings = differing(&object),
            }
        }
        if let Some(object) = self.components.get(key) {
            let status = object.status.as_ref();
            let conditions = status.map_or(&[][..], |status| &status.conditions);
            let installed = status.map_or(&[][..], |status| &status.updates);
            let wanted = object.spec.updates.iter().filter(|update| !installed.contains(update));
            let wanted: Vec<FirmwareUpdate> = wanted.cloned().collect();
            match wish(object.metadata.generation, conditions, !wanted.is_empty()) {
                Wish::Nothing => {}
                Wish::Unread => firmware.is_unread = true,
                Wish::Unreadable(problem) => firmware.problem = Some(problem),
                Wish::Change => firmware.updates = wanted,
            }
        }
        let policy = self.policies.get(key);
        let on_reboot = |when: Option<&String>| when.is_some_and(|when| when == "onReboot");
        firmware.sets_on_reboot =
            on_reboot(policy.as_ref().and_then(|policy| policy.spec.firmware_settings.as_ref()));
        firmware.installs_on_reboot =
            on_reboot(policy.as_ref().and_then(|policy| policy.spec.firmware_updates.as_ref()));
        firmware
    }

    /// Records an installed update in `HostFirmwareComponents`.
    pub(super) async fn note_installed(&self, key: &NamespacedName, update: FirmwareUpdate) -> Result<()> {
        let Some(existing) = self.components.get(key) else { return Ok(()) };
        let mut wanted = existing.as_ref().clone();
        let updates = &mut wanted.status.get_or_insert_default().updates;
        updates.retain(|known| known.component != update.component);
        updates.push(update);
        self.components.patch(&existing, &wanted, &[]).await?;
        Ok(())
    }

    pub(super) async fn store_drive(&self, key: &NamespacedName, wanted: &DataImage) -> Result<()> {
        let Some(existing) = self.data_images.get(key) else { return Ok(()) };
        let mut object = existing.as_ref().clone();
        object.status.clone_from(&wanted.status);
        self.data_images.patch(&existing, &object, &[]).await?;
        Ok(())
    }

    /// Creates the objects with which a user sees and changes the firmware. They are deleted with the host.
    pub(super) async fn create_firmware(&self, host: &BareMetalHost, key: &NamespacedName) -> Result<()> {
        let owner = owners::reference(host, &());
        let metadata = ObjectMeta {
            name: Some(key.name.clone()),
            namespace: Some(key.namespace.clone()),
            owner_references: Some(vec![owner.clone()]),
            ..ObjectMeta::default()
        };
        let settings = HostFirmwareSettings { metadata: metadata.clone(), ..HostFirmwareSettings::default() };
        self.settings.create_if_absent(&settings).await?;
        let components = HostFirmwareComponents { metadata, ..HostFirmwareComponents::default() };
        self.components.create_if_absent(&components).await?;
        if let Some(policy) = self.policies.get(key)
            && !owners::is_owned_by(policy.as_ref(), &owner.uid)
        {
            let mut wanted = policy.as_ref().clone();
            wanted.metadata.owner_references.get_or_insert_default().push(owner);
            self.policies.patch(&policy, &wanted, &[]).await?;
        }
        Ok(())
    }
}

/// Returns the wanted settings that differ from the current ones.
fn differing(object: &HostFirmwareSettings) -> std::collections::BTreeMap<String, String> {
    let current = object.status.as_ref().map(|status| &status.settings);
    let wanted = object.spec.settings.iter().map(|(name, value)| (name.clone(), as_text(value)));
    wanted.filter(|(name, value)| current.and_then(|current| current.get(name)) != Some(value)).collect()
}
