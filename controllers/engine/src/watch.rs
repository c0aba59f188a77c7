//! Keeps a cache current: lists, watches, resumes, and lists again if the server does not have the history
//! since the last version, and from time to time.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, pin_mut};
use kube::Client;
use kube::api::{ListParams, WatchEvent};
use kube::core::{ListMeta, Request};
use machinery::clock::Clock;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::answers::{Identity, without_managed_fields};
use crate::aside::aside;
use crate::cache::{Contents, Decode, Stored, packed, stored};
use crate::error::{Error, Result};
use crate::limits::OBJECT_PARTS;
use crate::object::{Kind, NamespacedName};
use crate::quota::{Counted, Quota};
use crate::scope::Scope;

/// The server ends each watch after this time; the watch is then resumed.
pub const WATCH_TIMEOUT: Duration = Duration::from_secs(290);
/// A watch that is silent for longer than the server keeps it open has a dead connection.
const SILENCE: Duration = Duration::from_secs(300);
/// When a watch ends, and the last list is older than this, the objects are listed again. An event that was lost is made good then, within
/// the interval of the resync.
pub const LIST_INTERVAL: Duration = Duration::from_secs(9 * 60);
/// Number of objects in a page of a list of a workload cluster. The management cluster is asked for all at once.
const REMOTE_PAGE: u32 = 500;
/// Number of pages of a list.
pub const REMOTE_PAGES: usize = 100;
/// Larger objects are decoded where this does not delay other tasks. Size of the text in bytes.
const ASIDE_FROM_BYTES: usize = 128 << 10;
const BACK_OFF_BASE: Duration = Duration::from_millis(50);
const BACK_OFF_MAX: Duration = Duration::from_secs(10);

/// A list whose items are not parsed yet.
#[derive(Deserialize)]
struct List {
    #[serde(default)]
    metadata: ListMeta,
    items: Option<Vec<Box<RawValue>>>,
}

/// Keeps the objects of a kind current.
pub struct Watcher {
    /// The client of the cluster.
    pub client: Client,
    /// What is watched.
    pub resource: Watched,
    /// The part of it that is watched.
    pub scope: Scope,
    /// Where the objects are kept.
    pub contents: Arc<Contents>,
    /// The time.
    pub clock: Clock,
    /// What may be kept of a workload cluster; `None` for the management cluster. A workload cluster may disappear at any time, so its
    /// failures are logged at debug level only.
    pub quota: Option<Arc<Quota>>,
}

/// What is watched, and how its objects are decoded.
pub struct Watched {
    kind: String,
    plural: String,
    path: String,
    is_metadata: bool,
    decode: Decode,
}

impl Watched {
    /// Returns the objects of kind `K` in a scope.
    pub fn new<K: Kind>(dynamic: &K::DynamicType, scope: &Scope) -> Self {
        Self {
            kind: K::kind(dynamic).into_owned(),
            plural: K::plural(dynamic).into_owned(),
            path: scope.path::<K>(dynamic),
            is_metadata: K::metadata_api(),
            decode: |text| Ok(stored(K::from_json(text.as_bytes())?)),
        }
    }
}

/// The action after the end of a watch.
enum End {
    /// Resume at the last version seen.
    Resume,
    /// The server does not have the history since the last version.
    Expired,
}

impl Watcher {
    fn request(&self) -> Request {
        Request::new(self.resource.path.as_str())
    }

    /// Runs until it is dropped.
    pub async fn run(self) {
        let mut back_off = BACK_OFF_BASE;
        let mut version: Option<String> = None;
        let mut listed_at = self.clock.monotonic();
        loop {
            let is_due = self.clock.monotonic() - listed_at >= LIST_INTERVAL;
            let result = match version.take().filter(|_| !is_due) {
                None => {
                    listed_at = self.clock.monotonic();
                    self.list().await.map(|listed| version = Some(listed))
                }
                Some(at) => {
                    let mut at = at;
                    let end = self.watch(&mut at).await;
                    if !matches!(end, Ok(End::Expired)) {
                        version = Some(at);
                    }
                    end.map(|_| ())
                }
            };
            match result {
                Ok(()) => back_off = BACK_OFF_BASE,
                Err(error) => {
                    let kind = &self.resource.kind;
                    if self.quota.is_some() {
                        tracing::debug!(%kind, %error, "watching failed, trying again");
                    } else {
                        tracing::warn!(%kind, %error, "watching failed, trying again");
                    }
                    self.clock.sleep(back_off).await;
                    back_off = (back_off * 2).min(BACK_OFF_MAX);
                }
            }
        }
    }

    /// Reads all objects, and returns the version of the list.
    ///
    /// # Errors
    /// The server does not answer, refuses, or its list has no end.
    pub async fn list(&self) -> Result<String> {
        let mut parameters = self.scope.list_parameters();
        parameters.limit = self.quota.is_some().then_some(REMOTE_PAGE);
        let (mut objects, mut kept) = (Vec::new(), BTreeSet::new());
        for _ in 0..REMOTE_PAGES {
            let page = self.page(&parameters).await?;
            for item in page.items.unwrap_or_default() {
                match self.unchanged(item.get()) {
                    Some(key) => drop(kept.insert(key)),
                    None => match self.decode(item.get()) {
                        Ok(object) => objects.push(object),
                        Err(key) => kept.extend(key),
                    },
                }
            }
            parameters.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
            if parameters.continue_token.is_none() {
                let version = page.metadata.resource_version.unwrap_or_default();
                self.contents.observe_list(objects, &kept, version.parse().unwrap_or(u64::MAX));
                self.count_again();
                return Ok(version);
            }
        }
        Err(Error::failed(format!("list {}: more than {REMOTE_PAGES} pages", self.resource.plural)))
    }

    /// Returns the name of an object that the cache already has in this version, so that it need not be decoded.
    fn unchanged(&self, text: &str) -> Option<NamespacedName> {
        let identity = Identity::read(text)?;
        let key = identity.key();
        self.contents.has(&key, &identity.uid, &identity.resource_version).then_some(key)
    }

    async fn page(&self, parameters: &ListParams) -> Result<List> {
        let what = || format!("list {}", self.resource.plural);
        let request = if self.resource.is_metadata {
            self.request().list_metadata(parameters)
        } else {
            self.request().list(parameters)
        };
        let request = request.map_err(|error| Error::api(what(), kube::Error::BuildRequest(error)))?;
        let text = self.client.request_text(request).await.map_err(|error| Error::api(what(), error))?;
        machinery::decode::own(text.as_bytes()).map_err(|error| Error::json(what(), error))
    }

    /// Stops counting the objects that a list did not have any more.
    fn count_again(&self) {
        let Some(quota) = &self.quota else { return };
        let kept: BTreeSet<String> = self.contents.names().iter().map(ToString::to_string).collect();
        quota.retain(&self.counted_kind(), |name| kept.contains(name));
    }

    /// Returns the name under which the objects of this cache are counted.
    fn counted_kind(&self) -> String {
        format!("{} {}", self.resource.plural, self.scope.key())
    }

    /// Decodes an object. One that is not of the kind's structure, or for which a workload cluster has no room left, must not hold up the
    /// others: it is logged, and the cache keeps the last state that it has.
    ///
    /// # Errors
    /// The object's name, if it has one.
    pub fn decode(&self, text: &str) -> std::result::Result<Stored, Option<NamespacedName>> {
        let text = without_managed_fields(text);
        let key = Identity::read(&text).map(|identity| identity.key());
        // Before it is decoded, because the decoded object would be as large as it may be.
        let parts = || text.bytes().filter(|byte| *byte == b'{').count();
        if self.quota.is_some() && parts() > OBJECT_PARTS {
            let (kind, object) = (&self.resource.kind, key.as_ref().map(ToString::to_string));
            tracing::debug!(%kind, ?object, "an object is left out, because it has too many parts");
            return Err(key);
        }
        let keep = || self.keep(&text, key.as_ref());
        let kept = if text.len() >= ASIDE_FROM_BYTES { aside(keep) } else { keep() };
        kept.ok_or(key)
    }

    /// Decodes the text of an object to the form in which the cache keeps it; `None` if it is left out.
    fn keep(&self, text: &str, key: Option<&NamespacedName>) -> Option<Stored> {
        let (kind, object) = (&self.resource.kind, key.map(ToString::to_string));
        let decoded = match (self.resource.decode)(text) {
            Ok(decoded) => decoded,
            Err(error) => {
                const LEFT_OUT: &str = "an object is left out, because it cannot be decoded";
                match self.quota {
                    Some(_) => tracing::debug!(%kind, ?object, %error, "{LEFT_OUT}"),
                    None => tracing::error!(%kind, ?object, %error, "{LEFT_OUT}"),
                }
                return None;
            }
        };
        let admitted = match (&self.quota, key) {
            (Some(quota), Some(key)) => {
                quota.count(&self.counted_kind(), &key.to_string(), decoded.resident())
            }
            _ => Counted::Yes,
        };
        match admitted {
            Counted::Yes => return Some(packed(decoded, text, self.resource.decode)),
            Counted::No => {
                tracing::warn!(%kind, ?object, "objects of a workload cluster are left out, because it has too many of them");
            }
            Counted::NoAgain => {
                tracing::debug!(%kind, ?object, "an object is left out, because its cluster has too many of them");
            }
        }
        None
    }

    async fn watch(&self, version: &mut String) -> Result<End> {
        let what = || format!("watch {}", self.resource.plural);
        let parameters = self.scope.watch_parameters(u32::try_from(WATCH_TIMEOUT.as_secs()).ok());
        let request = if self.resource.is_metadata {
            self.request().watch_metadata(&parameters, version)
        } else {
            self.request().watch(&parameters, version)
        };
        let request = request.map_err(|error| Error::api(what(), kube::Error::BuildRequest(error)))?;
        let events = self.client.request_events::<Box<RawValue>>(request).await;
        let events = events.map_err(|error| Error::api(what(), error))?;
        pin_mut!(events);
        loop {
            let Ok(event) = tokio::time::timeout(SILENCE, events.next()).await else {
                return Err(Error::failed(format!("{}: silent for {} s", what(), SILENCE.as_secs())));
            };
            match event {
                None => return Ok(End::Resume),
                Some(Ok(event)) => {
                    if let Some(end) = self.event(event, version)? {
                        return Ok(end);
                    }
                }
                Some(Err(error)) => return Err(Error::api(what(), error)),
            }
        }
    }

    fn event(&self, event: WatchEvent<Box<RawValue>>, version: &mut String) -> Result<Option<End>> {
        let what = || format!("watch {}", self.resource.plural);
        match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                if !self.has(object.get(), version)
                    && let Ok(object) = self.decode(object.get())
                {
                    self.contents.observe(object);
                }
            }
            WatchEvent::Deleted(object) => {
                if let Some(identity) = Identity::read(object.get()) {
                    (*identity.resource_version).clone_into(version);
                    self.contents.observe_deleted(&identity.key(), &identity.uid);
                    if let Some(quota) = &self.quota {
                        quota.forget(&self.counted_kind(), &identity.key().to_string());
                    }
                }
            }
            WatchEvent::Bookmark(bookmark) => *version = bookmark.metadata.resource_version,
            WatchEvent::Error(status) if status.code == 410 => return Ok(Some(End::Expired)),
            WatchEvent::Error(status) => return Err(Error::api(what(), kube::Error::Api(status))),
        }
        Ok(None)
    }

    /// Returns whether the cache already has the object of an event: most events echo this process's own
    /// writes. Sets `version` to the event's `resourceVersion`.
    fn has(&self, text: &str, version: &mut String) -> bool {
        let Some(identity) = Identity::read(text) else { return false };
        (*identity.resource_version).clone_into(version);
        self.contents.has(&identity.key(), &identity.uid, &identity.resource_version)
    }
}
