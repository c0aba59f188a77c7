//! Machines that run the agent: which host each is, and unknown ones that an operator approves.

use std::sync::Arc;

use engine::{Action, Controller, Error, Manager, NamespacedName, Objects, Reconciler, Request, Result};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemas::metal3::{BareMetalHost, BareMetalHostSpec};
use schemas::netboot::Agent;
use serde_json::json;

use crate::host::host_of;
use crate::instruction::{Action as Instructed, Instruction};
use crate::names::POWER;

/// Where hosts are made of approved machines.
const NAMESPACE: &str = "default";

/// Starts the controller.
pub fn start(manager: &Manager) {
    let reconciler = MachineReconciler { agents: manager.objects(), hosts: manager.objects() };
    let all = reconciler.agents.clone();
    Controller::new(manager, "agent")
        .reconciles(&reconciler.agents.clone())
        // A host may be what an unknown machine is; of another host's machine it changes nothing.
        .watches(&reconciler.hosts.clone(), move |change| {
            let host = change.name();
            let concerns = |agent: &&Arc<Agent>| host_of(agent).is_none_or(|known| known == host);
            all.all().iter().filter(concerns).map(|agent| NamespacedName::of(agent.as_ref())).collect()
        })
        .start(reconciler);
}

struct MachineReconciler {
    agents: Objects<Agent>,
    hosts: Objects<BareMetalHost>,
}

/// What is to be done about a machine.
#[derive(Debug, PartialEq)]
enum Plan {
    Nothing,
    /// It is this host.
    Is(NamespacedName),
    /// Its host is gone: it is unknown again.
    IsNobody,
    /// It becomes a host with this MAC address.
    Becomes(String),
    /// Nobody knows it: it is inspected once in each start, so that an operator sees what it is.
    IsInspected(Instruction, String),
}

/// Whether the machine has an interface with that address.
fn has_address(agent: &Agent, mac: &str) -> bool {
    let status = agent.status.as_ref();
    status.is_some_and(|status| {
        status.mac_addresses.iter().chain(&status.boot_mac_address).any(|own| own.eq_ignore_ascii_case(mac))
    })
}

/// Whether the machine has the serial number that an inspection found at the host.
fn has_serial(agent: &Agent, host: &BareMetalHost) -> bool {
    let known =
        (|| host.status.as_ref()?.hardware.as_ref()?.system_vendor.as_ref()?.serial_number.as_deref())();
    let own = agent.status.as_ref().and_then(|status| status.serial_number.as_deref());
    matches!((known, own), (Some(known), Some(own)) if !own.is_empty() && known == own)
}

fn plan(agent: &Agent, hosts: &[Arc<BareMetalHost>]) -> Plan {
    if let Some(key) = host_of(agent) {
        let is_there = hosts.iter().any(|host| NamespacedName::of(host.as_ref()) == key);
        return if is_there { Plan::Nothing } else { Plan::IsNobody };
    }
    let by_address = |host: &&Arc<BareMetalHost>| {
        host.spec.boot_mac_address.as_deref().is_some_and(|mac| has_address(agent, mac))
    };
    let by_serial =
        |host: &&Arc<BareMetalHost>| host.spec.boot_mac_address.is_none() && has_serial(agent, host);
    if let Some(host) = hosts.iter().find(by_address).or_else(|| hosts.iter().find(by_serial)) {
        return Plan::Is(NamespacedName::of(host.as_ref()));
    }
    let mac = agent.status.as_ref().and_then(|status| status.boot_mac_address.clone());
    match mac {
        Some(mac) if agent.spec.approved == Some(true) => Plan::Becomes(mac),
        _ => inspect(agent).unwrap_or(Plan::Nothing),
    }
}

fn inspect(agent: &Agent) -> Option<Plan> {
    let boot = agent.status.as_ref()?.boot_id.clone()?;
    let told = agent.spec.instruction.as_ref();
    if told.is_some_and(|told| told.boot_id.as_deref() == Some(boot.as_str())) {
        return None;
    }
    Some(Plan::IsInspected(Instruction { id: format!("inspect/{boot}"), action: Instructed::Inspect }, boot))
}

impl Reconciler for MachineReconciler {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(agent) = self.agents.get(&request) else { return Ok(Action::done()) };
        match plan(&agent, &self.hosts.all()) {
            Plan::Nothing => {}
            Plan::Is(host) => {
                let patch = json!({"spec": {"hostRef": {"namespace": host.namespace, "name": host.name}}});
                self.agents.merge(&request, None, patch).await?;
            }
            Plan::IsNobody => {
                let patch = json!({"spec": {"hostRef": null, "instruction": null, "approved": null}});
                self.agents.merge(&request, None, patch).await?;
            }
            Plan::IsInspected(instruction, boot) => {
                let instruction = serde_json::to_value(instruction.to_spec(Some(boot)));
                let instruction =
                    instruction.map_err(|error| Error::json("an instruction".to_owned(), error))?;
                self.agents.merge(&request, None, json!({"spec": {"instruction": instruction}})).await?;
            }
            Plan::Becomes(mac) => {
                let host = BareMetalHost {
                    metadata: ObjectMeta {
                        name: Some(format!("host-{}", request.name)),
                        namespace: Some(NAMESPACE.to_owned()),
                        annotations: Some([(POWER.to_owned(), "manual".to_owned())].into()),
                        ..ObjectMeta::default()
                    },
                    spec: BareMetalHostSpec {
                        online: true,
                        boot_mac_address: Some(mac),
                        ..BareMetalHostSpec::default()
                    },
                    ..BareMetalHost::default()
                };
                self.hosts.create_if_absent(&host).await?;
            }
        }
        Ok(Action::done())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schemas::netboot::{AgentHostReference, AgentSpec, AgentStatus};

    fn agent(approved: bool, host: Option<&str>) -> Agent {
        let host_ref = host.map(|name| AgentHostReference { namespace: "default".into(), name: name.into() });
        Agent {
            spec: AgentSpec { approved: Some(approved), host_ref, ..AgentSpec::default() },
            status: Some(AgentStatus {
                boot_mac_address: Some("52:54:00:00:00:01".into()),
                mac_addresses: vec!["52:54:00:00:00:01".into(), "52:54:00:00:00:02".into()],
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

    #[test]
    fn a_machine_is_the_host_that_has_its_address() {
        let hosts = [host("a", "52:54:00:00:00:09"), host("b", "52:54:00:00:00:02")];
        let b = NamespacedName::new("default", "b");
        assert_eq!(plan(&agent(false, None), &hosts), Plan::Is(b));
        assert_eq!(plan(&agent(false, Some("b")), &hosts), Plan::Nothing);
        assert_eq!(plan(&agent(false, Some("gone")), &hosts), Plan::IsNobody);
        assert_eq!(
            plan(&agent(false, None), &hosts[..1]),
            Plan::Nothing,
            "unknown, and nobody has approved it"
        );
        let mut started = agent(false, None);
        started.status.get_or_insert_default().boot_id = Some("start-1".into());
        assert!(matches!(plan(&started, &hosts[..1]), Plan::IsInspected(_, boot) if boot == "start-1"));
        assert_eq!(plan(&agent(true, None), &hosts[..1]), Plan::Becomes("52:54:00:00:00:01".into()));
    }
}
