//! The content of a Service's EndpointSlice.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use engine::object::is_deleting;
use k8s_openapi::api::core::v1::{Container, ObjectReference, Pod, Service, ServicePort};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointConditions, EndpointPort, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::ResourceExt;
use machinery::hash::fnv1a_32;

use crate::readiness::ready_since;

const SERVICE_NAME: &str = "kubernetes.io/service-name";
const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";

/// The first of the addresses that stand for Pods in the network of this machine, and their number.
const ON_HOST: (Ipv4Addr, u32) = (Ipv4Addr::new(198, 19, 128, 0), 1 << 15);

/// Returns the address in slices of a Pod that uses the network of this machine. Its own is loopback, which the API refuses there. It comes from the
/// addresses of Services, none of which reaches so far. Only the kubelet can tell the Pod from it, by the Pod's UID.
pub fn address_on_host(uid: &str) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(ON_HOST.0) + fnv1a_32(uid.as_bytes()) % ON_HOST.1)
}

/// Returns the slice of a Service among the Pods of its namespace; `None` for a Service without selector, whose addresses are somebody
/// else's matter.
pub fn slice(service: &Service, pods: &[Arc<Pod>]) -> Option<EndpointSlice> {
    let spec = service.spec.as_ref()?;
    let selector = spec.selector.as_ref().filter(|selector| !selector.is_empty())?;
    let is_selected = |pod: &&Arc<Pod>| {
        selector.iter().all(|(key, value)| pod.labels().get(key) == Some(value)) && address(pod).is_some()
    };
    let mut selected: Vec<&Arc<Pod>> = pods.iter().filter(is_selected).collect();
    selected.sort_by_key(|pod| pod.name_any());
    let ports = spec.ports.iter().flatten().filter_map(|port| endpoint_port(port, &selected)).collect();
    let labels = [(SERVICE_NAME, service.name_any()), (MANAGED_BY, "firstlight".to_owned())];
    Some(EndpointSlice {
        metadata: ObjectMeta {
            name: Some(format!("{}-firstlight", service.name_any())),
            namespace: service.namespace(),
            labels: Some(labels.map(|(key, value)| (key.to_owned(), value)).into()),
            owner_references: Some(vec![engine::owners::controller_reference(service, &())]),
            ..ObjectMeta::default()
        },
        address_type: "IPv4".to_owned(),
        endpoints: Some(selected.iter().filter_map(|pod| endpoint(pod)).collect()),
        ports: Some(ports),
    })
}

fn address(pod: &Pod) -> Option<String> {
    let address = pod.status.as_ref()?.pod_ip.clone()?;
    let is_loopback = address.parse().is_ok_and(|address: IpAddr| address.is_loopback());
    Some(if is_loopback { address_on_host(pod.metadata.uid.as_deref()?).to_string() } else { address })
}

fn endpoint(pod: &Arc<Pod>) -> Option<Endpoint> {
    let is_ready = ready_since(pod).is_some() && !is_deleting(pod.as_ref());
    Some(Endpoint {
        addresses: vec![address(pod)?],
        conditions: Some(EndpointConditions {
            ready: Some(is_ready),
            serving: Some(ready_since(pod).is_some()),
            terminating: Some(is_deleting(pod.as_ref())),
        }),
        target_ref: Some(ObjectReference {
            kind: Some("Pod".to_owned()),
            name: Some(pod.name_any()),
            namespace: pod.namespace(),
            uid: pod.uid(),
            ..ObjectReference::default()
        }),
        ..Endpoint::default()
    })
}

/// Returns the port of the Pods for a port of the Service.
fn endpoint_port(port: &ServicePort, pods: &[&Arc<Pod>]) -> Option<EndpointPort> {
    let number = match &port.target_port {
        None => Some(port.port),
        Some(IntOrString::Int(number)) => Some(*number),
        Some(IntOrString::String(name)) => pods.iter().find_map(|pod| named(pod, name)),
    };
    Some(EndpointPort {
        name: Some(port.name.clone().unwrap_or_default()),
        port: Some(number?),
        protocol: Some(port.protocol.clone().unwrap_or_else(|| "TCP".to_owned())),
        app_protocol: port.app_protocol.clone(),
    })
}

fn named(pod: &Pod, name: &str) -> Option<i32> {
    let containers: &[Container] =
        pod.spec.as_ref().map(|spec| spec.containers.as_slice()).unwrap_or_default();
    let mut ports = containers.iter().flat_map(|container| container.ports.iter().flatten());
    ports.find(|port| port.name.as_deref() == Some(name)).map(|port| port.container_port)
}
