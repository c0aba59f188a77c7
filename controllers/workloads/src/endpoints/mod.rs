//! The EndpointSlices of Services: one for each Service with a selector, with the addresses of its Pods. Webhooks that name a Service find
//! their process through it.

mod plan;

use engine::object::is_deleting;
use engine::{Action, Controller, Descriptor, Manager, NamespacedName, Objects, Reconciler, Request, Result};
use k8s_openapi::api::core::v1::{Namespace, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::ResourceExt;

use crate::namespaces::{is_within, of_namespace};

pub use plan::address_on_host;

/// The descriptor of the controller. Of a Service, it reconciles nothing but the addresses.
pub const CONTROLLER: Descriptor =
    Descriptor { name: "endpointslice", reconciles: &[], start: |manager, ()| start(manager) };

struct Endpoints {
    services: Objects<Service>,
    slices: Objects<EndpointSlice>,
    pods: Objects<Pod>,
    namespaces: Objects<Namespace>,
}

fn start(manager: &Manager) {
    let this = Endpoints {
        services: manager.objects(),
        slices: manager.objects(),
        pods: manager.objects(),
        namespaces: manager.objects(),
    };
    let (of_pods, of_namespaces) = (this.services.clone(), this.services.clone());
    Controller::new(manager, CONTROLLER.name)
        .reconciles(&this.services)
        .owns(&this.slices, "", "Service")
        .watches(&this.pods, move |change| {
            engine::controller::requests_of(&of_pods.cache().in_namespace(&change.name().namespace))
        })
        .watches(&this.namespaces, move |change| of_namespace(&of_namespaces, change))
        .start(this);
}

impl Reconciler for Endpoints {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(service) = self.services.get(&request) else { return Ok(Action::done()) };
        if is_deleting(service.as_ref()) || !is_within(&self.namespaces, &request.namespace) {
            return Ok(Action::done());
        }
        let pods = self.pods.cache().in_namespace(&request.namespace);
        let Some(wanted) = plan::slice(&service, &pods) else { return Ok(Action::done()) };
        let key = NamespacedName::new(request.namespace, wanted.name_any());
        match self.slices.get(&key) {
            None => drop(self.slices.create_if_absent(&wanted).await?),
            Some(found) if found.endpoints == wanted.endpoints && found.ports == wanted.ports => {}
            Some(found) => {
                let mut changed = found.as_ref().clone();
                (changed.endpoints, changed.ports) = (wanted.endpoints, wanted.ports);
                self.slices.update(&changed).await?;
            }
        }
        Ok(Action::done())
    }
}
