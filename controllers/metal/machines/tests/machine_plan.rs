//! Tables over the plan of a Metal3Machine.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::sync::Arc;

use crate::metal_machines::testing::merge;
use chrono::DateTime;
use engine::{Action, NamespacedName, finalizer};
use metal_machines::limits;
use metal_machines::machine::node::NodeState;
use metal_machines::machine::observed::Observed;
use metal_machines::machine::plan::{Plan, plan};
use metal_machines::machine::status::{
    ASSOCIATED, BOOTSTRAPPED, CLAIMED, DATA_READY, HOST_PROVISIONED, NODE_FOUND,
};
use metal_machines::names::{HOST, HOST_UUID, MACHINE_FINALIZER, NODE_REUSE};
use schemas::cluster::{Cluster, Machine};
use schemas::infrastructure::{Metal3Cluster, Metal3Data, Metal3DataClaim, Metal3Machine};
use schemas::metal3::BareMetalHost;
use schemas::{FromJson, HasConditions};
use serde_json::{Value, json};

fn parse<T: FromJson>(value: Value) -> Arc<T> {
    Arc::new(T::from_json(value.to_string().as_bytes()).unwrap())
}

fn machine(change: Value) -> Arc<Metal3Machine> {
    let mut value = json!({
        "metadata": {"name": "m-0", "namespace": "metal", "uid": "u", "finalizers": [MACHINE_FINALIZER]},
        "spec": {"image": {"url": "http://images/os.raw", "checksum": "abc", "diskFormat": "raw"}},
    });
    merge(&mut value, &change);
    parse(value)
}

fn host(change: Value) -> Arc<BareMetalHost> {
    let mut value = json!({
        "metadata": {"name": "rack1", "namespace": "metal", "uid": "h", "labels": {"rack": "1"}},
        "spec": {"online": false},
        "status": {"provisioning": {"state": "available"}, "hardware": {"hostname": "rack1.local", "nics": [{"ip": "192.0.2.1"}]}},
    });
    merge(&mut value, &change);
    parse(value)
}

fn observed() -> Observed {
    Observed {
        name: NamespacedName::new("metal", "m-0"),
        object: machine(json!({})),
        machine: Some(parse::<Machine>(json!({
            "metadata": {"name": "machine", "namespace": "metal"},
            "spec": {
                "clusterName": "c",
                "bootstrap": {"dataSecretName": "boot", "configRef": {"kind": "KubeadmConfig", "name": "boot"}},
            },
        }))),
        cluster: Some(parse::<Cluster>(json!({
            "metadata": {"name": "c", "namespace": "metal"},
            "status": {"initialization": {"infrastructureProvisioned": true}},
        }))),
        metal3_cluster: Some(parse::<Metal3Cluster>(json!({}))),
        host: None,
        hosts: vec![host(json!({}))],
        reuse: Some("cp-plane".to_owned()),
        is_reusable: false,
        claim: None,
        data: None,
        node: NodeState::Absent,
    }
}

fn with_host(change: Value) -> Observed {
    let mut claimed = host(change).as_ref().clone();
    metal_machines::machine::host::claim(&mut claimed, &NamespacedName::new("metal", "m-0"), "c");
    Observed { host: Some(Arc::new(claimed)), hosts: Vec::new(), ..observed() }
}

fn planned(observed: &Observed) -> Plan {
    plan(observed, DateTime::UNIX_EPOCH)
}

fn reason<'a>(plan: &'a Plan, type_: &str) -> &'a str {
    plan.wanted.condition(type_).map_or("", |condition| condition.reason.as_str())
}

#[test]
fn no_host_is_claimed_too_early() {
    let complete = observed();
    let bare = |change: Value| {
        let mut value = serde_json::to_value(complete.machine.as_deref().unwrap()).unwrap();
        merge(&mut value, &change);
        Some(parse::<Machine>(value))
    };
    let cases = [
        (Observed { machine: None, ..complete.clone() }, "WaitingForMetal3MachineOwnerRef"),
        (
            Observed { cluster: Some(Arc::default()), ..complete.clone() },
            "WaitingForClusterInfrastructureReady",
        ),
        (Observed { metal3_cluster: None, ..complete.clone() }, "WaitingforMetal3Cluster"),
        (
            Observed {
                machine: bare(json!({"spec": {"bootstrap": {"dataSecretName": null}}})),
                ..complete.clone()
            },
            "WaitingForBootstrapData",
        ),
        (Observed { hosts: Vec::new(), ..complete.clone() }, "AssociateBareMetalHostFailed"),
    ];
    for (observed, expected) in cases {
        let plan = planned(&observed);
        assert_eq!((reason(&plan, ASSOCIATED), plan.candidates.len()), (expected, 0));
        assert!(plan.host.is_none() && !plan.wanted.condition_is_true("Ready"), "{expected}");
    }
    let plan = planned(&complete);
    assert_eq!(plan.candidates.len(), 1);
}

#[test]
fn without_a_data_template_the_image_is_written_at_once() {
    let plan = planned(&with_host(json!({})));
    let host = plan.host.unwrap();
    assert_eq!(host.spec.image.unwrap().url, "http://images/os.raw");
    assert_eq!(host.spec.user_data.unwrap().name.as_deref(), Some("boot"));
    assert!(host.spec.online && host.spec.meta_data.is_none());
    assert_eq!(plan.wanted.metadata.annotations.unwrap()[HOST], "metal/rack1");
    assert_eq!(plan.wanted.status.unwrap().user_data.unwrap().name.as_deref(), Some("boot"));
}

#[test]
fn an_image_is_written_only_once() {
    let plan =
        planned(&with_host(json!({"spec": {"image": {"url": "http://images/older.raw"}, "online": true}})));
    assert!(plan.host.is_none(), "{:?}", plan.host);
}

#[test]
fn with_a_data_template_the_image_waits_for_the_data() {
    let template = json!({"spec": {"dataTemplate": {"name": "t"}}});
    let first = Observed { object: machine(template), ..with_host(json!({})) };
    let plan = planned(&first);
    let claim = plan.create_claim.clone().unwrap();
    assert_eq!(claim.metadata.name.as_deref(), Some("m-0"));
    assert_eq!(claim.spec.template.unwrap().name.as_deref(), Some("t"));
    assert!(plan.host.is_none());

    let claim = |status: Value| {
        Some(parse::<Metal3DataClaim>(json!({"spec": {"template": {"name": "t"}}, "status": status})))
    };
    let data = |status: Value| {
        Some(parse::<Metal3Data>(json!({
            "metadata": {"name": "t-0", "namespace": "metal"},
            "spec": {"metaData": {"name": "m-0-metadata"}, "networkData": {"name": "m-0-networkdata"}},
            "status": status,
        })))
    };
    let cases = [
        (claim(json!({"errorMessage": "no template t"})), None, CLAIMED, "no template t"),
        (claim(json!({})), None, DATA_READY, "Metal3DataTemplate t has no data for this machine yet"),
        (
            claim(json!({})),
            data(json!({})),
            DATA_READY,
            "Metal3Data t-0 is not ready: its Secrets are being rendered",
        ),
        (
            claim(json!({})),
            data(json!({"errorMessage": "no NIC eth9"})),
            DATA_READY,
            "Metal3Data t-0 is not ready: no NIC eth9",
        ),
    ];
    for (claim, data, type_, message) in cases {
        let plan = planned(&Observed { claim, data, ..first.clone() });
        assert_eq!(plan.wanted.condition(type_).unwrap().message, message);
        assert!(plan.host.is_none());
    }
    let ready = Observed { claim: claim(json!({})), data: data(json!({"ready": true})), ..first };
    let host = planned(&ready).host.unwrap();
    assert_eq!(host.spec.meta_data.unwrap().name.as_deref(), Some("m-0-metadata"));
    assert_eq!(host.spec.network_data.unwrap().name.as_deref(), Some("m-0-networkdata"));
    assert_eq!(host.spec.user_data.unwrap().name.as_deref(), Some("boot"));
}

#[test]
fn the_node_completes_the_machine() {
    let provisioned = with_host(json!({
        "spec": {"image": {"url": "http://images/os.raw"}, "online": true},
        "status": {"provisioning": {"state": "provisioned"}},
    }));
    let plan = planned(&provisioned);
    assert_eq!(
        (reason(&plan, HOST_PROVISIONED), reason(&plan, NODE_FOUND)),
        ("Provisioned", "WaitingForNode")
    );
    assert!(plan.wanted.spec.provider_id.is_none());
    let addresses = plan.wanted.status.unwrap().addresses;
    assert_eq!(addresses.len(), 3, "{addresses:?}");

    let node = parse(json!({"metadata": {"name": "n", "labels": {HOST_UUID: "h"}}}));
    let plan = planned(&Observed { node: NodeState::Found(node), ..provisioned });
    let id = Some("metal3://metal/rack1/m-0");
    assert_eq!(plan.wanted.spec.provider_id.as_deref(), id);
    assert_eq!(plan.node.unwrap().spec.unwrap().provider_id.as_deref(), id);
    assert!(plan.wanted.condition_is_true("Ready"), "{:?}", plan.wanted.conditions());
    assert_eq!(plan.wanted.status.unwrap().initialization.unwrap().provisioned, Some(true));
}

#[test]
fn a_provisioned_machine_takes_no_second_host() {
    let done = json!({
        "spec": {"providerID": "metal3://metal/rack9/m-0"},
        "status": {"initialization": {"provisioned": true}},
    });
    let plan = planned(&Observed { object: machine(done), ..observed() });
    assert!(plan.candidates.is_empty());
    assert!(plan.wanted.condition(ASSOCIATED).unwrap().message.contains("delete the Machine"));
}

#[test]
fn a_host_is_released_after_it_is_deprovisioned() {
    let deleting = machine(json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}));
    let provisioned = json!({
        "spec": {"image": {"url": "http://images/os.raw"}, "userData": {"name": "boot"}, "online": true},
        "status": {"provisioning": {"state": "provisioned"}},
    });
    let with = |change: Value| Observed { object: deleting.clone(), is_reusable: true, ..with_host(change) };
    let emptied = planned(&with(provisioned));
    let host = emptied.host.clone().unwrap();
    assert!(host.spec.image.is_none() && host.spec.user_data.is_none() && !host.spec.online);
    assert!(host.spec.consumer_ref.is_some() && finalizer::has(&emptied.wanted, MACHINE_FINALIZER));
    assert_eq!(reason(&emptied, HOST_PROVISIONED), "Deprovisioning");

    // The Cluster was paused when the machine was deleted.
    let paused =
        json!({"metadata": {"annotations": {metal::names::PAUSED: metal::names::PAUSED_BY_PROVIDER}}});
    let unpaused = planned(&with(paused)).host.unwrap();
    assert!(unpaused.metadata.annotations.unwrap_or_default().is_empty());

    let waiting = planned(&with(json!({"status": {"provisioning": {"state": "deprovisioning"}}})));
    assert!(waiting.host.is_none() && finalizer::has(&waiting.wanted, MACHINE_FINALIZER));

    let released = planned(&with(json!({})));
    let host = released.host.clone().unwrap();
    assert!(host.spec.consumer_ref.is_none() && !finalizer::has(&released.wanted, MACHINE_FINALIZER));
    assert_eq!(host.metadata.labels.unwrap()[NODE_REUSE], "cp-plane");

    let gone = planned(&Observed { object: deleting, host: None, ..observed() });
    assert!(!finalizer::has(&gone.wanted, MACHINE_FINALIZER));
}

#[test]
fn reports_about_the_bootstrap_become_a_condition() {
    const START: &str = "2026-11-22T08:50:00Z";
    const END: &str = "2026-11-22T09:00:00Z";
    let report = |state: &str, message: &str| {
        let report = json!({"provisioning": START, "state": state, "stage": "kubeadm certs", "message": message,
            "time": "2026-11-22T09:10:00Z", "number": 1});
        Some(report.to_string())
    };
    let silence = limits::SILENCE.as_secs() as i64;
    let late = silence + 600;
    let absent = || NodeState::Absent;
    let found = || NodeState::Found(parse(json!({"metadata": {"name": "n", "labels": {HOST_UUID: "h"}}})));
    // Seconds are since the end of the provisioning; the report came after 600.
    for (annotation, node, seconds, expected, message, again) in [
        (None, absent(), 0, "Bootstrapping", "not reported yet", Some(silence)),
        (None, absent(), silence - 1, "Bootstrapping", "not reported yet", Some(1)),
        (None, absent(), silence, "BootstrapSilent", "no report and no Node 15 minutes", None),
        (None, absent(), silence + 1, "BootstrapSilent", "no report and no Node 15 minutes", None),
        (None, NodeState::NotConnected, 60, "Bootstrapping", "not reported yet", Some(silence - 60)),
        (None, found(), late, "", "", None),
        (report("Running", "line"), absent(), 600, "Bootstrapping", "kubeadm certs: line", Some(silence)),
        (report("Running", ""), absent(), late - 1, "Bootstrapping", "kubeadm certs", Some(1)),
        (
            report("Running", "line"),
            absent(),
            late,
            "BootstrapSilent",
            "The last report: kubeadm certs: line",
            None,
        ),
        (report("Running", "line"), found(), late, "", "", None),
        (report("Failed", "one\ntwo"), absent(), late, "BootstrapFailed", "kubeadm certs: one\ntwo", None),
        (report("Failed", "one"), found(), late, "BootstrapFailed", "kubeadm certs: one", None),
        (report("Succeeded", ""), absent(), late, "BootstrapSucceeded", "", None),
    ] {
        let observed = with_host(json!({
            "metadata": {"annotations": annotation.clone().map(|text| json!({metal::names::BOOTSTRAP: text}))},
            "spec": {"image": {"url": "http://images/os.raw"}, "online": true},
            "status": {
                "provisioning": {"state": "provisioned"},
                "operationHistory": {"provision": {"start": START, "end": END}},
            },
        }));
        let now = machinery::clock::parse_rfc3339(END).unwrap() + chrono::Duration::seconds(seconds);
        let case = format!("{annotation:?} {node:?} {seconds}");
        let plan = plan(&Observed { node, ..observed }, now);
        assert_eq!(reason(&plan, BOOTSTRAPPED), expected, "{case}");
        let condition = plan.wanted.condition(BOOTSTRAPPED);
        let text = condition.map_or("", |condition| condition.message.as_str());
        assert!(text.contains(message), "{case}: {text}");
        let wait = |seconds: i64| std::time::Duration::from_secs(seconds as u64);
        assert_eq!(
            plan.action,
            again.map_or(Action::done(), |again| Action::requeue_after(wait(again))),
            "{case}"
        );
        let ready = plan.wanted.condition("Ready").unwrap();
        assert!(
            expected.is_empty()
                || condition.unwrap().status == "True"
                || ready.message.contains(message.rsplit('\n').next().unwrap()),
            "{ready:?}"
        );
    }
}
