//! Assigns machines that run the agent to hosts, and makes hosts of unknown machines that an operator approves.

use std::sync::Arc;

use agent_protocol::Instruction;
use engine::controller::requests_of;
use engine::object::annotation;
use engine::{Action, Controller, Manager, NamespacedName, Objects, Reconciler, Request, Result};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemas::metal3::{BareMetalHost, BareMetalHostSpec, HardwareData};
use schemas::netboot::Agent;
use serde_json::json;

use crate::host::host_of;
use crate::identity::{self, Identity};
use crate::instruction;
use crate::names::{APPROVAL, CONFLICT, POWER};

/// The namespace of hosts that are made of approved machines.
const NAMESPACE: &str = "default";

/// Starts the controller.
pub fn start(manager: &Manager) {
    let reconciler = MachineReconciler {
        agents: manager.objects(),
        hosts: manager.objects(),
        hardware: manager.objects(),
    };
    let (all, hardware) = (reconciler.agents.clone(), reconciler.hardware.clone());
    Controller::new(manager, "agent")
        .reconciles(&reconciler.agents.clone())
        // A host may match an unassigned machine, or claim an assigned one; it does not affect other machines of other hosts.
        .watches(&reconciler.hosts.clone(), move |change| {
            let host = change.name();
            let known = hardware.get(&host);
            let claims: Vec<Identity<'_>> =
                change.objects().map(|host| Identity::of(host, known.as_deref())).collect();
            let concerns = |agent: &&Arc<Agent>| {
                host_of(agent).is_none_or(|known| known == host)
                    || claims.iter().any(|claim| claim.is_of(agent) || claim.is_vouched_for(agent))
            };
            requests_of(all.all().iter().filter(concerns))
        })
        .reads(&reconciler.hardware.clone())
        .start(reconciler);
}

struct MachineReconciler {
    agents: Objects<Agent>,
    hosts: Objects<BareMetalHost>,
    hardware: Objects<HardwareData>,
}

/// The decision about a machine.
#[derive(Debug, PartialEq)]
pub enum Plan {
    /// There is nothing to do.
    Nothing,
    /// The machine belongs to this host.
    Is(NamespacedName),
    /// The machine's host was deleted, so the machine is unassigned again.
    IsNobody,
    /// The machine becomes a new host with this MAC address.
    Becomes(String),
    /// The machine is unknown: it is inspected once in each start, so that an operator sees its inventory.
    IsInspected(Instruction, String),
}

/// Decides which host a machine is, if any.
pub fn plan(agent: &Agent, hosts: &[Arc<BareMetalHost>], claimants: &[NamespacedName]) -> Plan {
    if let Some(key) = host_of(agent) {
        let is_there = hosts.iter().any(|host| NamespacedName::of(host.as_ref()) == key);
        return if is_there { Plan::Nothing } else { Plan::IsNobody };
    }
    if let [only] = claimants {
        return Plan::Is(only.clone());
    }
    let mac = agent.status.as_ref().and_then(|status| status.boot_mac_address.clone());
    match mac {
        Some(mac) if agent.spec.approved == Some(true) && claimants.is_empty() => Plan::Becomes(mac),
        _ => inspect(agent).unwrap_or(Plan::Nothing),
    }
}

/// Returns the hosts that match the machine: those with its proven MAC address, else those that match because a person has approved it.
pub fn claimants(
    agent: &Agent,
    hosts: &[Arc<BareMetalHost>],
    inspected: impl Fn(&NamespacedName) -> Option<Arc<HardwareData>>,
) -> Vec<NamespacedName> {
    let named = |found: &mut dyn Iterator<Item = &Arc<BareMetalHost>>| -> Vec<NamespacedName> {
        let mut names: Vec<_> = found.map(|host| NamespacedName::of(host.as_ref())).collect();
        names.sort();
        names
    };
    let by_address = named(&mut hosts.iter().filter(|host| Identity::of(host, None).is_of(agent)));
    if !by_address.is_empty() || !identity::is_approved(agent) {
        return by_address;
    }
    named(&mut hosts.iter().filter(|host| {
        let hardware = inspected(&NamespacedName::of(host.as_ref()));
        Identity::of(host, hardware.as_deref()).is_vouched_for(agent)
    }))
}

fn inspect(agent: &Agent) -> Option<Plan> {
    let boot = agent.status.as_ref()?.boot_id.clone()?;
    let told = agent.spec.instruction.as_ref();
    if told.is_some_and(|told| told.boot_id.as_deref() == Some(boot.as_str())) {
        return None;
    }
    Some(Plan::IsInspected(
        Instruction { id: format!("inspect/{boot}"), action: agent_protocol::Action::Inspect },
        boot,
    ))
}

impl MachineReconciler {
    /// Returns the hosts that match the machine.
    fn claimants(&self, agent: &Agent, hosts: &[Arc<BareMetalHost>]) -> Vec<NamespacedName> {
        claimants(agent, hosts, |host| self.hardware.get(host))
    }

    /// Sets the conflict annotation on all hosts that claim the same machine, and removes it when the conflict is over.
    async fn report_conflicts(
        &self,
        machine: &str,
        claimants: &[NamespacedName],
        hosts: &[Arc<BareMetalHost>],
    ) -> Result<()> {
        for host in hosts {
            let key = NamespacedName::of(host.as_ref());
            let known = annotation(host.as_ref(), CONFLICT);
            let is_of_this = known.is_none_or(|known| identity::is_of(known, machine));
            let is_claimed = claimants.len() > 1 && claimants.contains(&key);
            let wanted = is_claimed.then(|| identity::conflict(machine, &key, claimants));
            if is_of_this && known != wanted.as_deref() {
                let patch = json!({"metadata": {"annotations": {CONFLICT: wanted}}});
                self.hosts.merge(&key, None, patch).await?;
            }
        }
        Ok(())
    }
}

impl Reconciler for MachineReconciler {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let hosts = self.hosts.all();
        let Some(agent) = self.agents.get(&request) else {
            self.report_conflicts(&request.name, &[], &hosts).await?;
            return Ok(Action::done());
        };
        let claimants = self.claimants(&agent, &hosts);
        self.report_conflicts(&request.name, &claimants, &hosts).await?;
        match plan(&agent, &hosts, &claimants) {
            Plan::Nothing => {}
            Plan::Is(host) => {
                let is_proven = agent.status.as_ref().is_some_and(|status| status.proven_by.is_some());
                if !is_proven {
                    let patch = json!({"status": {"provenBy": APPROVAL}});
                    self.agents.merge(&request, Some("status"), patch).await?;
                }
                // An approval counts once, for the machine that the person saw.
                let host = json!({"namespace": host.namespace, "name": host.name});
                let patch = json!({"spec": {"hostRef": host, "approved": null}});
                self.agents.merge(&request, None, patch).await?;
            }
            Plan::IsNobody => {
                let patch = json!({"spec": {"hostRef": null, "instruction": null, "approved": null}});
                self.agents.merge(&request, None, patch).await?;
            }
            Plan::IsInspected(instruction, boot) => {
                let patch = instruction::replacement(&instruction::store(&instruction, Some(boot)));
                self.agents.merge(&request, None, patch).await?;
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
