//! Objects that accompany a host (virtual drive, settings, firmware, events) with a simulated Redfish
//! service.
#![allow(clippy::expect_used, reason = "a test ends where something is not as it must be")]

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use engine::{NamespacedName, Objects};
use k8s_openapi::api::core::v1::{Namespace, Secret};
use machinery::random::Random;
use netboot_tests::redfish::{Behaviour, Fault, InMemory, Order, Service, Wire};
use schemas::meta::Condition;
use schemas::metal3::{
    BMCEventSubscription, BareMetalHost, DataImage, FirmwareSchema, HostFirmwareComponents,
    HostFirmwareSettings, HostUpdatePolicy,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use simulation::simulation::{Life, Simulation};

const NAMESPACE: &str = "metal";
/// Limit in simulated time.
const DEADLINE: Duration = Duration::from_secs(3600);
const DVD: &str = "http://images/data.iso";

struct Rig<'a> {
    life: &'a Life,
    machine: Arc<InMemory>,
    service: Arc<Service>,
}

fn key() -> NamespacedName {
    NamespacedName::new(NAMESPACE, "host-0")
}

impl<'a> Rig<'a> {
    /// A provisioned host whose machine has a Redfish service.
    async fn new(life: &'a Life, behaviour: Behaviour) -> Result<Self> {
        let machine = Arc::new(InMemory::default());
        let service = Service::new(machine.clone(), behaviour);
        let wire = Wire::default();
        wire.add("bmc", service.clone(), None);
        let dependencies = bmc::Dependencies { network: Arc::new(wire), random: Random::seeded(1) };
        metal::start(&life.manager, metal::bmcs::Bmcs::start(&life.manager, dependencies, Vec::new()));
        let rig = Self { life, machine, service };
        rig.create::<Namespace>(json!({"metadata": {"name": NAMESPACE}})).await?;
        let credentials = json!({"username": "admin", "password": "correct horse"});
        rig.create::<Secret>(json!({"metadata": named("bmc"), "stringData": credentials})).await?;
        let bmc =
            json!({"address": "redfish+http://bmc:8000/redfish/v1/Systems/1", "credentialsName": "bmc"});
        let spec = json!({
            "online": true, "externallyProvisioned": true, "bootMACAddress": "52:54:00:00:00:01", "bmc": bmc,
        });
        rig.create::<BareMetalHost>(json!({"metadata": named("host-0"), "spec": spec})).await?;
        rig.until::<BareMetalHost>("in use and on", |host| {
            host.status.as_ref().is_some_and(|status| {
                status.provisioning.state == "externally provisioned" && status.powered_on
            })
        })
        .await;
        Ok(rig)
    }

    async fn create<K: engine::Kind<DynamicType = ()> + DeserializeOwned>(
        &self,
        object: Value,
    ) -> Result<()> {
        let objects: Objects<K> = self.life.manager.objects();
        objects.create(&serde_json::from_value(object)?).await?;
        Ok(())
    }

    async fn merge<K: engine::Kind<DynamicType = ()>>(&self, patch: Value) -> Result<()> {
        let objects: Objects<K> = self.life.manager.objects();
        objects.merge(&key(), None, patch).await?;
        Ok(())
    }

    async fn delete<K: engine::Kind<DynamicType = ()>>(&self) -> Result<()> {
        let objects: Objects<K> = self.life.manager.objects();
        let object = objects.get(&key()).expect("an object");
        objects.delete(object.as_ref()).await?;
        Ok(())
    }

    /// Waits until the object with the host's name meets the condition.
    async fn until<K: engine::Kind<DynamicType = ()> + std::fmt::Debug>(
        &self,
        what: &str,
        done: impl Fn(&K) -> bool,
    ) -> Arc<K> {
        let objects: Objects<K> = self.life.manager.objects();
        objects.wait_until_synced().await;
        let end = self.life.clock.now() + chrono::Duration::from_std(DEADLINE).expect("a span of time");
        loop {
            if let Some(object) = objects.get(&key()).filter(|object| done(object)) {
                return object;
            }
            assert!(self.life.clock.now() < end, "{what}: {:#?}", objects.get(&key()));
            self.life.clock.sleep(Duration::from_secs(1)).await;
        }
    }

    async fn until_gone<K: engine::Kind<DynamicType = ()> + std::fmt::Debug>(&self) {
        let objects: Objects<K> = self.life.manager.objects();
        let end = self.life.clock.now() + chrono::Duration::from_std(DEADLINE).expect("a span of time");
        while let Some(object) = objects.get(&key()) {
            assert!(self.life.clock.now() < end, "still there: {object:#?}");
            self.life.clock.sleep(Duration::from_secs(1)).await;
        }
    }

    /// Restarts the machine as a user does and waits until it runs. Returns how it was started.
    async fn restart(&self) -> Result<netboot_tests::redfish::Start> {
        let before = self.machine.history().len();
        self.merge::<BareMetalHost>(json!({"metadata": {"annotations": {"reboot.metal3.io": ""}}})).await?;
        self.until::<BareMetalHost>("restarted", |host| {
            let status = host.status.as_ref().expect("a status");
            self.machine.history().len() > before
                && status.powered_on
                && status.operational_status == "OK"
                && host.metadata.annotations.iter().flatten().all(|(key, _)| !key.contains("reboot"))
        })
        .await;
        Ok(self.machine.history().pop().expect("a start"))
    }
}

fn named(name: &str) -> Value {
    json!({"name": name, "namespace": NAMESPACE})
}

fn is(conditions: &[Condition], name: &str, status: &str) -> bool {
    conditions.iter().any(|condition| condition.type_ == name && condition.status == status)
}

fn live(behaviour: Behaviour, run: impl AsyncFnOnce(&Rig<'_>) -> Result<()>) {
    Simulation::bare(1)
        .live(async |life, _| {
            let rig = Rig::new(life, behaviour).await?;
            run(&rig).await
        })
        .expect("a life");
}

fn settings_are(settings: &HostFirmwareSettings, change: &str, valid: &str) -> bool {
    settings.status.as_ref().is_some_and(|status| {
        is(&status.conditions, "ChangeDetected", change)
            && is(&status.conditions, "Valid", valid)
            && status.conditions.iter().all(|known| known.observed_generation == settings.metadata.generation)
    })
}

#[test]
fn an_image_is_in_the_drive_from_one_restart_to_another() {
    live(Behaviour::default(), async |rig| {
        rig.create::<DataImage>(json!({"metadata": named("host-0"), "spec": {"url": DVD}})).await?;
        rig.until::<DataImage>("owned", |image| {
            image.metadata.finalizers.is_some() && image.metadata.owner_references.is_some()
        })
        .await;
        assert_eq!(rig.machine.running().expect("a machine that runs").media, None);
        assert_eq!(rig.restart().await?.media.as_deref(), Some(DVD));
        let attached = rig.until::<DataImage>("attached", |image| image.status.is_some()).await;
        let status = attached.status.clone().expect("a status");
        assert_eq!(status.attached_image.map(|image| image.url).as_deref(), Some(DVD));

        rig.delete::<DataImage>().await?;
        assert_eq!(rig.restart().await?.media, None);
        rig.until_gone::<DataImage>().await;

        // When the service fails, the machine stays off and the error is reported until the service works
        // again.
        let order =
            Order { method: "POST", path: "VirtualMedia.InsertMedia", times: 2, fault: Fault::Status(500) };
        rig.service.order(order);
        rig.create::<DataImage>(json!({"metadata": named("host-0"), "spec": {"url": DVD}})).await?;
        rig.merge::<BareMetalHost>(json!({"metadata": {"annotations": {"reboot.metal3.io": ""}}})).await?;
        let failed = rig
            .until::<DataImage>("an error", |image| {
                image
                    .status
                    .as_ref()
                    .is_some_and(|status| status.error.as_ref().is_some_and(|error| error.count == 2))
            })
            .await;
        let error = failed.status.clone().and_then(|status| status.error).expect("an error");
        assert!(error.message.contains("InsertMedia") && !error.message.contains(DVD), "{}", error.message);
        assert!(rig.machine.running().is_none());
        rig.until::<DataImage>("attached at last", |image| {
            image
                .status
                .as_ref()
                .is_some_and(|status| status.error.is_none() && status.attached_image.is_some())
        })
        .await;
        Ok(())
    });
}

#[test]
fn settings_are_shown_checked_and_changed_with_a_restart() {
    for tasks in [false, true] {
        live(Behaviour { tasks, ..Behaviour::default() }, async |rig| {
            let read = rig
                .until::<HostFirmwareSettings>("read", |settings| settings_are(settings, "False", "True"))
                .await;
            let status = read.status.clone().expect("a status");
            assert_eq!(
                (status.settings["Cores"].as_str(), status.settings["BootMode"].as_str()),
                ("8", "Uefi")
            );
            let reference = status.schema.expect("a schema");
            let schemas: Objects<FirmwareSchema> = rig.life.manager.objects();
            let schema = schemas
                .get(&NamespacedName::new(&reference.namespace, &reference.name))
                .expect("it is there");
            assert_eq!(schema.spec.schema["Cores"].upper_bound, Some(64));

            rig.merge::<HostFirmwareSettings>(json!({"spec": {"settings": {"Cores": 65}}})).await?;
            rig.until::<HostFirmwareSettings>("refused", |settings| settings_are(settings, "True", "False"))
                .await;
            rig.merge::<HostFirmwareSettings>(json!({"spec": {"settings": {"Cores": 4, "Quiet": "true"}}}))
                .await?;
            rig.until::<HostFirmwareSettings>("wanted", |settings| settings_are(settings, "True", "True"))
                .await;
            rig.restart().await?;
            assert_eq!(rig.service.pending(), json!({}), "nobody allowed it in use");

            let policy = json!({"firmwareSettings": "onReboot"});
            rig.create::<HostUpdatePolicy>(json!({"metadata": named("host-0"), "spec": policy})).await?;
            rig.restart().await?;
            let changed = rig
                .until::<HostFirmwareSettings>("changed", |settings| settings_are(settings, "False", "True"))
                .await;
            let status = changed.status.clone().expect("a status");
            assert_eq!((status.settings["Cores"].as_str(), status.settings["Quiet"].as_str()), ("4", "true"));
            Ok(())
        });
    }
}

#[test]
fn firmware_is_shown_and_installed_with_a_restart() {
    live(Behaviour::default(), async |rig| {
        let read = rig
            .until::<HostFirmwareComponents>("read", |components| {
                components.status.as_ref().is_some_and(|status| !status.components.is_empty())
            })
            .await;
        let names: Vec<String> = read
            .status
            .iter()
            .flat_map(|status| status.components.iter().map(|known| known.component.clone()))
            .collect();
        assert_eq!(names, ["bios", "bmc", "nic:NIC1"]);

        let policy = json!({"firmwareUpdates": "onReboot"});
        rig.create::<HostUpdatePolicy>(json!({"metadata": named("host-0"), "spec": policy})).await?;
        let updates = json!([{"component": "bmc", "url": "http://images/bmc.bin"}]);
        rig.merge::<HostFirmwareComponents>(json!({"spec": {"updates": updates}})).await?;
        rig.service.take_requests();
        rig.restart().await?;
        let done = rig
            .until::<HostFirmwareComponents>("installed", |components| {
                components
                    .status
                    .as_ref()
                    .is_some_and(|status| is(&status.conditions, "ChangeDetected", "False"))
            })
            .await;
        assert_eq!(done.status.as_ref().map(|status| &status.updates), Some(&done.spec.updates));
        let asked = rig.service.take_requests();
        let installs = asked.iter().filter(|asked| asked.contains("SimpleUpdate")).count();
        assert_eq!(installs, 1, "{asked:?}");

        let updates = json!([{"component": "gpu", "url": "http://images/gpu.bin"}]);
        let refused = rig.merge::<HostFirmwareComponents>(json!({"spec": {"updates": updates}})).await;
        if refused.is_ok() {
            rig.until::<HostFirmwareComponents>("refused", |components| {
                components.status.as_ref().is_some_and(|status| is(&status.conditions, "Valid", "False"))
            })
            .await;
        }
        Ok(())
    });
}

#[test]
fn events_are_sent_as_long_as_somebody_wants_them() {
    live(Behaviour::default(), async |rig| {
        // Writing the first error to the status causes the next attempt immediately.
        let order = Order { method: "POST", path: "Subscriptions", times: 2, fault: Fault::Status(500) };
        rig.service.order(order);
        rig.create::<Secret>(json!({"metadata": named("headers"), "stringData": {"X-Token": "t0ken"}}))
            .await?;
        let spec = json!({
            "hostName": "host-0", "destination": "https://events/a", "context": "here",
            "httpHeadersRef": {"name": "headers", "namespace": NAMESPACE},
        });
        rig.create::<BMCEventSubscription>(json!({"metadata": named("host-0"), "spec": spec})).await?;
        let failed = rig
            .until::<BMCEventSubscription>("an error", |subscription| {
                subscription.status.as_ref().is_some_and(|status| status.error.is_some())
            })
            .await;
        assert!(!format!("{failed:?}").contains("t0ken"));
        rig.until::<BMCEventSubscription>("subscribed", is_subscribed).await;
        rig.service.take_requests();
        // A process that subscribed and ended before it could record the subscription.
        forgets(rig).await?;
        rig.until::<BMCEventSubscription>("recognised", is_subscribed).await;
        let asked = rig.service.take_requests();
        assert!(asked.iter().all(|asked| !asked.starts_with("POST")), "no second one: {asked:?}");

        rig.delete::<BMCEventSubscription>().await?;
        rig.until_gone::<BMCEventSubscription>().await;
        let asked = rig.service.take_requests();
        assert!(
            asked.iter().any(|asked| asked.starts_with("DELETE") && asked.contains("Subscriptions")),
            "{asked:?}"
        );
        Ok(())
    });
}

fn is_subscribed(subscription: &BMCEventSubscription) -> bool {
    let status = subscription.status.as_ref();
    status.is_some_and(|status| status.error.is_none() && status.subscription_id.is_some())
}

/// Removes the subscription's ID from the status.
async fn forgets(rig: &Rig<'_>) -> Result<()> {
    let objects: Objects<BMCEventSubscription> = rig.life.manager.objects();
    objects.merge(&key(), Some("status"), json!({"status": {"subscriptionID": null}})).await?;
    Ok(())
}
