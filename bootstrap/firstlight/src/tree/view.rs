//! Keeps the tree up to date from the caches of the controllers, and redraws it when one of them changes.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use engine::object::Kind;
use engine::startup::{Report, Startup};
use engine::{Manager, Objects as Cached};
use futures::FutureExt;
use futures::future::BoxFuture;
use kube::Client;
use machinery::clock::Clock;
use parking_lot::Mutex;
use schemas::cluster::{Cluster, Machine, MachineDeployment, MachinePool, MachineSet};
use schemas::controlplane::KubeadmControlPlane;
use schemas::infrastructure::{DevCluster, DevMachine};
use schemas::metal3::BareMetalHost;
use schemas::netboot::Agent;
use serde_json::Value;
use server::confirmation;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, SetOnce};

use super::model::{self, Objects};
use super::screen::Screen;

/// The pause after a redraw, so that changes within this time are drawn together.
const REDRAW: Duration = Duration::from_millis(100);
/// The interval at which a terminal is redrawn without changes, to update the ages. Without a terminal it is five times as long.
const TICK: Duration = Duration::from_secs(1);

/// The interval at which the kinds are looked for that the server should serve, while their objects are not known.
const LOOK_FOR_KINDS: Duration = Duration::from_secs(1);

/// The pause before a server that did not answer is asked again.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// What the controllers of another process have not confirmed, as far as its server has said it.
#[derive(Default)]
struct Answers {
    latest: Mutex<Report>,
    /// Set with the first answer.
    known: SetOnce<()>,
}

/// The caches with the objects of the tree.
pub struct View {
    clusters: Cached<Cluster>,
    control_planes: Cached<KubeadmControlPlane>,
    infrastructure: Cached<DevCluster>,
    machine_deployments: Cached<MachineDeployment>,
    machine_sets: Cached<MachineSet>,
    machine_pools: Cached<MachinePool>,
    machines: Cached<Machine>,
    dev_machines: Cached<DevMachine>,
    hosts: Cached<BareMetalHost>,
    agents: Cached<Agent>,
    /// What the controllers of this process have not confirmed; empty in a process without controllers.
    startup: Arc<Startup>,
    /// What those of another process have not confirmed.
    server: Option<Arc<Answers>>,
    changed: Arc<Notify>,
    clock: Clock,
}

/// A cache of any kind.
trait AnyCache: Sync {
    /// Notifies `changed` of each change.
    fn follow(&self, changed: &Arc<Notify>);

    fn is_synced(&self) -> bool;

    /// Waits until the first list is in the cache.
    fn synced(&self) -> BoxFuture<'_, ()>;

    /// Returns version and name of the kind.
    fn kind(&self) -> (String, String);
}

impl<K: Kind> AnyCache for Cached<K> {
    fn follow(&self, changed: &Arc<Notify>) {
        let changed = changed.clone();
        self.subscribe(move |_| changed.notify_one());
    }

    fn is_synced(&self) -> bool {
        self.cache().is_synced()
    }

    fn synced(&self) -> BoxFuture<'_, ()> {
        self.wait_until_synced().boxed()
    }

    fn kind(&self) -> (String, String) {
        let kind = self.dynamic_type();
        (K::api_version(kind).into_owned(), K::kind(kind).into_owned())
    }
}

impl View {
    /// Watches the objects through the caches of `manager`.
    pub fn new(manager: &Manager) -> Self {
        let view = Self {
            clusters: manager.objects(),
            control_planes: manager.objects(),
            infrastructure: manager.objects(),
            machine_deployments: manager.objects(),
            machine_sets: manager.objects(),
            machine_pools: manager.objects(),
            machines: manager.objects(),
            dev_machines: manager.objects(),
            hosts: manager.objects(),
            agents: manager.objects(),
            startup: manager.startup().clone(),
            server: None,
            changed: Arc::new(Notify::new()),
            clock: manager.clock().clone(),
        };
        view.caches().iter().for_each(|cache| cache.follow(&view.changed));
        view.startup.notify(&view.changed);
        view
    }

    /// Like [`View::new`], for the controllers of another process: its server is asked until they have confirmed everything.
    pub fn of_server(manager: &Manager, client: &Client) -> Self {
        let mut view = Self::new(manager);
        let answers = Arc::<Answers>::default();
        view.server = Some(answers.clone());
        let (client, clock, changed) = (client.clone(), manager.clock().clone(), view.changed.clone());
        manager.spawn(async move {
            let mut path = confirmation::CONTROLLERS_PATH;
            loop {
                let Ok(report) = confirmation::ask(&client, path).await else {
                    clock.sleep(ASK_AGAIN).await;
                    continue;
                };
                path = confirmation::CONFIRMED_PATH;
                let is_confirmed = report.is_confirmed();
                *answers.latest.lock() = report;
                // Only the first answer finds it unset.
                let _ = answers.known.set(());
                changed.notify_one();
                if is_confirmed {
                    return;
                }
                // A server whose controllers have not started holds no answer back.
                clock.sleep(REDRAW).await;
            }
        });
        view
    }

    fn caches(&self) -> [&dyn AnyCache; 10] {
        [
            &self.clusters,
            &self.control_planes,
            &self.infrastructure,
            &self.machine_deployments,
            &self.machine_sets,
            &self.machine_pools,
            &self.machines,
            &self.dev_machines,
            &self.hosts,
            &self.agents,
        ]
    }

    /// Waits until all caches are synced, and another process has said what its controllers have not confirmed.
    ///
    /// # Errors
    /// The server does not have one of the kinds, whose definition was deleted. Without it, the tree would not be true.
    pub async fn ready(&self) -> Result<()> {
        tokio::select! {
            biased;
            () = self.synced() => Ok(()),
            missing = self.missing_kind() => bail!(
                "the server does not serve {missing}, so nothing can be said about the clusters; the next start of the server creates its CustomResourceDefinition again"
            ),
        }
    }

    async fn synced(&self) {
        for cache in self.caches() {
            cache.synced().await;
        }
        if let Some(server) = &self.server {
            server.known.wait().await;
        }
    }

    /// Returns a kind of the tree that the server does not serve. It does not end while all of them are served.
    async fn missing_kind(&self) -> String {
        loop {
            self.clock.sleep(LOOK_FOR_KINDS).await;
            for cache in self.caches().into_iter().filter(|cache| !cache.is_synced()) {
                let (api_version, kind) = cache.kind();
                let is_missing = match self.clusters.client().list_api_group_resources(&api_version).await {
                    Ok(served) => served.resources.iter().all(|resource| resource.kind != kind),
                    Err(kube::Error::Api(status)) => status.code == 404,
                    Err(_) => false,
                };
                if is_missing {
                    return format!("{kind} ({api_version})");
                }
            }
        }
    }

    /// Returns the current objects.
    pub fn objects(&self) -> Objects {
        Objects {
            clusters: values(&self.clusters),
            control_planes: values(&self.control_planes),
            infrastructure: values(&self.infrastructure),
            machine_deployments: values(&self.machine_deployments),
            machine_sets: values(&self.machine_sets),
            machine_pools: values(&self.machine_pools),
            machines: values(&self.machines),
            dev_machines: values(&self.dev_machines),
            hosts: all(&self.hosts),
            agents: all(&self.agents),
            unconfirmed: match &self.server {
                Some(server) => server.latest.lock().clone(),
                None => self.startup.report(),
            },
        }
    }

    /// Waits for a change of an object, or for a confirmation of the controllers.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }
}

fn all<K: Kind>(objects: &Cached<K>) -> Vec<K> {
    objects.all().iter().map(|object| object.as_ref().clone()).collect()
}

fn values<K: Kind>(objects: &Cached<K>) -> Vec<Value> {
    objects.all().iter().filter_map(|object| serde_json::to_value(object.as_ref()).ok()).collect()
}

/// Draws the tree until `done` returns true for the objects, or for ever.
///
/// # Errors
/// Standard output is closed.
pub async fn show(
    view: &View,
    screen: &mut Screen,
    mut done: impl FnMut(&Objects) -> bool,
) -> std::io::Result<()> {
    let mut resized = signal(SignalKind::window_change())?;
    loop {
        let objects = view.objects();
        screen.draw(&model::entries(&objects))?;
        if done(&objects) {
            return Ok(());
        }
        let tick = async {
            match screen.is_terminal() {
                true => tokio::time::sleep(TICK).await,
                // For what lasts.
                false => tokio::time::sleep(TICK * 5).await,
            }
        };
        tokio::select! {
            biased;
            () = view.changed() => {}
            () = tick => {}
            _ = resized.recv() => {}
        }
        tokio::time::sleep(REDRAW).await;
    }
}
