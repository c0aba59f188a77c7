//! The server's own subresources and their paths.

use std::sync::Arc;

use http::Method;
use machinery::clock::Clock;
use registry::Registry;

use super::node::Node;
use super::{binding, eviction, kubelet};
use crate::resources::connect::{Connect, ConnectResource};

const ALL: &[Method] = &[Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
const BOTH: &[Method] = &[Method::GET, Method::POST];
const POST: &[Method] = &[Method::POST];
const GET: &[Method] = &[Method::GET];

/// Returns the subresources of this server; those of the embedding program at the same path take precedence.
pub(crate) fn all(
    registry: &Registry,
    clock: &Clock,
    node: Option<&Arc<dyn Node>>,
) -> Vec<(ConnectResource, Arc<dyn Connect>)> {
    let place = |resource, subresource, kind, methods| ConnectResource {
        group: "",
        version: "v1",
        resource,
        subresource,
        kind,
        kind_group_version: None,
        methods,
    };
    let kubelet = |what| -> Arc<dyn Connect> {
        Arc::new(kubelet::Kubelet { registry: registry.clone(), what, node: node.cloned() })
    };
    let eviction = ConnectResource {
        kind_group_version: Some(("policy", "v1")),
        ..place("pods", "eviction", "Eviction", POST)
    };
    vec![
        (eviction, Arc::new(eviction::Eviction { registry: registry.clone(), clock: clock.clone() })),
        (place("pods", "binding", "Binding", POST), Arc::new(binding::Bind(registry.clone()))),
        (place("pods", "log", "Pod", GET), kubelet(kubelet::What::Log)),
        (place("pods", "exec", "PodExecOptions", BOTH), kubelet(kubelet::What::Container)),
        (place("pods", "attach", "PodAttachOptions", BOTH), kubelet(kubelet::What::Container)),
        (place("pods", "portforward", "PodPortForwardOptions", BOTH), kubelet(kubelet::What::Host)),
        (place("pods", "proxy", "PodProxyOptions", ALL), kubelet(kubelet::What::PodProxy)),
        (place("services", "proxy", "ServiceProxyOptions", ALL), kubelet(kubelet::What::ServiceProxy)),
        (place("nodes", "proxy", "NodeProxyOptions", ALL), kubelet(kubelet::What::NodeProxy)),
    ]
}
