//! Admission by the webhooks and policies that are configured in the API. The compiled configurations are cached, and
//! compiled again after one of them has changed. Without any configuration, a write costs one comparison.

mod attributes;
mod matching;
mod policies;
mod policy;
mod response;
mod webhook;
mod webhooks;

use std::sync::Arc;

use machinery::status::Status;
use parking_lot::Mutex;
use serde_json::Value;

use attributes::Attributes;
use policy::Policy;
use webhook::Webhook;

use crate::context::Context;
use crate::definition::Definition;
use crate::options::Operation;
use crate::registry::Registry;
use crate::write::Target;

/// The group whose objects configure admission. Writes to it are exempt: otherwise a broken configuration could not be
/// repaired.
pub(crate) const GROUP: &str = "admissionregistration.k8s.io";

/// All compiled configurations.
#[derive(Default)]
pub(crate) struct Configured {
    mutating: Vec<Webhook>,
    validating: Vec<Webhook>,
    policies: Vec<Policy>,
}

/// The compiled configurations, and the change counter of the store for which they were compiled.
#[derive(Default)]
pub(crate) struct Cache(Mutex<(Option<u64>, Arc<Configured>)>);

impl Registry {
    /// Returns the current configurations that apply to objects of `definition`, or `None` if there are none.
    fn configured(&self, definition: &Definition) -> Option<Arc<Configured>> {
        if definition.group == GROUP && definition.built_in {
            return None;
        }
        let now = self.storage().admission_changes();
        let mut cache = self.0.admission.0.lock();
        if cache.0 != Some(now) {
            *cache = (Some(now), Arc::new(self.compile()));
        }
        let configured = cache.1.clone();
        drop(cache);
        let nothing = configured.mutating.is_empty()
            && configured.validating.is_empty()
            && configured.policies.is_empty();
        (!nothing).then_some(configured)
    }

    /// Like [`Self::configured`], but `None` if there are no mutating webhooks.
    fn mutating(&self, definition: &Definition) -> Option<Arc<Configured>> {
        self.configured(definition).filter(|configured| !configured.mutating.is_empty())
    }

    fn compile(&self) -> Configured {
        let stored = |plural: &str| self.stored_objects(GROUP, plural, "");
        let webhooks =
            |plural: &str| -> Vec<Webhook> { stored(plural).iter().flat_map(Webhook::all).collect() };
        Configured {
            mutating: webhooks("mutatingwebhookconfigurations"),
            validating: webhooks("validatingwebhookconfigurations"),
            policies: Policy::all(
                &stored("validatingadmissionpolicies"),
                &stored("validatingadmissionpolicybindings"),
            ),
        }
    }

    /// Calls the mutating webhooks, which can change `object`.
    ///
    /// # Errors
    /// The refusal that the client gets.
    pub(crate) async fn call_mutating(
        &self,
        context: &mut Context,
        target: &Target<'_>,
        operation: Operation,
        old: Option<&Value>,
        object: &mut Value,
    ) -> Result<(), Status> {
        let Some(configured) = self.mutating(&target.served.definition) else { return Ok(()) };
        let attributes = Attributes::new(context, target, operation, old);
        webhooks::mutate(self, &configured.mutating, &attributes, object, &mut context.warnings).await
    }

    /// Calls the mutating webhooks for a deletion. They can only refuse it, because there is no new object.
    ///
    /// # Errors
    /// The refusal that the client gets.
    pub(crate) async fn call_mutating_deletion(
        &self,
        context: &mut Context,
        target: &Target<'_>,
        object: &Value,
    ) -> Result<(), Status> {
        if self.mutating(&target.served.definition).is_none() {
            return Ok(());
        }
        self.call_mutating(context, target, Operation::Delete, Some(object), &mut object.clone()).await
    }

    /// Evaluates the policies, then calls the validating webhooks, to decide whether `object` may be written.
    ///
    /// # Errors
    /// The refusal that the client gets.
    pub(crate) async fn call_validating(
        &self,
        context: &mut Context,
        target: &Target<'_>,
        operation: Operation,
        old: Option<&Value>,
        object: &Value,
    ) -> Result<(), Status> {
        let Some(configured) = self.configured(&target.served.definition) else { return Ok(()) };
        let attributes = Attributes::new(context, target, operation, old);
        let warnings = &mut context.warnings;
        policies::validate(self, &configured.policies, &attributes, object, warnings).await?;
        webhooks::validate(self, &configured.validating, &attributes, object, warnings).await
    }
}
