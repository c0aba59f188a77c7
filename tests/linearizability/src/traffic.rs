//! Clients that write, read and watch, and record what they observe.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{
    DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions, WatchEvent, WatchParams,
};
use kube::{Api, Client};
use machinery::clock::Clock;
use machinery::random::Random;
use parking_lot::Mutex;

use crate::history::{Answer, History, Kind, Listing, Operation, Request, Revision, Seen, Watching};
use crate::recreated::{self, Recreated};

/// The namespaces that are written to; they exist from the start.
const NAMESPACES: [&str; 2] = ["default", "kube-public"];
const OBJECTS: u64 = 5;
const WRITERS: u64 = 6;
const WATCHERS: usize = 5;
/// Pause between requests, so that the history of an hour fits into memory.
const PAUSE: Duration = Duration::from_millis(4);
/// The object that is written last and that watchers wait for.
const LAST: &str = "last";

/// The state of all clients.
pub struct Traffic {
    /// The recorded history.
    pub history: History,
    /// Definitions and namespaces that are created again.
    pub recreated: Recreated,
    random: Random,
    clock: Clock,
    values: AtomicU64,
    /// The latest observed revision of each object.
    seen: Mutex<BTreeMap<String, Revision>>,
    /// The revision that each watcher has reached.
    reached: Mutex<[Revision; WATCHERS]>,
    stop: AtomicBool,
}

fn config_maps(client: &Client, namespace: &str) -> Api<ConfigMap> {
    if namespace.is_empty() { Api::all(client.clone()) } else { Api::namespaced(client.clone(), namespace) }
}

fn object(name: &str, revision: Option<Revision>, value: &str) -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.to_owned());
    object.metadata.resource_version = revision.map(|revision| revision.to_string());
    object.metadata.labels = Some(BTreeMap::from([("linearizability".to_owned(), "yes".to_owned())]));
    object.data = Some(BTreeMap::from([("value".to_owned(), value.to_owned())]));
    object
}

/// Returns key, revision and value of an object.
fn read(object: &ConfigMap) -> (String, Revision, String) {
    let metadata = &object.metadata;
    let key = format!("{}/{}", metadata.namespace.as_deref().unwrap(), metadata.name.as_deref().unwrap());
    let value = object.data.as_ref().and_then(|data| data.get("value")).cloned().unwrap_or_default();
    (key, metadata.resource_version.as_ref().unwrap().parse().unwrap(), value)
}

fn refused(error: &kube::Error) -> Answer {
    match error {
        kube::Error::Api(status) if status.code == 404 => Answer::Missing,
        kube::Error::Api(status) if status.reason == "AlreadyExists" => Answer::Exists,
        kube::Error::Api(status) if status.code == 409 => Answer::Conflict,
        _ => Answer::Unknown,
    }
}

impl Traffic {
    /// Creates the state before any request.
    pub fn new(seed: u64) -> Arc<Self> {
        Arc::new(Self {
            history: History::default(),
            recreated: Recreated::default(),
            random: Random::seeded(seed),
            clock: Clock::system(),
            values: AtomicU64::new(0),
            seen: Mutex::default(),
            reached: Mutex::default(),
            stop: AtomicBool::new(false),
        })
    }

    /// Runs writers and watchers against one life of a server, until `fault` completes and `client` cannot be
    /// used any more.
    pub async fn during(self: &Arc<Self>, client: &Client, fault: impl Future<Output = ()>) {
        self.stop.store(false, Ordering::SeqCst);
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..WRITERS {
            let (this, client) = (self.clone(), client.clone());
            tasks.spawn(async move { this.write(&client).await });
        }
        for watcher in 0..WATCHERS {
            let (this, client) = (self.clone(), client.clone());
            tasks.spawn(async move { this.watch(&client, watcher).await });
        }
        for home in recreated::homes() {
            let (this, client) = (self.clone(), client.clone());
            tasks.spawn(async move {
                this.recreated.run(&client, &home, &this.random, &this.clock, &this.stop).await;
            });
        }
        fault.await;
        self.stop.store(true, Ordering::SeqCst);
        while let Some(ended) = tasks.join_next().await {
            ended.expect("a client panicked");
        }
    }

    fn draw(&self, limit: u64) -> u64 {
        self.random.number() % limit
    }

    async fn write(&self, client: &Client) {
        while !self.stop.load(Ordering::SeqCst) {
            match self.draw(100) {
                0..12 => self.list(client).await,
                other => self.operate(client, other).await,
            }
            self.clock.sleep(PAUSE).await;
        }
    }

    async fn operate(&self, client: &Client, drawn: u64) {
        let namespace = NAMESPACES[usize::from(self.draw(2) == 1)];
        let name = format!("o{}", self.draw(OBJECTS));
        let key = format!("{namespace}/{name}");
        let known = self.seen.lock().get(&key).copied();
        let value = self.values.fetch_add(1, Ordering::SeqCst).to_string();
        let request = match (drawn, known) {
            (0..35, _) => Request::Read,
            (35..45, _) | (_, None) => Request::Create(value),
            (45..80, Some(revision)) => Request::Update(revision, value),
            (80..90, Some(_)) => Request::Patch(value),
            (_, Some(revision)) => Request::Delete(revision),
        };
        self.ask(client, namespace, &name, request).await;
    }

    /// Sends a request and records its outcome.
    async fn ask(&self, client: &Client, namespace: &str, name: &str, request: Request) -> Answer {
        let api = config_maps(client, namespace);
        let key = format!("{namespace}/{name}");
        let call = self.history.now();
        let post = PostParams::default();
        let written = match &request {
            Request::Create(value) => api.create(&post, &object(name, None, value)).await,
            Request::Update(revision, value) => {
                api.replace(name, &post, &object(name, Some(*revision), value)).await
            }
            Request::Patch(value) => {
                let patch = object(name, None, value);
                api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await
            }
            Request::Read => api.get(name).await,
            Request::Delete(revision) => {
                let resource_version = Some(revision.to_string());
                let preconditions = Some(Preconditions { resource_version, uid: None });
                let parameters = DeleteParams { preconditions, ..DeleteParams::default() };
                // The response has no revision.
                api.delete(name, &parameters).await.map(|_| ConfigMap::default())
            }
        };
        let answer = match (&written, &request) {
            (Ok(_), Request::Delete(_)) => Answer::Deleted,
            (Ok(object), Request::Read) => {
                let (_, revision, value) = read(object);
                Answer::Found(revision, value)
            }
            (Ok(object), _) => Answer::Written(read(object).1),
            (Err(error), _) => refused(error),
        };
        let end = self.history.now();
        if let Answer::Written(revision) | Answer::Found(revision, _) = &answer {
            self.seen.lock().insert(key.clone(), *revision);
        }
        if answer == Answer::Deleted || answer == Answer::Missing {
            self.seen.lock().remove(&key);
        }
        self.history.operations.lock().push(Operation { key, call, end, request, answer: answer.clone() });
        answer
    }

    async fn list(&self, client: &Client) {
        let namespace = ["", "default", "kube-public"][usize::try_from(self.draw(3)).unwrap()];
        let limit = (self.draw(2) == 0).then_some(3);
        let mut parameters = ListParams { limit, ..ListParams::default() }.labels("linearizability=yes");
        let api = config_maps(client, namespace);
        let mut listing = Listing {
            namespace: namespace.to_owned(),
            call: self.history.now(),
            end: 0,
            revisions: Vec::new(),
            items: Vec::new(),
        };
        loop {
            // A list with a missing page is discarded.
            let Ok(page) = api.list(&parameters).await else { return };
            listing.revisions.push(page.metadata.resource_version.as_ref().unwrap().parse().unwrap());
            listing.items.extend(page.items.iter().map(read));
            let token = page.metadata.continue_.filter(|token| !token.is_empty());
            let Some(token) = token else { break };
            parameters.continue_token = Some(token);
        }
        listing.end = self.history.now();
        self.history.listings.lock().push(listing);
    }

    /// Watches continuously. Watcher 0 misses nothing; the others see one namespace, and sometimes restart
    /// from an earlier revision.
    async fn watch(&self, client: &Client, watcher: usize) {
        let namespace = ["", "", "default", "kube-public", ""][watcher];
        while !self.stop.load(Ordering::SeqCst) {
            let mut from = self.reached.lock()[watcher];
            if watcher > 0 && self.draw(4) == 0 {
                from = from.saturating_sub(self.draw(400));
            }
            if from == 0 {
                let list = config_maps(client, namespace).list(&ListParams::default().limit(1)).await;
                let Ok(list) = list else { continue };
                from = list.metadata.resource_version.as_ref().unwrap().parse().unwrap();
            }
            let reached = self.watch_from(client, namespace, from, watcher).await;
            self.reached.lock()[watcher] = reached;
            self.clock.sleep(PAUSE).await;
        }
    }

    /// Runs one watch; returns the revision it reached, or 0 if it cannot be resumed.
    async fn watch_from(&self, client: &Client, namespace: &str, from: Revision, watcher: usize) -> Revision {
        let seconds = if watcher == 0 { 30 } else { 1 + u32::try_from(self.draw(3)).unwrap() };
        let parameters = WatchParams::default().labels("linearizability=yes").timeout(seconds);
        let mut watching = Watching {
            namespace: namespace.to_owned(),
            from,
            call: self.history.now(),
            ..Watching::default()
        };
        let mut reached = from;
        if let Ok(stream) = config_maps(client, namespace).watch(&parameters, &from.to_string()).await {
            let mut stream = std::pin::pin!(stream);
            while let Some(event) = self.next(&mut stream).await {
                let Some(told) = told(event, &mut watching.expired) else { break };
                let (Seen::Event(_, _, revision, _) | Seen::Bookmark(revision)) = &told;
                reached = *revision;
                watching.told.push((self.history.now(), told));
            }
        }
        let expired = watching.expired;
        self.history.watches.lock().push(watching);
        if expired { 0 } else { reached }
    }

    /// Returns the next event, unless the watch ends or the traffic stops.
    async fn next<E>(
        &self,
        stream: &mut (impl futures::Stream<Item = Result<WatchEvent<ConfigMap>, E>> + Unpin),
    ) -> Option<WatchEvent<ConfigMap>> {
        loop {
            match tokio::time::timeout(Duration::from_millis(100), stream.next()).await {
                Ok(event) => return event?.ok(),
                Err(_) if self.stop.load(Ordering::SeqCst) => return None,
                Err(_) => {}
            }
        }
    }

    /// Reads everything once more, and checks that a watch from the revision of watcher 0 returns all
    /// remaining changes.
    pub async fn finish(self: &Arc<Self>, client: &Client) -> Result<(), String> {
        let value = self.values.fetch_add(1, Ordering::SeqCst).to_string();
        let answer = self.ask(client, NAMESPACES[0], LAST, Request::Create(value)).await;
        let Answer::Written(last) = answer else { return Err(format!("the last write got {answer:?}")) };
        for namespace in NAMESPACES {
            for number in 0..OBJECTS {
                self.ask(client, namespace, &format!("o{number}"), Request::Read).await;
            }
        }
        let arrived = async {
            while self.reached.lock()[0] < last {
                self.clock.sleep(PAUSE).await;
            }
        };
        self.stop.store(false, Ordering::SeqCst);
        let (this, client) = (self.clone(), client.clone());
        let watch = tokio::spawn(async move {
            let from = this.reached.lock()[0];
            this.watch_until(&client, from, last).await;
        });
        let arrived = tokio::time::timeout(Duration::from_secs(30), arrived).await;
        self.stop.store(true, Ordering::SeqCst);
        watch.await.expect("the last watch panicked");
        arrived.map_err(|_| format!("a watch never told of revision {last}"))
    }

    async fn watch_until(&self, client: &Client, mut from: Revision, last: Revision) {
        while from < last && !self.stop.load(Ordering::SeqCst) {
            from = self.watch_from(client, "", from, 1).await;
            self.reached.lock()[0] = from;
        }
    }
}

/// Returns the message of an event; `None` if the watch is over.
fn told(event: WatchEvent<ConfigMap>, expired: &mut bool) -> Option<Seen> {
    let (kind, object) = match event {
        WatchEvent::Added(object) => (Kind::Added, object),
        WatchEvent::Modified(object) => (Kind::Modified, object),
        WatchEvent::Deleted(object) => (Kind::Deleted, object),
        WatchEvent::Bookmark(bookmark) => {
            return Some(Seen::Bookmark(bookmark.metadata.resource_version.parse().unwrap()));
        }
        WatchEvent::Error(status) => {
            *expired = status.code == 410;
            return None;
        }
    };
    let (key, revision, value) = read(&object);
    Some(Seen::Event(kind, key, revision, value))
}
