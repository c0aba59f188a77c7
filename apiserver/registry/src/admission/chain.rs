//! The phases of admission: mutation, then validation.

use std::sync::Arc;

use kinds::definition::Definition;
use machinery::status::Status;
use parking_lot::Mutex;
use serde_json::Value;

use super::attributes::Attributes;
use super::configured::Configured;
use super::mutating::{self, Rounds};
use super::mutator::Mutator;
use super::patched::keep_managers;
use super::plugins::Plugins;
use super::policy::Policy;
use super::review::{Admission, Operation, Review};
use super::webhook::Webhook;
use super::{param_rights, policies, webhooks};
use crate::context::Context;
use crate::storage::entries::Storage;
use crate::storage::keys::ADMISSION_GROUP;
use crate::target::Target;
use crate::versions::current::Versions;

/// Everybody who is asked about a write: the embedder's rules, and the webhooks and policies that are configured in the API.
pub(crate) struct AdmissionChain {
    plugins: Plugins,
    rules: Vec<Arc<dyn Admission>>,
    storage: Arc<Storage>,
    versions: Arc<Versions>,
    /// The compiled configurations, and the change counter of the store for which they were compiled.
    configured: Mutex<(Option<u64>, Arc<Configured>)>,
}

impl AdmissionChain {
    pub(crate) fn new(
        plugins: Plugins,
        rules: Vec<Arc<dyn Admission>>,
        storage: Arc<Storage>,
        versions: Arc<Versions>,
    ) -> Self {
        Self { plugins, rules, storage, versions, configured: Mutex::default() }
    }

    /// Calls the built-in plugins, the embedder's rules, the mutating policies and the mutating webhooks, which may change the object. Whether
    /// the user may write it is decided of what they leave.
    pub(crate) async fn mutate(
        &self,
        context: &mut Context,
        target: &Target<'_>,
        operation: Operation,
        old: Option<&Value>,
        object: &mut Value,
    ) -> Result<(), Status> {
        self.plugins.admit(self.versions.reader(), target, operation, old, object).await?;
        for admission in &self.rules {
            let review = self.review(context, target, operation, old);
            let mut warnings = Vec::new();
            let answer = admission.mutate(&review, object, &mut warnings);
            context.warnings.extend(warnings);
            answer?;
        }
        self.call_mutating(context, target, operation, old, object).await?;
        let review = self.review(context, target, operation, old);
        self.rules.iter().try_for_each(|admission| admission.permit(&review, object))
    }

    /// Calls the built-in plugins, the embedder's rules, the policies and the validating webhooks, which may refuse the write.
    pub(crate) async fn validate(
        &self,
        context: &mut Context,
        target: &Target<'_>,
        operation: Operation,
        old: Option<&Value>,
        object: &Value,
    ) -> Result<(), Status> {
        if operation != Operation::Delete {
            param_rights::check(&self.versions, context, target, old, object)?;
        }
        let reader = self.versions.reader();
        let checking = self.plugins.check(&context.aside, reader, target, operation, old, object);
        let warnings = checking.await?;
        context.warnings.extend(warnings);
        for admission in &self.rules {
            let review = self.review(context, target, operation, old);
            let mut warnings = Vec::new();
            let answer = admission.validate(&review, object, &mut warnings);
            context.warnings.extend(warnings);
            answer?;
        }
        self.call_validating(context, target, operation, old, object).await
    }

    fn review<'a>(
        &'a self,
        context: &'a Context,
        target: &Target<'a>,
        operation: Operation,
        old: Option<&'a Value>,
    ) -> Review<'a> {
        Review {
            served: target.served,
            subresource: target.subresource,
            operation,
            namespace: target.namespace,
            name: target.name,
            user: &context.user,
            dry_run: context.dry_run,
            propagation: context.propagation,
            old,
            reader: self.versions.reader(),
        }
    }

    /// Returns the current configurations, or `None` if there are none. Nobody is asked about policies and their bindings.
    fn configured(&self, definition: &Definition) -> Option<Arc<Configured>> {
        if configures_admission(definition)
            && POLICIES.iter().any(|begin| definition.plural.starts_with(begin))
        {
            return None;
        }
        let now = self.storage.admission_changes();
        let mut cache = self.configured.lock();
        if cache.0 != Some(now) {
            *cache = (Some(now), Arc::new(self.compile()));
        }
        let configured = cache.1.clone();
        drop(cache);
        let something =
            configured.mutates() || !configured.validating.is_empty() || !configured.policies.is_empty();
        something.then_some(configured)
    }

    /// Like [`Self::configured`], but `None` if nothing changes objects.
    fn mutating(&self, definition: &Definition) -> Option<Arc<Configured>> {
        self.configured(definition).filter(|configured| configured.mutates())
    }

    fn compile(&self) -> Configured {
        let stored = |plural: &str| self.versions.reader().stored_objects(ADMISSION_GROUP, plural, "");
        let webhooks =
            |plural: &str| -> Vec<Webhook> { stored(plural).iter().flat_map(Webhook::all).collect() };
        Configured {
            mutators: Mutator::all(
                &stored("mutatingadmissionpolicies"),
                &stored("mutatingadmissionpolicybindings"),
            ),
            mutating: webhooks("mutatingwebhookconfigurations"),
            validating: webhooks("validatingwebhookconfigurations"),
            policies: Policy::all(
                &stored("validatingadmissionpolicies"),
                &stored("validatingadmissionpolicybindings"),
            ),
        }
    }

    /// Evaluates the mutating policies, then calls the mutating webhooks. Both can change `object`, and are asked again if others have.
    ///
    /// # Errors
    /// The refusal that the client gets.
    async fn call_mutating(
        &self,
        context: &mut Context,
        target: &Target<'_>,
        operation: Operation,
        old: Option<&Value>,
        object: &mut Value,
    ) -> Result<(), Status> {
        let configured = self.mutating(&target.served.definition).filter(|_| !context.is_start);
        let Some(configured) = configured else { return Ok(()) };
        let attributes = Attributes::new(context, target, operation, old);
        let managers = object["metadata"].get("managedFields").cloned();
        let warnings = &mut context.warnings;
        let webhooks = asked_about(&configured.mutating, &target.served.definition);
        let (policies, mut rounds) = (&configured.mutators, Rounds::default());
        mutating::mutate(&self.versions, policies, &attributes, object, &mut rounds).await?;
        let round = webhooks::mutate(&self.versions, webhooks, &attributes, object, warnings).await?;
        if round.changed || rounds.changed {
            self.plugins.admit(self.versions.reader(), target, operation, old, object).await?;
            rounds.begin_second(object);
            mutating::mutate(&self.versions, policies, &attributes, object, &mut rounds).await?;
        }
        webhooks::mutate_again(&self.versions, webhooks, &attributes, round, object, warnings).await?;
        context.warnings.extend(keep_managers(managers, object));
        Ok(())
    }

    /// Calls the mutating webhooks for a deletion. They can only refuse it, because there is no new object.
    ///
    /// # Errors
    /// The refusal that the client gets.
    pub(crate) async fn mutate_deletion(
        &self,
        context: &mut Context,
        target: &Target<'_>,
        object: &Value,
    ) -> Result<(), Status> {
        // Mutating policies are not asked about deletions.
        let configured = self.configured(&target.served.definition);
        if configured.is_none_or(|configured| configured.mutating.is_empty()) {
            return Ok(());
        }
        self.call_mutating(context, target, Operation::Delete, Some(object), &mut object.clone()).await
    }

    /// Evaluates the policies, then calls the validating webhooks, to decide whether `object` may be written.
    ///
    /// # Errors
    /// The refusal that the client gets.
    async fn call_validating(
        &self,
        context: &mut Context,
        target: &Target<'_>,
        operation: Operation,
        old: Option<&Value>,
        object: &Value,
    ) -> Result<(), Status> {
        let configured = self.configured(&target.served.definition).filter(|_| !context.is_start);
        let Some(configured) = configured else { return Ok(()) };
        let attributes = Attributes::new(context, target, operation, old);
        let warnings = &mut context.warnings;
        policies::validate(&self.versions, &configured.policies, &attributes, object, warnings).await?;
        let webhooks = asked_about(&configured.validating, &target.served.definition);
        webhooks::validate(&self.versions, webhooks, &attributes, object, warnings).await
    }
}

/// What the resources of policies and their bindings begin with.
const POLICIES: [&str; 2] = ["mutatingadmissionpolic", "validatingadmissionpolic"];

fn configures_admission(definition: &Definition) -> bool {
    definition.group == ADMISSION_GROUP && definition.built_in
}

/// Returns the webhooks that are asked about objects of `definition`: none about those that configure admission.
fn asked_about<'w>(webhooks: &'w [Webhook], definition: &Definition) -> &'w [Webhook] {
    if configures_admission(definition) { &[] } else { webhooks }
}
