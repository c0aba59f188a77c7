//! The admission that kube-apiserver has built in. It comes before the webhooks, so that they see complete objects, and again after those
//! that changed the object.

use std::time::Duration;

use kinds::Subresource;
use kinds::account;
use machinery::clock::Clock;
use machinery::meta;
use machinery::random::Random;
use machinery::status::Status;
use serde_json::Value;

use super::limit_ranger;
use super::pod_security::PodSecurity;
use super::review::Operation;
use crate::aside::Aside;
use crate::target::Target;
use crate::versions::reader::Reader;

/// Maximum time that a new pod waits for the account that each namespace gets.
const ACCOUNT_WAIT: Duration = Duration::from_millis(1500);

/// The plugins.
pub(crate) struct Plugins {
    /// Whether pods are completed from their ServiceAccounts.
    accounts: bool,
    clock: Clock,
    random: Random,
}

impl Plugins {
    pub(crate) fn new(accounts: bool, clock: Clock, random: Random) -> Self {
        Self { accounts, clock, random }
    }

    /// Completes an object that is created or updated, or refuses it.
    ///
    /// # Errors
    /// The refusal that the client gets.
    pub(crate) async fn admit(
        &self,
        reader: Reader<'_>,
        target: &Target<'_>,
        operation: Operation,
        old: Option<&Value>,
        object: &mut Value,
    ) -> Result<(), Status> {
        limit_ranger::complete(reader, target, operation, old, object);
        if target.subresource != Subresource::None {
            return Ok(());
        }
        let strategy = target.served.strategy();
        let refused = match (operation, old) {
            (Operation::Create, _) => {
                if self.accounts && is_pod(target) {
                    self.complete(reader, target, object).await?;
                }
                strategy.admit_create(object, &reader)
            }
            (Operation::Update, Some(old)) => strategy.admit_update(object, old, &reader),
            _ => Ok(()),
        };
        refused.map_err(|why| forbidden(target, object, &why))
    }

    /// Checks an object after webhooks may have changed it, and returns warnings.
    ///
    /// # Errors
    /// The refusal that the client gets.
    pub(crate) async fn check(
        &self,
        aside: &Aside,
        reader: Reader<'_>,
        target: &Target<'_>,
        operation: Operation,
        old: Option<&Value>,
        object: &Value,
    ) -> Result<Vec<String>, Status> {
        limit_ranger::check(reader, target, operation, old, object)?;
        self.check_account(reader, target, operation, object).await?;
        let security = PodSecurity { storage: reader.storage(), clock: &self.clock, aside };
        security.check(target, operation, old, object).await
    }

    /// Checks a new pod, and new ephemeral containers of a pod, as its account allows them.
    async fn check_account(
        &self,
        reader: Reader<'_>,
        target: &Target<'_>,
        operation: Operation,
        object: &Value,
    ) -> Result<(), Status> {
        let is_ephemeral = match (operation, target.subresource) {
            (Operation::Create, Subresource::None) => false,
            (Operation::Update, Subresource::EphemeralContainers) => true,
            _ => return Ok(()),
        };
        if !self.accounts || !is_pod(target) {
            return Ok(());
        }
        let refused = |why: &str| forbidden(target, object, why);
        if !is_ephemeral && account::is_mirror(object) {
            return account::check_mirror(object).map_err(refused);
        }
        let name = account::name_of(object);
        if name.is_empty() {
            let why =
                format!("no service account specified for pod {}/{}", target.namespace, meta::name(object));
            return Err(refused(&why));
        }
        let account = self.account(reader, target, object, name).await?;
        if is_ephemeral {
            // kube-apiserver answers with the bare reason, which makes it an internal error.
            let checked = account::check_ephemeral_secrets(object, &account);
            return checked.map_err(|why| Status::new(500, "", why));
        }
        account::check_secrets(object, &account).map_err(|why| refused(&why))
    }

    async fn complete(&self, reader: Reader<'_>, target: &Target<'_>, pod: &mut Value) -> Result<(), Status> {
        if account::is_mirror(pod) {
            return account::check_mirror(pod).map_err(|why| forbidden(target, pod, why));
        }
        let name = match account::name_of(pod) {
            "" => account::DEFAULT.to_owned(),
            name => name.to_owned(),
        };
        let found = self.account(reader, target, pod, &name).await?;
        account::complete(pod, &found, || machinery::names::generate("kube-api-access-", &self.random));
        Ok(())
    }

    /// Returns an account. Waits for the account `default`, which a namespace has soon after its creation.
    async fn account(
        &self,
        reader: Reader<'_>,
        target: &Target<'_>,
        pod: &Value,
        name: &str,
    ) -> Result<Value, Status> {
        let find = || reader.stored_object("", "serviceaccounts", target.namespace, name);
        let missing = || {
            let why = format!(
                "error looking up service account {}/{name}: serviceaccount \"{name}\" not found",
                target.namespace
            );
            forbidden(target, pod, &why)
        };
        if let Some(found) = find() {
            return Ok(found);
        }
        if name != account::DEFAULT {
            return Err(missing());
        }
        let prefix = format!("/registry/core/serviceaccounts/{}/", target.namespace);
        let storage = reader.storage();
        let mut changes = storage.watch(&prefix, storage.revision()).map_err(|_| missing())?;
        let waiting = async {
            loop {
                if let Some(found) = find() {
                    return Some(found);
                }
                changes.next().await.ok()?;
            }
        };
        let found = tokio::select! {
            biased;
            found = waiting => found,
            () = self.clock.sleep(ACCOUNT_WAIT) => None,
        };
        found.ok_or_else(missing)
    }
}

fn is_pod(target: &Target<'_>) -> bool {
    let definition = &target.served.definition;
    definition.group.is_empty() && definition.plural == "pods" && definition.built_in
}

/// Returns the refusal of an object, which need not have its name yet.
pub(crate) fn forbidden(target: &Target<'_>, object: &Value, why: &str) -> Status {
    let generated = || object["metadata"]["generateName"].as_str().filter(|name| !name.is_empty());
    let name = Some(meta::name(object)).filter(|name| !name.is_empty()).or_else(generated);
    Status::forbidden(target.served.resource(), name.unwrap_or("Unknown"), why)
}
