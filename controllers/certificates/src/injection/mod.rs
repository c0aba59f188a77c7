//! Injects authorities into webhooks and definitions: objects name a Certificate by annotation, and their `caBundle` becomes its authority.

mod plan;

pub use plan::injected;

use std::sync::Arc;

use engine::{
    Action, Controller, Descriptor, Error, Kind, Manager, NamespacedName, Objects, Reconciler, Request,
    Result,
};
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DynamicObject, PostParams};
use kube::core::{ApiResource, PartialObjectMeta};
use kube::{Api, Client, Resource};

use crate::cluster::{Definitions, Secrets, is_ours, secret};
use crate::names::{INJECT_FROM, INJECT_FROM_SECRET, resource};

/// The descriptor of the controller. It completes objects that others reconcile.
pub const CONTROLLER: Descriptor = Descriptor {
    name: "cainjector",
    reconciles: &[],
    start: |manager, ()| {
        start::<MutatingWebhookConfiguration>(manager, "cainjector-mutating");
        start::<ValidatingWebhookConfiguration>(manager, "cainjector-validating");
        start::<CustomResourceDefinition>(manager, "cainjector-definitions");
    },
};

struct Injection<K: Target> {
    client: Client,
    objects: Objects<PartialObjectMeta<K>>,
    certificates: Objects<DynamicObject>,
    definitions: Definitions,
}

/// A kind into which authorities are injected.
trait Target: Resource<DynamicType = ()> + Clone + std::fmt::Debug + Send + Sync + 'static {}

impl Target for MutatingWebhookConfiguration {}
impl Target for ValidatingWebhookConfiguration {}
impl Target for CustomResourceDefinition {}

fn start<K: Target>(manager: &Manager, name: &'static str) {
    let this = Injection::<K> {
        client: manager.client().clone(),
        objects: manager.objects(),
        certificates: manager.dynamic(&resource("Certificate")),
        definitions: manager.objects(),
    };
    let secrets: Secrets = manager.objects();
    let (of_certificate, of_secret, certificates) =
        (this.objects.clone(), this.objects.clone(), this.certificates.clone());
    Controller::new(manager, name)
        .reconciles(&this.objects)
        .watches(&this.certificates, move |change| wanting(&of_certificate, INJECT_FROM, &change.name()))
        .watches(&secrets, move |change| of_changed(&of_secret, &certificates, &change.name()))
        .reads(&this.definitions)
        .start(this);
}

/// Returns the objects whose annotation names something.
fn wanting<K: Kind>(objects: &Objects<K>, annotation: &str, name: &NamespacedName) -> Vec<Request> {
    let wanted = name.to_string();
    let all = objects.cache().all();
    let names = |one: &&Arc<K>| engine::object::annotation(one.as_ref(), annotation) == Some(wanted.as_str());
    all.iter().filter(names).map(|one| NamespacedName::of(one.as_ref())).collect()
}

/// Returns the objects that depend on a Secret: by its own name, or by that of the Certificate in it.
fn of_changed<K: Kind>(
    objects: &Objects<K>,
    certificates: &Objects<DynamicObject>,
    secret: &NamespacedName,
) -> Vec<Request> {
    let mut all = wanting(objects, INJECT_FROM_SECRET, secret);
    for certificate in certificates.cache().in_namespace(&secret.namespace) {
        if certificate.data["spec"]["secretName"] == secret.name {
            all.extend(wanting(objects, INJECT_FROM, &NamespacedName::of(certificate.as_ref())));
        }
    }
    all
}

impl<K: Target> Reconciler for Injection<K> {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(found) = self.objects.get(&request) else { return Ok(Action::done()) };
        if !is_ours(&self.definitions) {
            return Ok(Action::done());
        }
        let Some(secret) = self.secret_of(found.as_ref()).await? else { return Ok(Action::done()) };
        let Some(bundle) = secret.data.as_ref().and_then(|data| data.get("ca.crt")) else {
            return Ok(Action::done());
        };
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &ApiResource::erase::<K>(&()));
        let failed = |error| Error::api(format!("inject an authority into {request}"), error);
        let Some(object) = api.get_opt(&request.name).await.map_err(failed)? else {
            return Ok(Action::done());
        };
        if let Some(wanted) = plan::injected(&object, &bundle.0) {
            api.replace(&request.name, &PostParams::default(), &wanted).await.map_err(failed)?;
        }
        Ok(Action::done())
    }
}

impl<K: Target> Injection<K> {
    /// Returns the Secret whose authority an object wants.
    async fn secret_of(&self, object: &PartialObjectMeta<K>) -> Result<Option<Arc<Secret>>> {
        let annotation = |key| engine::object::annotation(object, key).and_then(NamespacedName::parse);
        if let Some(name) = annotation(INJECT_FROM_SECRET) {
            // Any Secret would otherwise be readable through a webhook's object. cert-manager has the same rule.
            let allows =
                |found: &Arc<Secret>| engine::object::annotation(found.as_ref(), plan::ALLOW) == Some("true");
            return Ok(secret(&self.client, &name).await?.filter(allows));
        }
        let Some(name) = annotation(INJECT_FROM) else { return Ok(None) };
        let certificate = self.certificates.get(&name);
        let named =
            certificate.and_then(|found| found.data["spec"]["secretName"].as_str().map(str::to_owned));
        match named {
            Some(named) => secret(&self.client, &NamespacedName::new(name.namespace, named)).await,
            None => Ok(None),
        }
    }
}
