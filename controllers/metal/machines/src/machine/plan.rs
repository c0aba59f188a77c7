//! The plan of a Metal3Machine (`contract/metal3`, §2.2 and §2.3). Pure.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use engine::object::is_deleting;
use engine::{Action, conditions, owners, paused};
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use metal::names::PAUSED_BY_PROVIDER;
use metal::state::HostState;
use metal::summary::HostSummary;
use schemas::cluster::{Machine, MachineAddress};
use schemas::infrastructure::{
    Metal3DataClaim, Metal3DataClaimSpec, Metal3Machine, Metal3MachineStatus, Metal3ObjectReference,
};
use schemas::meta::Condition;
use schemas::metal3::{BareMetalHost, SecretReference};

use super::host::{self, Secrets};
use super::node::{NodeState, provider_id};
use super::observed::Observed;
use super::status::{ASSOCIATED, CLAIMED, DATA_READY, HOST_PROVISIONED, NODE_FOUND, summarize_all};
use crate::choice::{Choice, Wish, choose, explain};
use crate::consumer::ConsumerKind;
use crate::limits::LOOK_AGAIN;
use crate::names::{HOST, HOST_UUID, MACHINE_FINALIZER};

/// The steps for a Metal3Machine, and its wanted state.
#[derive(Debug)]
pub struct Plan {
    /// The wanted Metal3Machine.
    pub wanted: Metal3Machine,
    /// The hosts to claim: the first one that nobody else claims at the same time.
    pub candidates: Vec<Arc<BareMetalHost>>,
    /// The wanted state of its host.
    pub host: Option<BareMetalHost>,
    /// The data claim to create.
    pub create_claim: Option<Metal3DataClaim>,
    /// Whether its data claim is deleted.
    pub delete_claim: bool,
    /// The wanted state of its Node.
    pub node: Option<Node>,
    /// When to reconcile again.
    pub action: Action,
}

/// Makes the plan.
pub fn plan(observed: &Observed, now: DateTime<Utc>) -> Plan {
    let mut wanted = observed.object.as_ref().clone();
    paused::set(&mut wanted, observed.cluster.as_deref(), now);
    let plan = Plan {
        wanted,
        candidates: Vec::new(),
        host: None,
        create_claim: None,
        delete_claim: false,
        node: None,
        action: Action::done(),
    };
    let mut planner = Planner { observed, plan, now };
    let is_deleting = is_deleting(observed.object.as_ref());
    if is_deleting {
        planner.delete();
    } else {
        // `None` means that a condition says what the machine waits for.
        let _ = planner.run();
    }
    let mut plan = planner.plan;
    plan.host = plan.host.filter(|host| observed.host.as_deref() != Some(host));
    summarize_all(&mut plan.wanted, is_deleting, now);
    plan
}

/// A plan that is being made.
pub(super) struct Planner<'a> {
    pub(super) observed: &'a Observed,
    pub(super) plan: Plan,
    pub(super) now: DateTime<Utc>,
}

impl<'a> Planner<'a> {
    fn run(&mut self) -> Option<()> {
        let machine = self.prerequisites()?;
        let host = self.associated()?;
        let secrets = self.secrets(machine)?;
        if let Some(wanted) = &mut self.plan.host {
            host::deploy(wanted, &self.observed.object.spec, &secrets);
        }
        self.provisioned(host)?;
        self.bootstrapped(host, machine);
        self.addresses(host);
        self.node(host)
    }

    pub(super) fn set(&mut self, condition: Condition) {
        conditions::set(&mut self.plan.wanted, self.now, condition);
    }

    /// Sets the condition that says what the machine waits for.
    fn wait<T>(&mut self, type_: &str, reason: &str, message: impl Into<String>) -> Option<T> {
        self.set(conditions::is_false(type_, reason, message));
        None
    }

    fn status(&mut self) -> &mut Metal3MachineStatus {
        self.plan.wanted.status.get_or_insert_default()
    }

    /// Returns whether the machine was provisioned before. Then it needs nothing but its host.
    pub(super) fn was_provisioned(&self) -> bool {
        let object = self.observed.object.as_ref();
        let initialization = object.status.as_ref().and_then(|status| status.initialization.as_ref());
        object.spec.provider_id.is_some()
            && initialization.is_some_and(|initialization| initialization.provisioned == Some(true))
    }

    /// Returns the Machine, once a host may be claimed for it.
    fn prerequisites(&mut self) -> Option<&'a Machine> {
        let observed = self.observed;
        let Some(machine) = observed.machine.as_deref() else {
            return self.wait(
                ASSOCIATED,
                "WaitingForMetal3MachineOwnerRef",
                "no Machine owns this object yet",
            );
        };
        if self.was_provisioned() {
            return Some(machine);
        }
        let initialization =
            observed.cluster.as_ref().and_then(|cluster| cluster.status.as_ref()?.initialization.as_ref());
        if initialization.and_then(|initialization| initialization.infrastructure_provisioned) != Some(true) {
            let message = "the infrastructure of the Cluster is not provisioned yet";
            return self.wait(ASSOCIATED, "WaitingForClusterInfrastructureReady", message);
        }
        if observed.metal3_cluster.is_none() {
            let message = "spec.infrastructureRef of the Cluster names no Metal3Cluster that exists";
            return self.wait(ASSOCIATED, "WaitingforMetal3Cluster", message);
        }
        if machine.spec.bootstrap.data_secret_name.is_none() {
            let message = "the bootstrap data of the Machine do not exist yet";
            return self.wait(ASSOCIATED, "WaitingForBootstrapData", message);
        }
        Some(machine)
    }

    /// Returns the machine's host. If it has none, the plan claims one.
    fn associated(&mut self) -> Option<&'a BareMetalHost> {
        let observed = self.observed;
        let Some(host) = observed.host.as_deref() else { return self.choose() };
        let cluster = observed.machine.as_ref().map(|machine| machine.spec.cluster_name.as_str());
        let mut wanted = host.clone();
        host::claim(&mut wanted, &observed.name, cluster.unwrap_or_default());
        crate::host::unpause(&mut wanted, PAUSED_BY_PROVIDER);
        self.plan.host = Some(wanted);
        let name =
            format!("{}/{}", observed.name.namespace, host.metadata.name.as_deref().unwrap_or_default());
        self.plan.wanted.metadata.annotations.get_or_insert_default().insert(HOST.to_owned(), name);
        let has_reason = conditions::has(&self.status().conditions, ASSOCIATED, conditions::TRUE);
        if !has_reason {
            self.set(conditions::is_true(ASSOCIATED, "AssociateBareMetalHostSuccess"));
        }
        Some(host)
    }

    fn choose(&mut self) -> Option<&'a BareMetalHost> {
        let observed = self.observed;
        if self.was_provisioned() {
            let message =
                "the BareMetalHost of this machine does not exist any more; delete the Machine to replace it";
            return self.wait(ASSOCIATED, "AssociateBareMetalHostFailed", message);
        }
        let spec = &observed.object.spec;
        let wish = Wish {
            kind: ConsumerKind::Machine,
            name: &observed.name,
            uid: engine::object::uid(observed.object.as_ref()),
            selector: spec.host_selector.as_ref(),
            failure_domain: spec.failure_domain.as_deref(),
            reuse: observed.reuse.as_deref(),
        };
        let message = match choose(&observed.hosts, wish) {
            Choice::Own(host) => {
                self.plan.candidates = vec![host];
                return None;
            }
            Choice::Fitting { hosts, reused } => {
                self.plan.candidates = hosts;
                if reused {
                    self.set(conditions::is_true(ASSOCIATED, "AssociateBareMetalHostViaNodeReuseSuccess"));
                }
                return None;
            }
            Choice::WaitsForReuse(hosts) => {
                format!("waiting for a host that is kept for this machine (node reuse): {}", explain(&hosts))
            }
            Choice::None(misfits) => format!("no host fits: {}", explain(&misfits)),
        };
        self.plan.action = Action::requeue_after(LOOK_AGAIN);
        self.wait(ASSOCIATED, "AssociateBareMetalHostFailed", message)
    }

    /// Returns the Secrets for the host, once they are rendered.
    fn secrets(&mut self, machine: &Machine) -> Option<Secrets> {
        let spec = &self.observed.object.spec;
        let namespace = &self.observed.name.namespace;
        let reference = |name: Option<String>| {
            name.map(|name| SecretReference { name: Some(name), namespace: Some(namespace.clone()) })
        };
        let bootstrap = machine.spec.bootstrap.data_secret_name.clone();
        let own = |secret: &Option<SecretReference>| reference(secret.as_ref()?.name.clone());
        let mut secrets = Secrets {
            user_data: reference(bootstrap).or_else(|| own(&spec.user_data)),
            meta_data: own(&spec.meta_data),
            network_data: own(&spec.network_data),
        };
        if spec.data_template.is_some() {
            let data = self.data()?;
            let rendered = |secret: &Option<SecretReference>| secret.as_ref()?.name.clone();
            secrets.meta_data = reference(rendered(&data.spec.meta_data)).or(secrets.meta_data);
            secrets.network_data = reference(rendered(&data.spec.network_data)).or(secrets.network_data);
            self.set(conditions::is_true(DATA_READY, "Metal3DataSecretsReady"));
        } else {
            self.set(conditions::is_true(DATA_READY, "SecretsSetExternally"));
        }
        let status = self.status();
        status.user_data.clone_from(&secrets.user_data);
        status.meta_data.clone_from(&secrets.meta_data);
        status.network_data.clone_from(&secrets.network_data);
        Some(secrets)
    }

    /// Returns the rendered data of the machine's claim. If there is no claim, the plan creates it.
    fn data(&mut self) -> Option<&'a schemas::infrastructure::Metal3Data> {
        let observed = self.observed;
        let Some(claim) = observed.claim.as_deref() else {
            self.plan.create_claim = Some(data_claim(&observed.object));
            return self.wait(DATA_READY, "WaitingForMetal3Data", "the Metal3DataClaim is being created");
        };
        let status = claim.status.as_ref();
        if let Some(message) = status.and_then(|status| status.error_message.clone()) {
            return self.wait(CLAIMED, "AssociateMetal3MachineMetaDataFailed", message);
        }
        self.set(conditions::is_true(CLAIMED, "AssociateMetal3MachineMetaDataSuccess"));
        let Some(data) = observed.data.as_deref() else {
            let template = claim.spec.template.as_ref().and_then(|template| template.name.as_deref());
            let message = format!(
                "Metal3DataTemplate {} has no data for this machine yet",
                template.unwrap_or_default()
            );
            return self.wait(DATA_READY, "WaitingForMetal3Data", message);
        };
        let name = data.metadata.name.clone();
        self.status().rendered_data =
            Some(Metal3ObjectReference { name: name.clone(), namespace: data.metadata.namespace.clone() });
        let status = data.status.clone().unwrap_or_default();
        if status.ready != Some(true) {
            let why = status.error_message.unwrap_or_else(|| "its Secrets are being rendered".to_owned());
            let message = format!("Metal3Data {} is not ready: {why}", name.unwrap_or_default());
            return self.wait(DATA_READY, "WaitingForMetal3Data", message);
        }
        Some(data)
    }

    /// Returns whether the host runs the machine's image.
    fn provisioned(&mut self, host: &BareMetalHost) -> Option<()> {
        if self.was_provisioned() || HostState::of(host) == HostState::Provisioned {
            self.set(conditions::is_true(HOST_PROVISIONED, "Provisioned"));
            return Some(());
        }
        self.wait(HOST_PROVISIONED, "Provisioning", host_message(host))
    }

    fn addresses(&mut self, host: &BareMetalHost) {
        let hardware = host.status.as_ref().and_then(|status| status.hardware.as_ref());
        let Some(hardware) = hardware else { return };
        let address = |type_: &str, address: &str| MachineAddress {
            type_: type_.to_owned(),
            address: address.to_owned(),
        };
        let of_nics = hardware.nics.iter().filter_map(|nic| nic.ip.as_deref()).filter(|ip| !ip.is_empty());
        let mut addresses: Vec<MachineAddress> = of_nics.map(|ip| address("InternalIP", ip)).collect();
        if let Some(hostname) = hardware.hostname.as_deref().filter(|name| !name.is_empty()) {
            addresses.push(address("Hostname", hostname));
            addresses.push(address("InternalDNS", hostname));
        }
        self.status().addresses = addresses;
    }

    /// Finds the machine's Node, gives it the provider ID, and with that the machine is provisioned.
    fn node(&mut self, host: &BareMetalHost) -> Option<()> {
        let observed = self.observed;
        let id = provider_id(&observed.name, host.metadata.name.as_deref().unwrap_or_default());
        let has_bootstrap =
            observed.machine.as_ref().is_some_and(|machine| machine.spec.bootstrap.config_ref.is_some());
        match &observed.node {
            NodeState::Found(node) => {
                let found =
                    node.spec.as_ref().and_then(|spec| spec.provider_id.clone()).filter(|id| !id.is_empty());
                if found.is_none() {
                    let mut wanted = node.as_ref().clone();
                    wanted.spec.get_or_insert_default().provider_id = Some(id.clone());
                    self.plan.node = Some(wanted);
                }
                self.plan.wanted.spec.provider_id.get_or_insert(found.unwrap_or(id));
                self.set(conditions::is_true(NODE_FOUND, "NodeFound"));
            }
            NodeState::Wrong(message) => return self.wait(NODE_FOUND, "WrongNode", message.as_str()),
            NodeState::NotConnected if self.was_provisioned() => {
                self.set(conditions::is_unknown(
                    NODE_FOUND,
                    "NotConnected",
                    "the workload cluster cannot be reached",
                ));
            }
            // Nothing else would tell Cluster API that a machine without a bootstrap configuration is there.
            NodeState::Absent | NodeState::NotConnected if !has_bootstrap => {
                self.plan.wanted.spec.provider_id.get_or_insert(id);
            }
            NodeState::NotConnected => {
                let message =
                    "the host runs its image; the API server of the workload cluster does not answer yet";
                return self.wait(NODE_FOUND, "WaitingForNode", message);
            }
            NodeState::Absent => {
                let uid = engine::object::uid(host);
                let message = format!(
                    "the host runs its image; no Node has the label {HOST_UUID}={uid} or the provider ID {id} yet. \
                     The kubelet sets the label if kubeletExtraArgs has node-labels: {HOST_UUID}={{{{ ds.meta_data.uuid }}}}"
                );
                return self.wait(NODE_FOUND, "WaitingForNode", message);
            }
        }
        self.status().initialization.get_or_insert_default().provisioned = Some(true);
        Some(())
    }
}

/// Returns what the host does or waits for.
pub(super) fn host_message(host: &BareMetalHost) -> String {
    let summary = HostSummary::of(host, &[]);
    let name = host.metadata.name.as_deref().unwrap_or_default();
    match summary.waiting_for.is_empty() {
        true => format!("BareMetalHost {name} is {}", summary.stage),
        false => format!("BareMetalHost {name} is {}, waiting for {}", summary.stage, summary.waiting_for),
    }
}

fn data_claim(object: &Metal3Machine) -> Metal3DataClaim {
    let template = object.spec.data_template.as_ref();
    Metal3DataClaim {
        metadata: ObjectMeta {
            name: object.metadata.name.clone(),
            namespace: object.metadata.namespace.clone(),
            labels: object.metadata.labels.clone(),
            owner_references: Some(vec![owners::controller_reference(object, &())]),
            finalizers: Some(vec![MACHINE_FINALIZER.to_owned()]),
            ..ObjectMeta::default()
        },
        spec: Metal3DataClaimSpec {
            template: template.map(|template| Metal3ObjectReference {
                name: template.name.clone(),
                namespace: template.namespace.clone().or_else(|| object.metadata.namespace.clone()),
            }),
        },
        status: None,
    }
}
