//! Tests of `machines`.

use std::sync::Arc;

use engine::NamespacedName;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use metal::machines::{Plan, claimants};
use schemas::metal3::{BareMetalHost, BareMetalHostSpec};
use schemas::netboot::{Agent, AgentHostReference, AgentSpec, AgentStatus};

fn agent(approved: bool, host: Option<&str>) -> Agent {
    let host_ref = host.map(|name| AgentHostReference { namespace: "default".into(), name: name.into() });
    Agent {
        spec: AgentSpec { approved: Some(approved), host_ref, ..AgentSpec::default() },
        status: Some(AgentStatus {
            boot_mac_address: Some("52:54:00:00:00:01".into()),
            mac_addresses: vec!["52:54:00:00:00:01".into(), "52:54:00:00:00:02".into()],
            proven_by: Some("Token".into()),
            ..AgentStatus::default()
        }),
        ..Agent::default()
    }
}

fn host(name: &str, mac: &str) -> Arc<BareMetalHost> {
    Arc::new(BareMetalHost {
        metadata: ObjectMeta {
            name: Some(name.into()),
            namespace: Some("default".into()),
            ..ObjectMeta::default()
        },
        spec: BareMetalHostSpec { boot_mac_address: Some(mac.into()), ..BareMetalHostSpec::default() },
        ..BareMetalHost::default()
    })
}

fn plan(agent: &Agent, hosts: &[Arc<BareMetalHost>]) -> Plan {
    metal::machines::plan(agent, hosts, &claimants(agent, hosts, |_| None))
}

#[test]
fn a_machine_that_two_hosts_claim_is_neither() {
    let hosts = [host("a", "52:54:00:00:00:01"), host("b", "52:54:00:00:00:01")];
    assert_eq!(plan(&agent(true, None), &hosts), Plan::Nothing);
    assert_eq!(plan(&agent(true, Some("b")), &hosts), Plan::Nothing, "what it was it stays");
}

#[test]
fn a_machine_is_the_host_that_has_its_address() {
    let hosts = [host("a", "52:54:00:00:00:02"), host("b", "52:54:00:00:00:01")];
    let b = NamespacedName::new("default", "b");
    assert_eq!(plan(&agent(false, None), &hosts), Plan::Is(b));
    assert_eq!(plan(&agent(false, Some("b")), &hosts), Plan::Nothing);
    assert_eq!(plan(&agent(false, Some("gone")), &hosts), Plan::IsNobody);
    assert_eq!(plan(&agent(false, None), &hosts[..1]), Plan::Nothing, "unknown, and nobody has approved it");
    let mut started = agent(false, None);
    started.status.get_or_insert_default().boot_id = Some("start-1".into());
    assert!(matches!(plan(&started, &hosts[..1]), Plan::IsInspected(_, boot) if boot == "start-1"));
    assert_eq!(plan(&agent(true, None), &hosts[..1]), Plan::Becomes("52:54:00:00:00:01".into()));
    let mut unproven = agent(false, None);
    unproven.status.get_or_insert_default().proven_by = None;
    assert_eq!(plan(&unproven, &hosts), Plan::Nothing, "it only says so");
    unproven.spec.approved = Some(true);
    assert_eq!(plan(&unproven, &hosts), Plan::Is(NamespacedName::new("default", "b")));
}
