//! Keeps a cache current: lists, watches, resumes, and lists again if the server does not have the history
//! since the last version.

use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, pin_mut};
use kube::Client;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::core::{ListMeta, Request};
use machinery::clock::Clock;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::answers::{Identity, without_managed_fields};
use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::object::{Kind, NamespacedName};

/// The server ends each watch after this time; the watch is then resumed.
const WATCH_TIMEOUT: Duration = Duration::from_secs(290);
/// A watch that is silent for longer than the server keeps it open has a dead connection.
const SILENCE: Duration = Duration::from_secs(300);
const BACK_OFF_BASE: Duration = Duration::from_millis(50);
const BACK_OFF_MAX: Duration = Duration::from_secs(10);

/// A list whose items are not parsed yet.
#[derive(Deserialize)]
struct List {
    #[serde(default)]
    metadata: ListMeta,
    items: Option<Vec<Box<RawValue>>>,
}

pub(crate) struct Watcher<K: Kind> {
    pub client: Client,
    pub dynamic: K::DynamicType,
    /// The only object to watch; `None` for all of the kind.
    pub only: Option<NamespacedName>,
    pub cache: Arc<Cache<K>>,
    pub clock: Clock,
    /// Whether the cluster is a workload cluster. It may disappear at any time, so failures are logged at
    /// debug level only.
    pub is_remote: bool,
}

/// The action after the end of a watch.
enum End {
    /// Resume at the last version seen.
    Resume,
    /// The server does not have the history since the last version.
    Expired,
}

impl<K: Kind> Watcher<K> {
    fn request(&self) -> Request {
        Request::new(K::url_path(&self.dynamic, self.only.as_ref().and_then(NamespacedName::scope)))
    }

    /// Returns the field selector of the only object to watch.
    fn fields(&self) -> Option<String> {
        self.only.as_ref().map(|only| format!("metadata.name={}", only.name))
    }

    /// Runs until it is dropped.
    pub async fn run(self) {
        let mut back_off = BACK_OFF_BASE;
        let mut version: Option<String> = None;
        loop {
            let result = match version.take() {
                None => self.list().await.map(|listed| version = Some(listed)),
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
                    let kind = K::kind(&self.dynamic);
                    if self.is_remote {
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

    async fn list(&self) -> Result<String> {
        let what = || format!("list {}", K::plural(&self.dynamic));
        let parameters = ListParams { field_selector: self.fields(), ..ListParams::default() };
        let request = if K::metadata_api() {
            self.request().list_metadata(&parameters)
        } else {
            self.request().list(&parameters)
        };
        let request = request.map_err(|error| Error::api(what(), kube::Error::BuildRequest(error)))?;
        let text = self.client.request_text(request).await.map_err(|error| Error::api(what(), error))?;
        let failed = |error| Error::json(what(), error);
        let list: List = machinery::decode::own(text.as_bytes()).map_err(failed)?;
        let items = list.items.unwrap_or_default().into_iter();
        let items = items.map(|item| K::from_json(without_managed_fields(item.get()).as_bytes()));
        let items = items.collect::<serde_json::Result<Vec<K>>>().map_err(failed)?;
        let version = list.metadata.resource_version.unwrap_or_default();
        self.cache.observe_list(items, version.parse().unwrap_or(u64::MAX));
        Ok(version)
    }

    async fn watch(&self, version: &mut String) -> Result<End> {
        let what = || format!("watch {}", K::plural(&self.dynamic));
        let seconds = u32::try_from(WATCH_TIMEOUT.as_secs()).ok();
        let parameters = WatchParams {
            timeout: seconds,
            bookmarks: true,
            field_selector: self.fields(),
            ..WatchParams::default()
        };
        let request = if K::metadata_api() {
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
        let what = || format!("watch {}", K::plural(&self.dynamic));
        let decode = |text: &str| K::from_json(text.as_bytes()).map_err(|error| Error::json(what(), error));
        match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                let text = without_managed_fields(object.get());
                if !self.has(&text, version) {
                    self.cache.observe(decode(&text)?);
                }
            }
            WatchEvent::Deleted(object) => {
                let object = decode(&without_managed_fields(object.get()))?;
                self.cache.observe_deleted(&object);
                if let Some(at) = object.meta().resource_version.as_ref() {
                    version.clone_from(at);
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
        self.cache.has(&identity.key(), &identity.uid, &identity.resource_version)
    }
}
