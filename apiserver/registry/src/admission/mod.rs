//! Admission by what is configured in the API: webhooks and policies. The configurations are kept compiled, and compiled
//! again when one of them has changed; without any, a write pays for one comparison.

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

pub(crate) use attributes::Attributes;
use policy::Policy;
use webhook::Webhook;

use crate::registry::Registry;

/// The group whose objects configure admission. They are not subject to it: a broken configuration could not be mended.
pub(crate) const GROUP: &str = "admissionregistration.k8s.io";

/// All configurations, compiled.
#[derive(Default)]
pub(crate) struct Configured {
    mutating: Vec<Webhook>,
    validating: Vec<Webhook>,
    policies: Vec<Policy>,
}

/// The compiled configurations, and the state of the store that they show.
#[derive(Default)]
pub(crate) struct Cache(Mutex<(Option<u64>, Arc<Configured>)>);

impl Registry {
    /// What is configured now; `None` when nothing is.
    fn configured(&self) -> Option<Arc<Configured>> {
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

    /// Lets mutating webhooks change `object`.
    ///
    /// # Errors
    /// The refusal that the client gets.
    pub(crate) async fn call_mutating(
        &self,
        attributes: &Attributes<'_>,
        object: &mut Value,
        warnings: &mut Vec<String>,
    ) -> Result<(), Status> {
        if attributes.exempt() {
            return Ok(());
        }
        match self.configured().filter(|configured| !configured.mutating.is_empty()) {
            Some(configured) => {
                webhooks::mutate(self, &configured.mutating, attributes, object, warnings).await
            }
            None => Ok(()),
        }
    }

    /// Asks policies, then validating webhooks, whether `object` may be written.
    ///
    /// # Errors
    /// The refusal that the client gets.
    pub(crate) async fn call_validating(
        &self,
        attributes: &Attributes<'_>,
        object: &Value,
        warnings: &mut Vec<String>,
    ) -> Result<(), Status> {
        if attributes.exempt() {
            return Ok(());
        }
        let Some(configured) = self.configured() else { return Ok(()) };
        policies::validate(self, &configured.policies, attributes, object, warnings).await?;
        webhooks::validate(self, &configured.validating, attributes, object, warnings).await
    }
}
