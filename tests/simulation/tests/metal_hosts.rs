//! Assigns machines to hosts, and prepares hosts for the move to another management cluster.
#![allow(clippy::expect_used, reason = "a test ends where something is not as it must be")]

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use engine::object::annotation;
use engine::{Kind, NamespacedName, Objects};
use k8s_openapi::api::core::v1::{Namespace, Secret};
use schemas::cluster::Cluster;
use schemas::metal3::BareMetalHost;
use schemas::netboot::Agent;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use simulation::fleet::{Faults, Machines};
use simulation::simulation::{Life, Simulation};

const NAMESPACE: &str = "metal";
const MAC: &str = "52:54:00:00:00:01";
const MACHINE: &str = "52-54-00-00-00-01";

async fn create<K: Kind<DynamicType = ()> + DeserializeOwned>(life: &Life, object: Value) -> Result<()> {
    let objects: Objects<K> = life.manager.objects();
    objects.create(&serde_json::from_value(object)?).await?;
    Ok(())
}

async fn host(life: &Life, name: &str, mac: Option<&str>, annotations: Value) -> Result<()> {
    let mut spec = json!({"online": true});
    if let Some(mac) = mac {
        spec["bootMACAddress"] = json!(mac);
    }
    let metadata = json!({"name": name, "namespace": NAMESPACE, "annotations": annotations});
    create::<BareMetalHost>(life, json!({"metadata": metadata, "spec": spec})).await
}

async fn machine(life: &Life) -> Result<()> {
    create::<Agent>(life, json!({"metadata": {"name": MACHINE}, "spec": {}})).await?;
    let status = json!({"status": {
        "bootMACAddress": MAC, "macAddresses": [MAC], "bootID": "start-1", "provenBy": "Token",
        "serialNumber": "S1", "systemUUID": "4c4c4544-0000-0000-0000-000000000001",
    }});
    let agents: Objects<Agent> = life.manager.objects();
    agents.merge(&NamespacedName::new("", MACHINE), Some("status"), status).await?;
    Ok(())
}

/// Waits until the object meets the condition; `None` is an object that does not exist.
async fn until<K: Kind<DynamicType = ()> + std::fmt::Debug>(
    life: &Life,
    key: NamespacedName,
    what: &str,
    done: impl Fn(Option<&K>) -> bool,
) -> Option<Arc<K>> {
    let objects: Objects<K> = life.manager.objects();
    objects.wait_until_synced().await;
    let end = life.clock.now() + chrono::Duration::hours(1);
    loop {
        let object = objects.get(&key);
        if done(object.as_deref()) {
            return object;
        }
        assert!(life.clock.now() < end, "{what}: {object:#?}");
        life.clock.sleep(Duration::from_secs(1)).await;
    }
}

fn key(name: &str) -> NamespacedName {
    NamespacedName::new(NAMESPACE, name)
}

fn live(run: impl AsyncFnOnce(&Life) -> Result<()>) {
    Simulation::bare(1)
        .live(async |life, _| {
            let machines = Machines::new(1, Faults { bmc: 0, hang: 0, instruction: 0 });
            metal::start(&life.manager, Arc::new(machines));
            create::<Namespace>(life, json!({"metadata": {"name": NAMESPACE}})).await?;
            run(life).await
        })
        .expect("a life");
}

#[test]
fn two_hosts_that_claim_a_machine_both_say_so() {
    live(async |life| {
        for name in ["a", "b"] {
            host(life, name, Some(MAC), json!({"metal.firstlight.dev/power": "manual"})).await?;
        }
        machine(life).await?;
        for (name, other) in [("a", "metal/b"), ("b", "metal/a")] {
            until::<BareMetalHost>(life, key(name), "an error", |host| {
                host.and_then(|host| host.status.as_ref()).is_some_and(|status| {
                    status.error_type.as_deref() == Some("registration error")
                        && status.error_message.contains(other)
                        && status.error_message.contains(MACHINE)
                })
            })
            .await;
        }
        let agents: Objects<Agent> = life.manager.objects();
        let agent = agents.get(&NamespacedName::new("", MACHINE)).expect("an agent");
        assert_eq!(agent.spec.host_ref, None, "it is neither");

        let hosts: Objects<BareMetalHost> = life.manager.objects();
        hosts.delete(hosts.get(&key("a")).expect("a host").as_ref()).await?;
        until::<BareMetalHost>(life, key("b"), "no error", |host| {
            host.is_some_and(|host| {
                annotation(host, "metal.firstlight.dev/conflict").is_none()
                    && host.status.as_ref().is_some_and(|status| status.error_type.is_none())
            })
        })
        .await;
        until::<Agent>(life, NamespacedName::new("", MACHINE), "known", |agent| {
            agent.and_then(|agent| agent.spec.host_ref.as_ref()).is_some_and(|host| host.name == "b")
        })
        .await;
        Ok(())
    });
}

#[test]
fn what_a_machine_says_of_itself_makes_it_nobody_and_troubles_nobody() {
    live(async |life| {
        host(life, "a", Some(MAC), json!({"metal.firstlight.dev/power": "manual"})).await?;
        let uuid = "4C4C4544-0000-0000-0000-000000000001";
        let named = json!({"metal.firstlight.dev/power": "manual", "metal.firstlight.dev/system-uuid": uuid});
        host(life, "b", None, named).await?;
        // It claims to be host a with one of its interfaces and host b with its UUID, and has proven only its
        // own identity.
        let other = "52-54-00-00-00-66";
        create::<Agent>(life, json!({"metadata": {"name": other}, "spec": {}})).await?;
        let status = json!({"status": {
            "bootMACAddress": "52:54:00:00:00:66", "macAddresses": ["52:54:00:00:00:66", MAC], "bootID": "start-1",
            "provenBy": "Token", "systemUUID": uuid.to_lowercase(),
        }});
        let agents: Objects<Agent> = life.manager.objects();
        let other = NamespacedName::new("", other);
        agents.merge(&other, Some("status"), status).await?;
        until::<Agent>(life, other.clone(), "inspected as one that nobody knows", |agent| {
            agent.is_some_and(|agent| agent.spec.instruction.is_some())
        })
        .await;
        machine(life).await?;
        until::<Agent>(life, NamespacedName::new("", MACHINE), "known", |agent| {
            agent.and_then(|agent| agent.spec.host_ref.as_ref()).is_some_and(|host| host.name == "a")
        })
        .await;
        let hosts: Objects<BareMetalHost> = life.manager.objects();
        for name in ["a", "b"] {
            let host = hosts.get(&key(name)).expect("a host");
            assert_eq!(annotation(host.as_ref(), "metal.firstlight.dev/conflict"), None, "{name}");
        }
        // An operator approves it as host b.
        agents.merge(&other, None, json!({"spec": {"approved": true}})).await?;
        let known = until::<Agent>(life, other, "known", |agent| {
            agent.and_then(|agent| agent.spec.host_ref.as_ref()).is_some_and(|host| host.name == "b")
        });
        assert_eq!(known.await.expect("an agent").spec.approved, None, "that counts once");
        Ok(())
    });
}

#[test]
fn a_host_without_a_bmc_is_made_ready_to_move_and_taken_back() {
    live(async |life| {
        let infrastructure =
            json!({"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "Metal3Cluster", "name": "c"});
        let cluster = json!({
            "metadata": {"name": "c", "namespace": NAMESPACE},
            "spec": {"paused": false, "infrastructureRef": infrastructure},
        });
        create::<Cluster>(life, cluster).await?;
        let status = json!({
            "errorCount": 0, "errorMessage": "", "operationalStatus": "OK", "poweredOn": true,
            "provisioning": {"ID": "x", "state": "provisioned", "image": {"url": "http://images/a.raw"}},
        });
        let metadata = json!({
            "name": "a", "namespace": NAMESPACE, "labels": {"cluster.x-k8s.io/cluster-name": "c"},
            "annotations": {"metal.firstlight.dev/power": "manual", "baremetalhost.metal3.io/status": status.to_string()},
        });
        let image = json!({"url": "http://images/a.raw", "checksum": "00", "checksumType": "sha256"});
        let spec = json!({"online": true, "bootMACAddress": MAC, "image": image});
        create::<BareMetalHost>(life, json!({"metadata": metadata, "spec": spec})).await?;
        until::<BareMetalHost>(life, key("a"), "in use", |host| {
            host.is_some_and(|host| {
                annotation(host, "firstlight.dev/hand-over").is_none()
                    && host.status.as_ref().is_some_and(|status| status.provisioning.state == "provisioned")
            })
        })
        .await;

        let clusters: Objects<Cluster> = life.manager.objects();
        let patch =
            json!({"metadata": {"annotations": {"firstlight.dev/moving": ""}}, "spec": {"paused": true}});
        clusters.merge(&key("c"), None, patch).await?;
        let ready = until::<BareMetalHost>(life, key("a"), "ready to move", |host| {
            host.is_some_and(|host| annotation(host, "firstlight.dev/hand-over") == Some("ready"))
        })
        .await
        .expect("a host");
        assert!(annotation(ready.as_ref(), "baremetalhost.metal3.io/detached").is_some());
        assert_eq!(annotation(ready.as_ref(), "baremetalhost.metal3.io/paused"), Some("metal3.io/capm3"));
        let credentials = ready.spec.bmc.as_ref().map(|bmc| bmc.credentials_name.clone()).expect("a BMC");
        let secret = until::<Secret>(life, key(&credentials), "credentials", |secret| secret.is_some()).await;
        assert_eq!(secret.and_then(|secret| secret.data.as_ref().map(|data| data.len())), Some(2));
        let status = ready.status.clone().expect("a status");
        assert_eq!((status.operational_status.as_str(), status.provisioning.id.as_str()), ("detached", ""));

        let patch =
            json!({"metadata": {"annotations": {"firstlight.dev/moving": null}}, "spec": {"paused": false}});
        clusters.merge(&key("c"), None, patch).await?;
        let back = until::<BareMetalHost>(life, key("a"), "as it was", |host| {
            host.is_some_and(|host| {
                host.spec.bmc.is_none()
                    && host.status.as_ref().is_some_and(|status| status.operational_status == "OK")
            })
        })
        .await
        .expect("a host");
        assert_eq!(annotation(back.as_ref(), "metal.firstlight.dev/power"), Some("manual"));
        assert_eq!(annotation(back.as_ref(), "baremetalhost.metal3.io/paused"), None);
        assert_eq!(
            back.status.as_ref().map(|status| status.provisioning.state.as_str()),
            Some("provisioned")
        );
        until::<Secret>(life, key(&credentials), "no credentials", |secret| secret.is_none()).await;
        Ok(())
    });
}

fn complains(host: Option<&BareMetalHost>, message: &str) -> bool {
    host.and_then(|host| host.status.as_ref()).is_some_and(|status| status.error_message == message)
}

#[test]
fn a_secret_that_is_not_there_is_named_and_waited_for() {
    live(async |life| {
        let bmc = json!({"address": "ipmi://192.0.2.7", "credentialsName": "bmc"});
        let image = json!({"url": "http://images/a.raw", "checksum": "00", "checksumType": "sha256"});
        let spec = json!({
            "online": true, "bootMACAddress": MAC, "bmc": bmc, "image": image, "userData": {"name": "user"},
            "inspectionMode": "disabled",
        });
        let metadata = json!({"name": "a", "namespace": NAMESPACE});
        create::<BareMetalHost>(life, json!({"metadata": metadata, "spec": spec})).await?;
        let secret = async |name: &str, data: Value| {
            let metadata = json!({"name": name, "namespace": NAMESPACE});
            create::<Secret>(life, json!({"metadata": metadata, "stringData": data})).await
        };
        let says = async |message: &str| {
            until::<BareMetalHost>(life, key("a"), message, |host| complains(host, message)).await
        };
        says("the Secret metal/bmc with the BMC's credentials is not there: create it with the keys username and password").await;
        secret("bmc", json!({"username": "admin"})).await?;
        says("the Secret bmc must hold username and password, both not empty").await;
        let secrets: Objects<Secret> = life.manager.objects();
        secrets.merge(&key("bmc"), None, json!({"data": {"password": "aHVudGVyMg=="}})).await?;
        says("the Secret metal/user of spec.userData is not there: create it").await;
        secret("user", json!({"other": "x"})).await?;
        says("the Secret metal/user of spec.userData has neither the key userData nor value").await;
        secrets.merge(&key("user"), None, json!({"data": {"value": "I2Nsb3VkLWNvbmZpZwo="}})).await?;
        until::<BareMetalHost>(life, key("a"), "being provisioned", |host| {
            host.and_then(|host| host.status.as_ref())
                .is_some_and(|status| status.provisioning.state == "provisioning")
        })
        .await;
        Ok(())
    });
}

const PROTECT_DISKS: &str = "metal.firstlight.dev/protect-disks";

/// Waits until the machine has an instruction with this action.
async fn told(life: &Life, action: &str) {
    until::<Agent>(life, NamespacedName::new("", MACHINE), action, |agent| {
        agent.and_then(|agent| agent.spec.instruction.as_ref()).is_some_and(|told| told.action == action)
    })
    .await;
}

#[test]
fn nothing_is_written_to_the_disks_of_a_protected_host() {
    live(async |life| {
        machine(life).await?;
        let seen = machinery::clock::rfc3339(life.clock.now() + chrono::Duration::hours(1));
        let agents: Objects<Agent> = life.manager.objects();
        let status = json!({"status": {"lastSeenTime": seen}});
        agents.merge(&NamespacedName::new("", MACHINE), Some("status"), status).await?;
        let annotations = json!({"metal.firstlight.dev/power": "manual", PROTECT_DISKS: "true"});
        let image = json!({"url": "http://images/a.raw", "checksum": "00", "checksumType": "sha256"});
        let object = json!({
            "metadata": {"name": "a", "namespace": NAMESPACE, "annotations": annotations},
            "spec": {"online": true, "bootMACAddress": MAC, "image": image, "inspectionMode": "disabled"},
        });
        create::<BareMetalHost>(life, object).await?;
        let is_held = |host: Option<&BareMetalHost>| {
            let status = host.and_then(|host| host.status.as_ref());
            status.is_some_and(|status| {
                ["no image is written", "kubectl annotate bmh a"]
                    .iter()
                    .all(|part| status.error_message.contains(part))
            })
        };
        until::<BareMetalHost>(life, key("a"), "an error", is_held).await;
        let agent = agents.get(&NamespacedName::new("", MACHINE)).expect("an agent");
        assert!(agent.spec.instruction.as_ref().is_none_or(|told| told.action == "Inspect"), "{agent:?}");

        let hosts: Objects<BareMetalHost> = life.manager.objects();
        let protect = |value: Value| json!({"metadata": {"annotations": {PROTECT_DISKS: value}}});
        hosts.merge(&key("a"), None, protect(Value::Null)).await?;
        told(life, "Clean").await;
        hosts.merge(&key("a"), None, protect(json!("true"))).await?;
        until::<BareMetalHost>(life, key("a"), "an error again", is_held).await;
        told(life, "Wait").await;
        Ok(())
    });
}
