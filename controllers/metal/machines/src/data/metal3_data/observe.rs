//! Reads the state that the plan of a Metal3Data depends on.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::object::{annotation, uid};
use engine::{NamespacedName, owners};
use schemas::cluster::Machine;
use schemas::infrastructure::{Metal3Data, Metal3DataClaim, Metal3Machine};
use schemas::metal3::BareMetalHost;

use super::DataReconciler;
use super::observed::Observed;
use crate::data::names::{HOST, metadata_secret, network_data_secret};
use crate::data::pools;
use crate::data::subject::Subject;

impl DataReconciler {
    /// Reads the state that the plan of a Metal3Data depends on.
    pub(super) fn observe(&self, data: Arc<Metal3Data>) -> Observed {
        let namespace = data.metadata.namespace.clone().unwrap_or_default();
        let here = |name: &str| NamespacedName::new(namespace.as_str(), name);
        let template = data.spec.template.as_ref().and_then(|template| template.name.as_deref());
        let template = template.and_then(|name| self.templates.get(&here(name)));
        let claim = self.claim_of(&data);
        let owner = claim
            .as_ref()
            .and_then(|claim| owners::find(claim.as_ref(), Metal3Machine::GROUP, Metal3Machine::KIND));
        let metal3_machine = owner.and_then(|owner| self.metal3_machines.get(&here(&owner.name)));
        let host =
            metal3_machine.as_ref().and_then(|machine| annotation(machine.as_ref(), HOST)).map(str::to_owned);
        let found = host.as_deref().and_then(|host| self.host(&namespace, host));
        let missing_host = host.filter(|_| found.is_none());
        let machine = metal3_machine.as_ref().and_then(|machine| self.machine_of(machine));
        let subject = match (&metal3_machine, machine, found) {
            (Some(metal3_machine), Some(machine), Some(host)) => {
                Some(Subject { machine, metal3_machine: metal3_machine.clone(), host })
            }
            _ => None,
        };
        let leases = match (&template, &subject) {
            (Some(template), Some(subject)) => pools::referenced(&template.spec, subject).map(|pools| {
                let leased = |(name, pool)| (name, self.addresses.leased(&data, &subject.host, pool));
                pools.into_iter().map(leased).collect()
            }),
            _ => Ok(BTreeMap::new()),
        };
        let name =
            metal3_machine.as_ref().and_then(|machine| machine.metadata.name.as_deref()).unwrap_or_default();
        Observed {
            template,
            has_claim: claim.is_some(),
            subject,
            missing_host,
            has_metadata: self.secrets.get(&here(&metadata_secret(name))).is_some(),
            has_network_data: self.secrets.get(&here(&network_data_secret(name))).is_some(),
            metal3_machine,
            leases,
            data,
        }
    }

    /// Returns the claim of a Metal3Data. A younger claim of the same name is not its claim.
    fn claim_of(&self, data: &Metal3Data) -> Option<Arc<Metal3DataClaim>> {
        let namespace = data.metadata.namespace.clone().unwrap_or_default();
        let name = data.spec.claim.as_ref()?.name.clone()?;
        let claim = self.claims.get(&NamespacedName::new(namespace, name))?;
        let owner = owners::find(data, Metal3DataClaim::GROUP, Metal3DataClaim::KIND);
        Some(claim).filter(|claim| owner.is_none_or(|owner| owner.uid == uid(claim.as_ref())))
    }

    fn machine_of(&self, metal3_machine: &Metal3Machine) -> Option<Arc<Machine>> {
        self.machines.get(&owners::named::<Machine>(metal3_machine)?)
    }

    /// Returns the host with this `NAMESPACE/NAME`, if it is in the namespace of the data: otherwise an annotation would be enough to
    /// read hosts of other namespaces.
    fn host(&self, own: &str, text: &str) -> Option<Arc<BareMetalHost>> {
        self.hosts.get(&NamespacedName::parse(text).filter(|host| host.namespace == own)?)
    }
}
