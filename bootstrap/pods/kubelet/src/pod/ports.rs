//! The ports of Pods that share the network of this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use net::Network;
use parking_lot::Mutex;

use crate::host::ADDRESS;
use crate::needs::containers;
use crate::plan::moved_ports::{Move, wanted};

/// The ports in use, with the names of their Pods.
#[derive(Clone, Debug, Default)]
pub struct Ports(Arc<Mutex<BTreeMap<u16, String>>>);

/// The ports of one Pod, as long as it exists.
#[derive(Debug)]
pub struct Claim {
    all: Ports,
    own: BTreeSet<u16>,
    /// The ports of this Pod that belong to others, and those that it has instead.
    pub moves: BTreeMap<u16, Move>,
}

impl Ports {
    /// Claims the ports that the containers of a Pod name.
    ///
    /// # Errors
    /// Another Pod has one of them. It would fail to listen there, and say so less clearly.
    pub fn claim(&self, pod: &Pod) -> Result<Claim> {
        let claim = self.claim_or_move(pod, &BTreeMap::new());
        if let Some((port, Move { other, .. })) = claim.moves.first_key_value() {
            bail!(
                "{other} listens on the port {port}, and both use the network of this machine; give this Pod another port in its arguments"
            );
        }
        Ok(claim)
    }

    /// The same as [`Self::claim`] for a Pod whose programs are told to listen elsewhere where a port is in use.
    ///
    /// # Errors
    /// There is no free port.
    pub async fn claim_or_find(&self, pod: &Pod, network: &dyn Network) -> Result<Claim> {
        let mut free = BTreeMap::new();
        for port in ports(pod) {
            let is_in_use = network.listen(ADDRESS, port).await.is_err();
            let listener = network.listen(ADDRESS, 0).await.context("this machine has no free port")?;
            let other = is_in_use.then(|| "another program of this machine".to_owned());
            free.insert(port, (listener.port(), other));
        }
        Ok(self.claim_or_move(pod, &free))
    }

    /// Each port that is in use is exchanged for the one in `free`, with which there may be the name of a user who is no Pod.
    fn claim_or_move(&self, pod: &Pod, free: &BTreeMap<u16, (u16, Option<String>)>) -> Claim {
        let name = format!("{}/{}", pod.namespace().unwrap_or_default(), pod.name_any());
        let mut taken = self.0.lock();
        let (mut own, mut moves) = (BTreeSet::new(), BTreeMap::new());
        for port in ports(pod) {
            let other = taken.get(&port).map(|other| format!("the Pod {other}"));
            let (to, others) = free.get(&port).cloned().unwrap_or_default();
            match other.or(others) {
                Some(other) => {
                    moves.insert(port, Move { to, other });
                    own.insert(to);
                }
                None => drop(own.insert(port)),
            }
        }
        // A Pod that is refused claims nothing.
        if free.is_empty() && !moves.is_empty() {
            own.clear();
        }
        taken.extend(own.iter().map(|port| (*port, name.clone())));
        Claim { all: self.clone(), own, moves }
    }
}

fn ports(pod: &Pod) -> BTreeSet<u16> {
    containers(pod).flat_map(|(container, _)| wanted(container)).collect()
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut taken = self.all.0.lock();
        self.own.iter().for_each(|port| drop(taken.remove(port)));
    }
}
