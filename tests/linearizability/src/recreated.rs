//! Definitions and namespaces that are deleted and created again, while others write. What is stored in one of them stays until its next deletion is requested, and nothing of an earlier one comes back.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use kube::api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, PostParams};
use kube::{Api, Client};
use machinery::clock::Clock;
use machinery::random::Random;
use parking_lot::Mutex;
use serde_json::{Value, json};

const GROUP: &str = "linearizability.example.com";
/// Objects in each of them.
const OBJECTS: usize = 4;
/// Pause between two looks at something that is being deleted.
const PAUSE: Duration = Duration::from_millis(2);

/// One definition or namespace.
pub struct Home {
    kind: ApiResource,
    body: Value,
    /// The kind of the objects in it.
    contained: ApiResource,
    namespace: String,
}

/// What became of all of them.
#[derive(Default)]
pub struct Recreated {
    /// How often one was created.
    pub count: AtomicU64,
    broken: Mutex<Vec<String>>,
}

/// Returns two definitions and two namespaces.
pub fn homes() -> Vec<Home> {
    let resource = |group: &str, kind: &str| ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind));
    let mut homes = Vec::new();
    for kind in ["Gadget", "Widget"] {
        let singular = kind.to_lowercase();
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let version =
            json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
        let body = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{singular}s.{GROUP}")},
            "spec": {"group": GROUP, "scope": "Namespaced", "versions": [version],
                "names": {"plural": format!("{singular}s"), "singular": singular, "kind": kind, "listKind": format!("{kind}List")}},
        });
        let kind = resource("apiextensions.k8s.io", "CustomResourceDefinition");
        let contained = resource(GROUP, body["spec"]["names"]["kind"].as_str().unwrap());
        homes.push(Home { kind, contained, body, namespace: "default".to_owned() });
    }
    for name in ["recreated-a", "recreated-b"] {
        let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let (kind, contained) = (resource("", "Namespace"), resource("", "ConfigMap"));
        homes.push(Home { kind, contained, body, namespace: name.to_owned() });
    }
    homes
}

/// A request that says nothing: the server was killed, or its disk is full.
struct Unknown;

fn code(error: &kube::Error) -> u16 {
    match error {
        kube::Error::Api(status) => status.code,
        _ => 0,
    }
}

impl Home {
    fn name(&self) -> &str {
        self.body["metadata"]["name"].as_str().unwrap()
    }

    fn object(&self, number: usize) -> DynamicObject {
        let mut object = DynamicObject::new(&format!("o{number}"), &self.contained);
        object.metadata.namespace = Some(self.namespace.clone());
        object
    }
}

impl Recreated {
    /// Creates and deletes a home, again and again, until `stop`.
    pub async fn run(&self, client: &Client, home: &Home, random: &Random, clock: &Clock, stop: &AtomicBool) {
        while !stop.load(Ordering::SeqCst) {
            if self.live(client, home, random, clock, stop).await.is_err() {
                clock.sleep(PAUSE).await;
            }
        }
    }

    /// Returns what was seen to break, and forgets it.
    pub fn broken(&self) -> Vec<String> {
        std::mem::take(&mut *self.broken.lock())
    }

    /// Plays one life of a home, from its creation to its deletion.
    async fn live(
        &self,
        client: &Client,
        home: &Home,
        random: &Random,
        clock: &Clock,
        stop: &AtomicBool,
    ) -> Result<(), Unknown> {
        let homes: Api<DynamicObject> = Api::all_with(client.clone(), &home.kind);
        delete(&homes, home.name(), clock, stop).await?;
        let created: DynamicObject = serde_json::from_value(home.body.clone()).unwrap();
        homes.create(&PostParams::default(), &created).await.map_err(|_| Unknown)?;
        served(&homes, home.name(), clock, stop).await?;
        self.count.fetch_add(1, Ordering::SeqCst);
        let objects: Api<DynamicObject> =
            Api::namespaced_with(client.clone(), &home.namespace, &home.contained);
        let mut stored = BTreeMap::new();
        for number in 0..OBJECTS {
            match objects.create(&PostParams::default(), &home.object(number)).await {
                Ok(object) => drop(stored.insert(format!("o{number}"), object.metadata.uid)),
                Err(error) if matches!(code(&error), 403 | 404 | 409) => {
                    self.tell(home, &format!("refuses a new object although it is established: {error}"));
                }
                Err(_) => return Err(Unknown),
            }
        }
        for _ in 0..1 + random.number() % 3 {
            clock.sleep(Duration::from_millis(random.number() % 40)).await;
            self.check(home, &objects, &stored).await?;
        }
        Ok(())
    }

    /// Checks that exactly the stored objects are there, with their UIDs.
    async fn check(
        &self,
        home: &Home,
        objects: &Api<DynamicObject>,
        stored: &BTreeMap<String, Option<String>>,
    ) -> Result<(), Unknown> {
        let list = objects.list(&ListParams::default()).await.map_err(|_| Unknown)?;
        let found: BTreeMap<String, Option<String>> = list
            .items
            .into_iter()
            .map(|object| (object.metadata.name.unwrap_or_default(), object.metadata.uid))
            .filter(|(name, _)| name.starts_with('o'))
            .collect();
        if found != *stored {
            self.tell(home, &format!("contains {found:?}, and {stored:?} was stored in it"));
        }
        Ok(())
    }

    fn tell(&self, home: &Home, what: &str) {
        self.broken.lock().push(format!("{} {what}", home.name()));
    }
}

/// Waits until a definition is established, which can take a while on a full disk. A namespace is usable at once.
async fn served(
    homes: &Api<DynamicObject>,
    name: &str,
    clock: &Clock,
    stop: &AtomicBool,
) -> Result<(), Unknown> {
    while !stop.load(Ordering::SeqCst) {
        let found = homes.get(name).await.map_err(|_| Unknown)?;
        let mut conditions = found.data["status"]["conditions"].as_array().into_iter().flatten();
        if found.data["status"]["phase"] == "Active"
            || conditions.any(|condition| condition["type"] == "Established" && condition["status"] == "True")
        {
            return Ok(());
        }
        clock.sleep(PAUSE).await;
    }
    Err(Unknown)
}

/// Deletes a home and waits until it is gone.
async fn delete(
    homes: &Api<DynamicObject>,
    name: &str,
    clock: &Clock,
    stop: &AtomicBool,
) -> Result<(), Unknown> {
    loop {
        match homes.delete(name, &DeleteParams::default()).await {
            Err(error) if code(&error) == 404 => return Ok(()),
            Err(error) if code(&error) == 0 => return Err(Unknown),
            _ if stop.load(Ordering::SeqCst) => return Err(Unknown),
            _ => clock.sleep(PAUSE).await,
        }
    }
}
