//! Writes the objects: their finalizer, annotations and status.

use std::sync::Arc;

use engine::{Error, Objects, Result, conditions, finalizer, unless_gone};
use kube::Client;
use kube::api::DynamicObject;
use machinery::clock::Clock;
use schemas::meta::Condition;
use schemas::operator::ProviderStatus;

use crate::conditions::OWNED;
use crate::names::FINALIZER;

/// A change of an object.
#[derive(Debug, Clone, Default)]
pub(crate) struct Change {
    pub conditions: Vec<Condition>,
    pub installed_version: Option<String>,
    pub contract: Option<String>,
    /// Whether what the object wants is there, so that `status.observedGeneration` advances.
    pub is_settled: bool,
    /// Types of conditions that are removed.
    pub outdated: Vec<&'static str>,
    /// Annotations that are set or removed.
    pub annotations: Vec<(&'static str, Option<String>)>,
    /// Whether the finalizer goes.
    pub is_over: bool,
}

/// Writes objects of one kind.
pub(crate) struct Writer {
    objects: Objects<DynamicObject>,
    clock: Clock,
}

impl Writer {
    pub fn new(objects: &Objects<DynamicObject>, clock: &Clock) -> Self {
        Self { objects: objects.clone(), clock: clock.clone() }
    }

    pub fn client(&self) -> &Client {
        self.objects.client()
    }

    /// Writes a change of an object; sends nothing if it changes nothing.
    ///
    /// # Errors
    /// The API server refuses or does not answer.
    pub async fn write(&self, read: &Arc<DynamicObject>, change: Change) -> Result<Arc<DynamicObject>> {
        let mut wanted = read.as_ref().clone();
        let now = self.clock.now();
        if change.is_over {
            finalizer::remove(&mut wanted, FINALIZER);
            unless_gone(self.objects.patch(read, &wanted, OWNED).await)?;
            return Ok(read.clone());
        }
        for (name, value) in change.annotations {
            let annotations = wanted.metadata.annotations.get_or_insert_default();
            match value {
                Some(value) => drop(annotations.insert(name.to_owned(), value)),
                None => drop(annotations.remove(name)),
            }
        }
        let generation = wanted.metadata.generation;
        let before = wanted.data.get("status").cloned().unwrap_or_default();
        let failed = |error| Error::json("the status of a provider", error);
        let mut status: ProviderStatus = match before.is_null() {
            true => ProviderStatus::default(),
            false => serde_json::from_value(before).map_err(failed)?,
        };
        status.conditions.retain(|condition| !change.outdated.contains(&condition.type_.as_str()));
        for mut condition in change.conditions {
            condition.observed_generation = generation;
            conditions::set_in(&mut status.conditions, now, condition);
        }
        status.installed_version = change.installed_version.or(status.installed_version);
        status.contract = change.contract.or(status.contract);
        if change.is_settled {
            status.observed_generation = generation;
        }
        wanted.data["status"] = serde_json::to_value(status).map_err(failed)?;
        match self.objects.patch(read, &wanted, OWNED).await {
            Err(error) if error.is_not_found() => Ok(read.clone()),
            written => written,
        }
    }
}
