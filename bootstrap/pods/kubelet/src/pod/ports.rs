//! The ports of Pods that share the network of this machine.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Result, bail};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use parking_lot::Mutex;

use crate::needs::containers;

/// The ports in use, with the names of their Pods.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ports(Arc<Mutex<BTreeMap<u16, String>>>);

/// The ports of one Pod, as long as it exists.
#[derive(Debug)]
pub(crate) struct Claim {
    all: Ports,
    own: Vec<u16>,
}

impl Ports {
    /// Claims the ports that the containers of a Pod name.
    ///
    /// # Errors
    /// Another Pod has one of them. It would fail to listen there, and say so less clearly.
    pub(crate) fn claim(&self, pod: &Pod) -> Result<Claim> {
        let mut taken = self.0.lock();
        let ports = containers(pod).flat_map(|(container, _)| container.ports.iter().flatten());
        let is_tcp = |protocol: &Option<String>| protocol.as_deref().unwrap_or("TCP") == "TCP";
        let mut own: Vec<u16> = ports
            .filter(|port| is_tcp(&port.protocol))
            .filter_map(|port| u16::try_from(port.container_port).ok())
            .collect();
        own.sort_unstable();
        own.dedup();
        if let Some((port, other)) = own.iter().find_map(|port| Some((port, taken.get(port)?))) {
            bail!(
                "the Pod {other} listens on the port {port}, and both use the network of this machine; give this Pod another port in its arguments"
            );
        }
        let name = format!("{}/{}", pod.namespace().unwrap_or_default(), pod.name_any());
        taken.extend(own.iter().map(|port| (*port, name.clone())));
        Ok(Claim { all: self.clone(), own })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut taken = self.all.0.lock();
        self.own.iter().for_each(|port| drop(taken.remove(port)));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(name: &str, ports: &[i32]) -> Pod {
        let ports: Vec<_> = ports.iter().map(|port| json!({"containerPort": port})).collect();
        serde_json::from_value(json!({
            "metadata": {"name": name, "namespace": "capi-system"},
            "spec": {"containers": [{"name": "manager", "ports": ports}]},
        }))
        .unwrap()
    }

    #[test]
    fn a_port_belongs_to_one_pod() {
        let ports = Ports::default();
        let first = ports.claim(&pod("first", &[9443, 9440, 9440])).unwrap();
        let _other = ports.claim(&pod("other", &[8081])).unwrap();
        let refused = ports.claim(&pod("second", &[8082, 9443])).unwrap_err().to_string();
        assert!(refused.contains("capi-system/first") && refused.contains("9443"), "{refused}");
        drop(first);
        ports.claim(&pod("second", &[8082, 9443])).unwrap();
    }
}
