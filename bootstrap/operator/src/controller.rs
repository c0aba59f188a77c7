//! The controller of one kind: observe → plan → apply.

use std::sync::Arc;

use clusterctl::configuration::{Configuration, ProviderType};
use clusterctl::install::Tools;
use clusterctl::repository::Fetcher;
use engine::object::is_deleting;
use engine::{
    Action, Controller, Error, Manager, NamespacedName, Objects, Reconciler, Request, Result, finalizer,
};
use kube::Client;
use kube::api::DynamicObject;
use machinery::clock::Clock;

use crate::apply::Work;
use crate::context::Context;
use crate::declared::Declared;
use crate::names::FINALIZER;
use crate::observe::{all_declared, observe};
use crate::plan::{Step, plan};
use crate::prepare::configured;
use crate::redaction::Redaction;
use crate::triggers::Triggers;
use crate::writer::Writer;
use crate::{kinds, limits};

/// How often an object is planned in one reconcile: once more after the provider was adopted.
const PASSES: usize = 2;

/// The controller of one kind.
pub(crate) struct Operator {
    kind: ProviderType,
    objects: Objects<DynamicObject>,
    writer: Writer,
    context: Context,
    client: Client,
    clock: Clock,
}

/// Starts the controller of the objects that declare providers of this type.
pub(crate) fn start(manager: &Manager, context: &Context, kind: ProviderType, name: &'static str) {
    let objects = manager.dynamic(&kinds::resource(kind));
    let this = Operator {
        kind,
        writer: Writer::new(&objects, manager.clock()),
        objects,
        context: context.clone(),
        client: manager.client().clone(),
        clock: manager.clock().clone(),
    };
    let triggers = Triggers::new(kind, &this.objects);
    let controller = Controller::new(manager, name).reconciles(&this.objects).time_limit(limits::RECONCILE);
    triggers.watch(manager, controller).start(this);
}

impl Reconciler for Operator {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(mut read) = self.objects.get(&request) else { return Ok(Action::done()) };
        if is_deleting(read.as_ref()) && !finalizer::has(read.as_ref(), FINALIZER) {
            return Ok(Action::done());
        }
        read = finalizer::ensure(&self.objects, &read, FINALIZER).await?;
        let path = self.context.configuration.as_deref();
        let loaded =
            Configuration::load(path, self.context.environment.clone(), self.context.network.as_ref()).await;
        let configuration =
            loaded.map_err(|error| Error::failed(format!("clusterctl's configuration: {error}")))?;
        for _ in 0..PASSES {
            let (after, is_done) = self.pass(read, &configuration).await?;
            if is_done {
                break;
            }
            read = after;
        }
        Ok(Action::done())
    }
}

impl Operator {
    /// Observes, plans and applies once. Returns the object, and whether there is nothing more to do.
    async fn pass(
        &self,
        read: Arc<DynamicObject>,
        configuration: &Configuration,
    ) -> Result<(Arc<DynamicObject>, bool)> {
        let unfit =
            |error| Error::Terminal(format!("the object has another structure than its kind: {error}"));
        let object = Declared::of(self.kind, &read).map_err(unfit)?;
        let name = NamespacedName::of(read.as_ref());
        let others: Vec<Arc<DynamicObject>> = self.objects.all();
        let others = others.iter().map(AsRef::as_ref).filter(|other| NamespacedName::of(*other) != name);
        let others = all_declared(self.kind, others);
        let seen = observe(object, others, &self.client, &self.context, configuration).await?;
        let plan = plan(&seen);
        let is_done = !matches!(plan.step, Step::Adopt(_));
        let configuration = configured(&seen, configuration);
        // A new one for each pass, because it keeps every answer.
        let fetcher = Fetcher::new(self.context.network.clone(), self.clock.clone());
        let redaction = Redaction::of(&seen);
        let say = |text: &str| tracing::info!(provider = %name, "{}", redaction.text(text));
        let tools = Tools {
            client: &self.client,
            configuration: &configuration,
            fetcher: &fetcher,
            clock: &self.clock,
            say: &say,
        };
        let mut work = Work { writer: &self.writer, read, seen: &seen };
        work.apply(plan, &tools).await?;
        Ok((work.read, is_done))
    }
}
