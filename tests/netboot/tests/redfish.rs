//! The Redfish client against services with every supported behaviour.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bmc::{
    Bmc, BmcAddress, Boot, BootDevice, BootMode, Credentials, Dependencies, Persistence, Power, PowerAction,
    Reset, Setting, Subscribed, Subscription, TaskState, Verification,
};
use machinery::random::Random;
use netboot_tests::redfish::{Behaviour, Fault, InMemory, Order, Service, Wire};
use serde_json::json;

/// Waits until the service says that the machine has this power.
async fn wait_for(bmc: &dyn Bmc, power: Power) {
    let looking = async {
        while bmc.power().await != Ok(power) {
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), looking).await.unwrap();
}

struct Rig {
    machine: Arc<InMemory>,
    service: Arc<Service>,
    bmc: Arc<dyn Bmc>,
}

fn rig(behaviour: Behaviour) -> Rig {
    let machine = Arc::new(InMemory::default());
    let service = Service::new(machine.clone(), behaviour);
    let wire = Wire::default();
    wire.add("bmc", service.clone(), None);
    let dependencies = Dependencies { network: Arc::new(wire), random: Random::seeded(1) };
    let address = BmcAddress::parse("redfish+http://bmc:8000").unwrap();
    let credentials = Credentials::new("admin", "correct horse");
    let bmc = bmc::connect(address, credentials, Verification::Off, dependencies).unwrap();
    Rig { machine, service, bmc }
}

fn boot(device: BootDevice, persistence: Persistence) -> Boot {
    Boot { device, persistence, mode: Some(BootMode::Uefi) }
}

#[tokio::test(start_paused = true)]
async fn power_follows_what_is_asked() {
    for behaviour in [
        Behaviour::default(),
        Behaviour { tasks: true, ..Behaviour::default() },
        Behaviour { action_info: true, ..Behaviour::default() },
        Behaviour { sessions_only: true, ..Behaviour::default() },
    ] {
        let Rig { machine, bmc, .. } = rig(behaviour);
        assert_eq!(bmc.power().await, Ok(Power::Off));
        for (action, power) in [
            (PowerAction::On, Power::On),
            (PowerAction::On, Power::On),
            (PowerAction::Interrupt, Power::On),
            (PowerAction::SoftOff, Power::Off),
            (PowerAction::SoftOff, Power::Off),
            (PowerAction::Reset(Reset::Hard), Power::On),
            (PowerAction::Reset(Reset::Soft), Power::On),
            (PowerAction::HardOff, Power::Off),
        ] {
            bmc.set_power(action).await.unwrap();
            wait_for(&*bmc, power).await;
        }
        // On, the reset of a machine that was off, and the graceful restart.
        assert_eq!(machine.history().len(), 3, "{behaviour:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_boot_device_is_stored_and_started_from() {
    use BootDevice::{Disk, Network, VirtualMedia};
    let http = BootDevice::UefiHttp { url: Some("http://10.0.0.1/uki.efi".to_owned()) };
    let plain = Behaviour::default();
    for behaviour in [
        plain,
        Behaviour { vendor: Some("Supermicro"), ..plain },
        Behaviour { vendor: Some("Dell"), ..plain },
        Behaviour { vendor: Some("HPE"), ..plain },
        Behaviour { weak_tags: true, ..plain },
        Behaviour { tasks: true, ..plain },
        Behaviour { once_is_continuous: true, ..plain },
    ] {
        for (device, target) in
            [(Network, "Pxe"), (http.clone(), "UefiHttp"), (Disk, "Hdd"), (VirtualMedia, "Cd")]
        {
            let Rig { machine, bmc, .. } = rig(behaviour);
            let stored = bmc.set_boot(&boot(device.clone(), Persistence::Once)).await.unwrap();
            assert_eq!(stored.device, device, "{behaviour:?}");
            let kept = if behaviour.once_is_continuous { Persistence::Always } else { Persistence::Once };
            assert_eq!(stored.persistence, kept, "{behaviour:?}");
            bmc.set_power(PowerAction::On).await.unwrap();
            bmc.set_power(PowerAction::Reset(Reset::Hard)).await.unwrap();
            let targets: Vec<String> = machine.history().into_iter().map(|start| start.target).collect();
            assert_eq!(targets, [target, "None"], "{behaviour:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_persistent_boot_device_holds_or_is_said_to_hold_once() {
    for (behaviour, kept, then) in [
        (Behaviour::default(), Persistence::Always, "Hdd"),
        (Behaviour { no_continuous: true, ..Behaviour::default() }, Persistence::Once, "None"),
    ] {
        let Rig { machine, bmc, .. } = rig(behaviour);
        let stored = bmc.set_boot(&boot(BootDevice::Disk, Persistence::Always)).await.unwrap();
        assert_eq!(stored.persistence, kept);
        bmc.set_power(PowerAction::On).await.unwrap();
        bmc.set_power(PowerAction::Reset(Reset::Hard)).await.unwrap();
        assert_eq!(machine.history()[1].target, then);
        let left = bmc.boot().await.unwrap();
        assert_eq!(left.is_some(), kept == Persistence::Always);
    }
}

#[tokio::test(start_paused = true)]
async fn media_is_inserted_and_ejected() {
    let plain = Behaviour::default();
    for behaviour in [
        plain,
        Behaviour { media_by_patch: true, ..plain },
        Behaviour { media_wants_transfer: true, ..plain },
        Behaviour { tasks: true, ..plain },
    ] {
        let Rig { machine, bmc, .. } = rig(behaviour);
        bmc.eject_media().await.unwrap();
        bmc.insert_media("http://10.0.0.1/a.iso").await.unwrap();
        bmc.insert_media("https://10.0.0.1/b.iso").await.unwrap();
        assert_eq!(bmc.media().await.unwrap().as_deref(), Some("https://10.0.0.1/b.iso"), "{behaviour:?}");
        bmc.set_power(PowerAction::On).await.unwrap();
        assert_eq!(machine.running().unwrap().media.as_deref(), Some("https://10.0.0.1/b.iso"));
        bmc.eject_media().await.unwrap();
        assert_eq!(bmc.media().await, Ok(None));
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_service_knows_is_read() {
    let Rig { bmc, .. } = rig(Behaviour::default());
    let identity = bmc.identity().await.unwrap();
    assert_eq!((identity.manufacturer.as_str(), identity.serial.as_str()), ("Contoso", "437XR1138R2"));
    assert_eq!(identity.uuid, "38947555-7742-3448-3784-823347823834");
    assert_eq!(identity.macs, ["52:54:00:00:00:01"]);
    let firmware = bmc.firmware().await.unwrap();
    let firmware: Vec<_> =
        firmware.iter().map(|each| (each.component.as_str(), each.version.as_str())).collect();
    assert_eq!(firmware, [("bios", "P79 v1.33"), ("bmc", "1.45.455b66"), ("nic:NIC1", "22.1")]);
}

#[tokio::test(start_paused = true)]
async fn settings_wait_for_the_next_start() {
    for tasks in [false, true] {
        let Rig { bmc, .. } = rig(Behaviour { tasks, ..Behaviour::default() });
        let wanted = BTreeMap::from([("Cores".to_owned(), Setting::Number(4))]);
        bmc.set_settings(&wanted).await.unwrap();
        let settings = bmc.settings().await.unwrap();
        assert_eq!(settings.current["Cores"], Setting::Number(8));
        assert_eq!(settings.pending, wanted);
        assert_eq!(settings.limits["BootMode"].allowed, ["Bios", "Uefi"]);
        assert_eq!(settings.limits["Cores"].upper, Some(64));
        bmc.set_power(PowerAction::On).await.unwrap();
        let settings = bmc.settings().await.unwrap();
        assert_eq!((settings.current["Cores"].clone(), settings.pending.len()), (Setting::Number(4), 0));
    }
    let Rig { bmc, machine, .. } = rig(Behaviour::default());
    assert_eq!(bmc.secure_boot().await, Ok(false));
    bmc.set_secure_boot(true).await.unwrap();
    assert_eq!(bmc.secure_boot().await, Ok(true));
    bmc.set_power(PowerAction::On).await.unwrap();
    assert!(machine.running().unwrap().secure_boot);
}

#[tokio::test(start_paused = true)]
async fn firmware_is_updated_by_a_task_and_events_are_subscribed() {
    let Rig { bmc, .. } = rig(Behaviour::default());
    let task = bmc.update_firmware("bios", "http://10.0.0.1/bios.bin").await.unwrap();
    let running = TaskState::Running { percent: Some(50), message: "Running".to_owned() };
    assert_eq!(bmc.task(&task).await.unwrap(), running);
    bmc.task(&task).await.unwrap();
    assert_eq!(bmc.task(&task).await.unwrap(), TaskState::Done);
    let refused = bmc.update_firmware("bios", "ftp://10.0.0.1/bios.bin").await.unwrap_err();
    assert!(refused.is_unsupported(), "{refused}");

    let headers = BTreeMap::from([("X-Token".to_owned(), "t0ken".to_owned())]);
    let subscription = Subscription {
        destination: "https://10.0.0.1/events".to_owned(),
        context: "host".to_owned(),
        headers,
    };
    assert_eq!(bmc.subscriptions().await.unwrap(), []);
    let identifier = bmc.subscribe(&subscription).await.unwrap();
    let there = Subscribed {
        identifier: identifier.clone(),
        destination: subscription.destination.clone(),
        context: "host".to_owned(),
    };
    assert_eq!(bmc.subscriptions().await.unwrap(), [there]);
    bmc.unsubscribe(&identifier).await.unwrap();
    assert_eq!(bmc.subscriptions().await.unwrap(), []);
    bmc.unsubscribe(&identifier).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn sessions_are_made_where_they_are_wanted_renewed_and_ended() {
    let Rig { bmc, service, .. } = rig(Behaviour { sessions_only: true, ..Behaviour::default() });
    bmc.power().await.unwrap();
    bmc.power().await.unwrap();
    assert_eq!(service.sessions(), 1);
    // The service accepts the password again.
    service.set_password("correct horse");
    assert_eq!(bmc.power().await, Ok(Power::Off));
    assert_eq!(service.sessions(), 1);
    bmc.close().await;
    assert_eq!(service.sessions(), 0);

    let Rig { bmc, service, .. } = rig(Behaviour::default());
    bmc.power().await.unwrap();
    bmc.close().await;
    let asked = service.take_requests();
    assert!(!asked.iter().any(|request| request.contains("Session")), "{asked:?}");
}

#[tokio::test(start_paused = true)]
async fn a_wrong_password_is_sent_once_a_call() {
    for sessions_only in [false, true] {
        let Rig { bmc, service, .. } = rig(Behaviour { sessions_only, ..Behaviour::default() });
        service.set_password("battery staple");
        assert!(bmc.power().await.unwrap_err().is_unauthorized());
        service.take_requests();
        for _ in 0..3 {
            assert!(bmc.power().await.unwrap_err().is_unauthorized());
            let asked = service.take_requests();
            assert_eq!(asked.len(), 1, "{asked:?}");
        }
        service.set_password("correct horse");
        assert_eq!(bmc.power().await, Ok(Power::Off));
    }
}

#[tokio::test(start_paused = true)]
async fn a_busy_service_is_asked_again_as_it_says() {
    let Rig { bmc, service, .. } = rig(Behaviour::default());
    bmc.power().await.unwrap();
    let path = "/Systems/1";
    for (fault, seconds) in
        [(Fault::Busy(Some(7)), 7), (Fault::Busy(None), 1), (Fault::Busy(Some(86_400)), 30), (Fault::Drop, 1)]
    {
        service.order(Order { method: "GET", path, times: 1, fault: fault.clone() });
        let clock = machinery::clock::Clock::system();
        let before = clock.monotonic();
        assert_eq!(bmc.power().await, Ok(Power::Off), "{fault:?}");
        // A kept connection that turns out to be closed causes no wait.
        let waited = before.elapsed().as_secs();
        assert!(waited == seconds || fault == Fault::Drop, "{fault:?}: {waited} s");
    }
    // Writes are sent only once.
    service.take_requests();
    service.order(Order { method: "PATCH", path, times: 1, fault: Fault::Busy(Some(1)) });
    bmc.set_boot(&boot(BootDevice::Network, Persistence::Once)).await.unwrap_err();
    let patches = service.take_requests().into_iter().filter(|request| request.starts_with("PATCH")).count();
    assert_eq!(patches, 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_stored_late_is_waited_for() {
    let Rig { bmc, service, .. } = rig(Behaviour::default());
    let late = Fault::Lie("/Boot/BootSourceOverrideTarget", json!("None"));
    service.order(Order { method: "GET", path: "/Systems/1", times: 3, fault: late });
    let stored = bmc.set_boot(&boot(BootDevice::Network, Persistence::Once)).await.unwrap();
    assert_eq!(stored.device, BootDevice::Network);
}
