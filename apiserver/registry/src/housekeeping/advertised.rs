//! Maintains the Service `kubernetes` in `default`, through which Pods reach the server, with its Endpoints and
//! EndpointSlice.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use kinds::Subresource;
use serde_json::{Value, json};
use store::Event;

use super::part::{self, Part};
use crate::context::{Context, DeleteOptions, Input, PatchBody, Preconditions};
use crate::verbs;
use crate::write::writes::Writes;

const NAMESPACE: &str = "default";
const NAME: &str = "kubernetes";

/// The port of the Service.
const PORT: u16 = 443;

/// Creates the Service `kubernetes` and lets it lead to `address`.
pub(crate) fn start(writes: &Arc<Writes>, address: SocketAddr) {
    for (prefix, kind) in [
        ("/registry/core/services/default/", Kind::Service),
        ("/registry/core/endpoints/default/", Kind::Endpoints),
        ("/registry/discovery.k8s.io/endpointslices/default/", Kind::Slice),
    ] {
        part::run(writes, prefix, |_| Advertised { kind, address, stale: true });
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Service,
    Endpoints,
    Slice,
}

/// One of the three objects.
struct Advertised {
    kind: Kind,
    address: SocketAddr,
    stale: bool,
}

impl Part for Advertised {
    fn observe(&mut self, _: &Writes, event: &Event) {
        self.stale |= event.key().name() == NAME;
    }

    async fn work(&mut self, writes: &Writes) -> bool {
        if std::mem::take(&mut self.stale)
            && let Err(status) = self.reconcile(writes).await
            && !part::is_overtaken(&status)
        {
            tracing::warn!(name = NAME, %status, "the Service or endpoints of this server could not be written");
        }
        false
    }
}

impl Advertised {
    async fn reconcile(&self, writes: &Writes) -> Result<(), machinery::status::Status> {
        let (group, plural) = match self.kind {
            Kind::Service => ("", "services"),
            Kind::Endpoints => ("", "endpoints"),
            Kind::Slice => ("discovery.k8s.io", "endpointslices"),
        };
        let Some(served) = writes.versions().served(group, "v1", plural) else { return Ok(()) };
        let mut context = Context::internal("kube-apiserver");
        let key = crate::storage::keys::object(&served.definition, NAMESPACE, NAME);
        let found: Option<Value> =
            writes.storage().get(&key).and_then(|entry| machinery::decode::own(&entry.value).ok());
        let wanted = self.wanted(writes.allocator().range().api_server());
        match (found, wanted) {
            (None, None) => {}
            (None, Some(wanted)) => {
                verbs::create(writes, &mut context, &served, NAMESPACE, Input::new(wanted)).await?;
            }
            // A real API server also leaves an existing Service unchanged.
            (Some(_), _) if self.kind == Kind::Service => {}
            // The address family of a slice cannot be changed. A slice of another family is deleted below, and its
            // deletion leads to a new one.
            (Some(found), Some(wanted)) if found["addressType"] == wanted["addressType"] => {
                let differs = |field: &str| !wanted[field].is_null() && found[field] != wanted[field];
                let labels = &wanted["metadata"]["labels"];
                let fields: Vec<&str> =
                    ["subsets", "endpoints", "ports"].into_iter().filter(|field| differs(field)).collect();
                if fields.is_empty() && found["metadata"]["labels"] == *labels {
                    return Ok(());
                }
                let mut patch = json!({"metadata": {"labels": labels}});
                fields.into_iter().for_each(|field| patch[field] = wanted[field].clone());
                let patch = PatchBody::Merge(patch.to_string().into());
                let none = Subresource::None;
                verbs::patch(writes, &mut context, &served, NAMESPACE, NAME, none, patch).await?;
            }
            (Some(found), _) => {
                let uid = Some(machinery::meta::uid(&found).to_owned());
                let preconditions = Preconditions { uid, resource_version: None };
                let options = DeleteOptions { preconditions, ..DeleteOptions::default() };
                verbs::delete(writes, &mut context, &served, NAMESPACE, NAME, &options).await?;
            }
        }
        Ok(())
    }

    /// Returns the desired object; `None` if it must not exist.
    fn wanted(&self, service: Ipv4Addr) -> Option<Value> {
        let (address, port) = (self.address.ip(), self.address.port());
        let reachable = !address.is_loopback() && !address.is_unspecified();
        match self.kind {
            Kind::Service => Some(json!({
                "apiVersion": "v1", "kind": "Service",
                "metadata": {"name": NAME, "labels": {"provider": "kubernetes", "component": "apiserver"}},
                "spec": {
                    "clusterIP": service, "ipFamilyPolicy": "SingleStack", "sessionAffinity": "None",
                    "type": "ClusterIP", "ipFamilies": ["IPv4"],
                    "ports": [{"name": "https", "port": PORT, "protocol": "TCP", "targetPort": port}],
                },
            })),
            Kind::Endpoints => reachable.then(|| json!({
                "apiVersion": "v1", "kind": "Endpoints",
                "metadata": {"name": NAME, "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}},
                "subsets": [{
                    "addresses": [{"ip": address}], "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
                }],
            })),
            Kind::Slice => reachable.then(|| json!({
                "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
                "metadata": {"name": NAME, "labels": {"kubernetes.io/service-name": NAME}},
                "addressType": family(address),
                "endpoints": [{"addresses": [address], "conditions": {"ready": true}}],
                "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
            })),
        }
    }
}

fn family(address: IpAddr) -> &'static str {
    if address.is_ipv4() { "IPv4" } else { "IPv6" }
}
