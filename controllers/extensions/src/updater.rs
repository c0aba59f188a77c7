//! Runtime extensions as those that update machines in place: their three hooks, of which each can have one handler.

use std::collections::BTreeMap;

use engine::in_place::{Decision, Objects, Progress, Subject, Updater, nobody};
use engine::{Error, Result};
use futures::FutureExt;
use futures::future::BoxFuture;
use schemas::cluster::Cluster;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::client::Client;
use crate::hooks::Hook;
use crate::in_place;

impl Client {
    /// Calls the only handler of a hook. Returns its name and its answer; `None` if there is none.
    async fn call_only(
        &self,
        hook: Hook,
        cluster: &Cluster,
        request: &Value,
    ) -> Result<Option<(String, Value)>> {
        let namespace = cluster.metadata.namespace.as_deref().unwrap_or_default();
        let Some(handler) = self.only_handler(hook, namespace).await? else { return Ok(None) };
        let answer = self.call(hook, &handler, namespace, &BTreeMap::new(), request).await?;
        Ok(Some((handler, answer)))
    }

    /// Asks for patches, and decides by them.
    async fn decide<P: DeserializeOwned>(
        &self,
        hook: Hook,
        cluster: &Cluster,
        request: &Value,
        decide: impl FnOnce(&P) -> Result<Decision, String>,
    ) -> Result<Decision> {
        let Some((handler, answer)) = self.call_only(hook, cluster, request).await? else {
            return Ok(nobody());
        };
        let failed = |why: String| Error::failed(format!("{} of {handler}: {why}", hook.name()));
        let patches = serde_json::from_value(answer).map_err(|error| failed(error.to_string()))?;
        decide(&patches).map_err(failed)
    }
}

impl Updater for Client {
    fn is_present<'a>(&'a self, cluster: &'a Cluster) -> BoxFuture<'a, Result<bool>> {
        async move {
            if !self.uses_extensions() {
                return Ok(false);
            }
            let namespace = cluster.metadata.namespace.as_deref().unwrap_or_default();
            for hook in [Hook::CanUpdateMachine, Hook::CanUpdateMachineSet] {
                if !self.handlers(hook, namespace).await?.is_empty() {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        .boxed()
    }

    fn can_update<'a>(
        &'a self,
        subject: Subject,
        cluster: &'a Cluster,
        current: &'a Objects,
        desired: &'a Objects,
    ) -> BoxFuture<'a, Result<Decision>> {
        async move {
            match subject {
                Subject::Machine => {
                    let request = in_place::machine_request(current, desired);
                    let decide = |patches: &_| in_place::of_machine(current, desired, patches);
                    self.decide(Hook::CanUpdateMachine, cluster, &request, decide).await
                }
                Subject::MachineSet => {
                    let request = in_place::machine_set_request(current, desired);
                    let decide = |patches: &_| in_place::of_machine_set(current, desired, patches);
                    self.decide(Hook::CanUpdateMachineSet, cluster, &request, decide).await
                }
            }
        }
        .boxed()
    }

    fn update_machine<'a>(
        &'a self,
        cluster: &'a Cluster,
        desired: &'a Objects,
    ) -> BoxFuture<'a, Result<Progress>> {
        async move {
            let hook = Hook::UpdateMachine;
            let request = in_place::update_request(desired);
            let Some((_, answer)) = self.call_only(hook, cluster, &request).await? else {
                return Err(Error::failed(format!(
                    "no extension is registered for the hook {}",
                    hook.name()
                )));
            };
            Ok(in_place::progress(&answer))
        }
        .boxed()
    }
}
