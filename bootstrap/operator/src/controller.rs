//! The controller of one kind: observe → plan → apply, and the writes of the object.

use std::sync::Arc;

use clusterctl::configuration::{Configuration, ProviderType};
use clusterctl::install::Tools;
use clusterctl::repository::Fetcher;
use engine::object::is_deleting;
use engine::{
    Action, Controller, Error, Manager, NamespacedName, Objects, Reconciler, Request, Result, conditions,
    finalizer, unless_gone,
};
use kube::Client;
use kube::api::DynamicObject;
use machinery::clock::Clock;
use schemas::meta::Condition;
use schemas::operator::ProviderStatus;

use crate::apply::Work;
use crate::conditions::OWNED;
use crate::declared::Declared;
use crate::names::FINALIZER;
use crate::observe::{all_declared, observe};
use crate::plan::{Step, plan};
use crate::prepare::configured;
use crate::redaction::Redaction;
use crate::triggers::Triggers;
use crate::{Context, kinds, limits};

/// How often an object is planned in one reconcile: once more after the provider was adopted.
const PASSES: usize = 2;

/// The controller of one kind.
pub(crate) struct Operator {
    kind: ProviderType,
    objects: Objects<DynamicObject>,
    context: Context,
    client: Client,
    clock: Clock,
}

/// Starts the controller of the objects that declare providers of this type.
pub(crate) fn start(manager: &Manager, context: &Context, kind: ProviderType, name: &'static str) {
    let this = Operator {
        kind,
        objects: manager.dynamic(&kinds::resource(kind)),
        context: context.clone(),
        client: manager.client().clone(),
        clock: manager.clock().clone(),
    };
    let triggers = Triggers::new(kind, &this.objects);
    let controller = Controller::new(manager, name).reconciles(&this.objects).time_limit(limits::RECONCILE);
    triggers.watch(manager, controller).start(this);
}

/// A change of an object.
#[derive(Debug, Clone, Default)]
pub(crate) struct Change {
    pub conditions: Vec<Condition>,
    pub installed_version: Option<String>,
    pub contract: Option<String>,
    /// Whether what the object wants is there, so that `status.observedGeneration` advances.
    pub is_settled: bool,
    /// Annotations that are set or removed.
    pub annotations: Vec<(&'static str, Option<String>)>,
    /// Whether the finalizer goes.
    pub is_over: bool,
}

impl Reconciler for Operator {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(mut read) = self.objects.get(&request) else { return Ok(Action::done()) };
        if is_deleting(read.as_ref()) && !finalizer::has(read.as_ref(), FINALIZER) {
            return Ok(Action::done());
        }
        read = finalizer::ensure(&self.objects, &read, FINALIZER).await?;
        for _ in 0..PASSES {
            let (after, is_done) = self.pass(read).await?;
            if is_done {
                break;
            }
            read = after;
        }
        Ok(Action::done())
    }
}

impl Operator {
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Observes, plans and applies once. Returns the object, and whether there is nothing more to do.
    async fn pass(&self, read: Arc<DynamicObject>) -> Result<(Arc<DynamicObject>, bool)> {
        let unfit =
            |error| Error::Terminal(format!("the object has another structure than its kind: {error}"));
        let object = Declared::of(self.kind, &read).map_err(unfit)?;
        let network = &self.context.network;
        let path = self.context.configuration.as_deref();
        let loaded = Configuration::load(path, self.context.environment.clone(), network.as_ref()).await;
        let configuration =
            loaded.map_err(|error| Error::failed(format!("clusterctl's configuration: {error}")))?;
        let name = NamespacedName::of(read.as_ref());
        let others: Vec<Arc<DynamicObject>> = self.objects.all();
        let others = others.iter().map(AsRef::as_ref).filter(|other| NamespacedName::of(*other) != name);
        let others = all_declared(self.kind, others);
        let seen = observe(object, others, &self.client, &self.context, &configuration).await?;
        let plan = plan(&seen);
        let is_done = !matches!(plan.step, Step::Adopt(_));
        let configuration = configured(&seen, &configuration);
        // A new one for each pass, because it keeps every answer.
        let fetcher = Fetcher::new(network.clone(), self.clock.clone());
        let redaction = Redaction::of(&seen);
        let say = |text: &str| tracing::info!(provider = %name, "{}", redaction.text(text));
        let tools = Tools {
            client: &self.client,
            configuration: &configuration,
            fetcher: &fetcher,
            clock: &self.clock,
            say: &say,
        };
        let mut work = Work { operator: self, read, seen: &seen };
        work.apply(plan, &tools).await?;
        Ok((work.read, is_done))
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
