//! An API server in this process, and controllers that a test ends and starts again, on a paused clock.
#![allow(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

pub mod faults;
pub mod requests;

use std::sync::Arc;
use std::time::Duration;

use access::User;
use engine::{Kind, Manager, ManagerOptions, NamespacedName, Objects};
use kube::Client;
use kube::api::{Api, DynamicObject, PostParams};
use kube::core::ApiResource;
use machinery::clock::Clock;
use machinery::random::Random;
use net::SimulatedNetwork;
use registry::Registry;
use serde_json::Value;
use serving::Server;
use store::{Memory, Store};

use requests::{Counting, Requests};

/// The longest time for which a test waits.
const DEADLINE: Duration = Duration::from_secs(600);

/// Starts controllers.
pub type Start = Box<dyn Fn(&Manager) + Send + Sync>;

/// An API server with custom kinds, and the current life of the controllers.
pub struct Fixture {
    /// The manager of the current life.
    pub manager: Manager,
    /// The writes of all lives.
    pub requests: Requests,
    /// Starts the controllers of the next life.
    pub start: Start,
    server: Server,
    clock: Clock,
}

impl Fixture {
    /// Creates a server with the kinds of these API groups, and starts the controllers with `start`.
    pub async fn new(groups: &[&str], start: impl Fn(&Manager) + Send + Sync + 'static) -> Self {
        let epoch = machinery::clock::parse_rfc3339("2026-11-21T00:00:00Z").unwrap();
        let (clock, random) = (Clock::simulated(epoch), Random::seeded(1));
        let store = Store::open(Memory::new(), clock.clone()).await.unwrap();
        let registry =
            Registry::open(store, clock.clone(), random, registry::Options::default()).await.unwrap();
        let server = Server::builder(registry, clock.clone()).build();
        let requests = Requests::default();
        let manager = manager(&server, &clock, &requests);
        let fixture = Self { manager, requests, start: Box::new(start), server, clock };
        for definition in schemas::crds().unwrap() {
            if groups.contains(&definition["spec"]["group"].as_str().unwrap()) {
                fixture.create(definition).await;
            }
        }
        (fixture.start)(&fixture.manager);
        fixture
    }

    /// Ends the controllers and starts them again.
    pub async fn restart(&mut self) {
        self.manager.stop().await;
        self.manager = manager(&self.server, &self.clock, &self.requests);
        (self.start)(&self.manager);
    }

    /// Returns the client of a user, whose writes are neither counted nor killed.
    pub fn user(&self) -> Client {
        Client::new(self.server.client_service(User::master("user")), "default")
    }

    /// Returns the handle on any kind, as the user.
    fn any(&self, api_version: &str, kind: &str) -> Api<DynamicObject> {
        self.any_in("default", api_version, kind)
    }

    fn any_in(&self, namespace: &str, api_version: &str, kind: &str) -> Api<DynamicObject> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = ApiResource {
            group: group.into(),
            version: version.into(),
            api_version: api_version.into(),
            kind: kind.into(),
            plural: engine::contract::plural(kind),
        };
        if ["CustomResourceDefinition", "Namespace", "GlobalInClusterIPPool"].contains(&kind) {
            return Api::all_with(self.user(), &resource);
        }
        Api::namespaced_with(self.user(), namespace, &resource)
    }

    /// Creates an object and its status as the user, in the namespace `default` if it has none.
    pub async fn create(&self, object: Value) -> DynamicObject {
        let (version, kind) = (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default");
        let api = self.any_in(namespace, version, kind);
        let mut parsed: DynamicObject = serde_json::from_value(object.clone()).unwrap();
        let created = api.create(&PostParams::default(), &parsed).await.unwrap();
        if object.get("status").is_some() {
            parsed.metadata = created.metadata.clone();
            let name = created.metadata.name.clone().unwrap();
            api.replace_status(&name, &PostParams::default(), &parsed).await.unwrap();
        }
        created
    }

    /// Deletes an object of the namespace `default` as the user.
    pub async fn delete<K: Kind<DynamicType = ()>>(&self, name: &str) {
        self.delete_in::<K>("default", name).await;
    }

    /// Deletes an object as the user.
    pub async fn delete_in<K: Kind<DynamicType = ()>>(&self, namespace: &str, name: &str) {
        let api = self.any_in(namespace, &K::api_version(&()), &K::kind(&()));
        api.delete(name, &Default::default()).await.unwrap();
    }

    /// Changes an object of the namespace `default` by a merge patch as the user.
    pub async fn patch<K: Kind<DynamicType = ()>>(&self, name: &str, patch: Value) {
        self.patch_in::<K>("default", name, patch).await;
    }

    /// Changes an object by a merge patch as the user.
    pub async fn patch_in<K: Kind<DynamicType = ()>>(&self, namespace: &str, name: &str, patch: Value) {
        let api = self.any_in(namespace, &K::api_version(&()), &K::kind(&()));
        api.patch(name, &Default::default(), &kube::api::Patch::Merge(patch)).await.unwrap();
    }

    /// Changes the status of an object by a merge patch as the user.
    pub async fn patch_status_in<K: Kind<DynamicType = ()>>(
        &self,
        namespace: &str,
        name: &str,
        patch: Value,
    ) {
        let api = self.any_in(namespace, &K::api_version(&()), &K::kind(&()));
        api.patch_status(name, &Default::default(), &kube::api::Patch::Merge(patch)).await.unwrap();
    }

    /// Waits until `done` holds, with complete caches.
    pub async fn until(&self, what: &str, done: impl Fn(&Manager) -> bool) {
        let deadline = self.clock.monotonic() + DEADLINE;
        while !(self.manager.is_synced() && done(&self.manager)) {
            assert!(self.clock.monotonic() < deadline, "{what}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Like [`Fixture::until`]; each planned kill ends the controllers, and they start again.
    pub async fn until_with_kills(&mut self, what: &str, done: impl Fn(&Manager) -> bool) {
        let requests = self.requests.clone();
        let was_killed = tokio::select! {
            biased;
            () = requests.killed() => true,
            () = self.until(what, &done) => false,
        };
        if was_killed {
            self.restart().await;
            self.until(what, done).await;
        }
    }

    /// Returns the objects of a kind, from the server.
    pub async fn list<K: Kind<DynamicType = ()>>(&self) -> Vec<K> {
        let list = self.any(&K::api_version(&()), &K::kind(&())).list(&Default::default()).await.unwrap();
        list.items
            .into_iter()
            .map(|item| K::from_json(&serde_json::to_vec(&item).unwrap()).unwrap())
            .collect()
    }

    /// Returns the current object of this name.
    pub fn get<K: Kind<DynamicType = ()>>(&self, name: &str) -> Option<Arc<K>> {
        get(&self.manager, name)
    }
}

/// Returns an object of the namespace `default`.
pub fn get<K: Kind<DynamicType = ()>>(manager: &Manager, name: &str) -> Option<Arc<K>> {
    let objects: Objects<K> = manager.objects();
    objects.get(&NamespacedName::new("default", name))
}

fn manager(server: &Server, clock: &Clock, requests: &Requests) -> Manager {
    let service = Counting::new(server.client_service(User::master("manager")), requests);
    Manager::new(ManagerOptions {
        client: Client::new(service, "default"),
        clock: clock.clone(),
        random: Random::seeded(2),
        network: Arc::new(SimulatedNetwork::new()),
        metrics: Default::default(),
        settings: Default::default(),
    })
}
