//! The verb `watch`: the changes of a resource after a revision, as events.

use std::collections::VecDeque;
use std::sync::Arc;

use machinery::field::{FieldError, FieldErrorKind};
use machinery::status::Status;
use serde_json::json;
use store::{Event, EventKind, Stored, WatchEnd, Watcher};

use super::list::wait_for;
use super::read_options::{invalid_options, unparsable};
use super::select::Selection;
use crate::aside::Aside;
use crate::context::{Context, WatchOptions};
use crate::limits::{OBJECT_WORK_BYTES, YIELD_BYTES};
use crate::response::{EventType, WatchEvent};
use crate::storage::document;
use crate::storage::entries::{Gone, Storage};
use crate::storage::keys;
use crate::versions::current::Versions;
use crate::versions::definitions::Served;
use crate::versions::view::View;

/// A running watch. It ends when it is dropped.
pub struct Watch {
    pub(crate) inner: WatchState,
}

impl Watch {
    /// Returns the next event; `None` after an [`EventType::Error`] or when the server stops.
    pub async fn next(&mut self) -> Option<WatchEvent> {
        self.inner.next().await
    }

    /// Returns a bookmark with the current position of this watch. The caller sends one about once per minute if the
    /// client requested bookmarks, and one before it ends the watch at its timeout.
    pub fn bookmark(&mut self) -> WatchEvent {
        self.inner.bookmark()
    }
}

/// The annotation of the bookmark that ends the initial events.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// A running watch: first the pending events of its start, then the changes.
pub(crate) struct WatchState {
    served: Served,
    selection: Selection,
    pending: VecDeque<WatchEvent>,
    changes: Option<Watcher>,
    /// The change that is being converted. It has been taken from `changes` but not returned.
    change: Option<Arc<Event>>,
    /// Only changes after this revision are returned. It can be in the future.
    after: u64,
    versions: Arc<Versions>,
    aside: Aside,
}

/// Starts a watch. If the start revision is too old, the first event is an [`EventType::Error`], like on a real API
/// server. If it is in the future, the watch returns the changes after it. Initial events at a future revision are
/// waited for; after a timeout, an error event follows.
///
/// # Errors
/// 400 and 422 for malformed options, 500 for a malformed revision or if the store has stopped.
pub(crate) async fn watch(
    storage: &Storage,
    versions: &Arc<Versions>,
    context: &mut Context,
    served: &Served,
    namespace: &str,
    options: &WatchOptions,
) -> Result<Watch, Status> {
    let selection = Selection::parse(served, &options.label_selector, &options.field_selector)?;
    check_options(options)?;
    selection.check_fields()?;
    let text = options.resource_version.as_str();
    let asked: u64 = match text {
        "" => 0,
        text => text.parse().map_err(|_| Status::new(500, "", unparsable(text)))?,
    };
    let prefix = keys::namespace(&served.definition, namespace);
    let mut state = WatchState {
        served: served.clone(),
        selection,
        pending: VecDeque::new(),
        changes: None,
        change: None,
        after: 0,
        versions: versions.clone(),
        aside: context.aside.clone(),
    };
    // Without a revision, a watch starts with the current objects, unless the client requests otherwise.
    let initial = options.send_initial_events.unwrap_or(asked == 0);
    let start = if initial {
        if let Err(status) = wait_for(storage, asked).await {
            state.pending.push_back(WatchEvent::from(&status));
            return Ok(Watch { inner: state });
        }
        let all = storage.count(&prefix) * OBJECT_WORK_BYTES;
        context.aside.perform(all, queue_current(storage, &mut state, &prefix, options)).await??
    } else {
        state.after = asked;
        asked
    };
    let now = storage.revision();
    let start = if start == 0 { now } else { start.min(now) };
    match storage.watch(&prefix, start) {
        Ok(changes) => state.changes = Some(changes),
        // This must not be an expired revision: the client would list and watch again, which does not help if the
        // store has failed.
        Err(Gone::Failed(status)) => return Err(status),
        Err(Gone::Expired) => {
            let oldest = storage.oldest();
            let status = Status::expired(format!("too old resource version: {start} ({oldest})"));
            state.pending.push_back(WatchEvent::from(&status));
        }
    }
    Ok(Watch { inner: state })
}

/// Queues the current objects as events, and returns their revision.
async fn queue_current(
    storage: &Storage,
    state: &mut WatchState,
    prefix: &str,
    options: &WatchOptions,
) -> Result<u64, Status> {
    let (entries, revision) = storage.range(prefix);
    let aside = state.aside.clone();
    aside.perform(state.selection.work_on(&entries), queue_selected(state, &entries)).await??;
    if options.send_initial_events != Some(false) && options.bookmarks {
        state.pending.push_back(bookmark(&state.served, revision, true));
    }
    // If the client did not request the first bookmark explicitly, kube-apiserver sends a second one at once.
    if options.send_initial_events.is_none() && options.bookmarks {
        state.pending.push_back(bookmark(&state.served, revision, false));
    }
    Ok(revision)
}

/// Queues the objects that are selected as events.
async fn queue_selected(state: &mut WatchState, entries: &[Arc<Stored>]) -> Result<(), Status> {
    let view = state.versions.list_view(&state.served, entries).await?;
    let mut work = 0;
    for stored in entries {
        work += state.selection.work(stored);
        if work >= YIELD_BYTES {
            work = 0;
            tokio::task::yield_now().await;
        }
        if state.selection.matches(&view, stored) {
            let object = view.text(&state.served, &stored.value, stored.mod_revision.0);
            state.pending.push_back(WatchEvent { kind: EventType::Added, object });
        }
    }
    Ok(())
}

impl WatchState {
    /// Returns the next event. Cancel safe.
    pub(crate) async fn next(&mut self) -> Option<WatchEvent> {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return Some(event);
            }
            if self.change.is_none() {
                let next = tokio::select! {
                    biased;
                    next = self.changes.as_mut()?.next() => next,
                    // The client watches the new definition.
                    () = self.versions.replaced(&self.served) => {
                        self.changes = None;
                        return None;
                    }
                };
                match next {
                    Ok(change) if change.revision().0 <= self.after => continue,
                    Ok(change) => self.change = Some(change),
                    Err(end) => {
                        self.changes = None;
                        if let WatchEnd::TooSlow = end {
                            return Some(WatchEvent::from(&Status::expired(
                                "The watch fell too far behind. Start it again.",
                            )));
                        }
                        return None;
                    }
                }
            }
            // The change stays in `self.change` until it is converted, because this future may be dropped in between.
            let change = self.change.clone()?;
            let work =
                change.prev.iter().chain([&change.object]).map(|stored| self.selection.work(stored)).sum();
            let event = self.aside.perform(work, self.convert(&change)).await.flatten();
            self.change = None;
            match event {
                Ok(Some(event)) => return Some(event),
                Ok(None) => {}
                Err(status) => {
                    self.changes = None;
                    return Some(WatchEvent::from(&status));
                }
            }
        }
    }

    /// Returns the event of a change as clients get it; `None` if the object is not selected.
    async fn convert(&self, change: &Event) -> Result<Option<WatchEvent>, Status> {
        let versions = change.prev.iter().chain([&change.object]);
        let texts = versions.map(|stored| (&stored.value, stored.mod_revision.0));
        let view = self.versions.view(&self.served, texts).await?;
        Ok(self.event(change, &view))
    }

    /// Returns the event of a change. An object that starts or stops matching the selectors is added or deleted.
    fn event(&self, change: &Event, view: &View) -> Option<WatchEvent> {
        let revision = change.revision().0;
        let before = change.prev.as_ref().is_some_and(|prev| self.selection.matches(view, prev));
        let after = change.kind != EventKind::Deleted && self.selection.matches(view, &change.object);
        let kind = match (before, after) {
            (false, true) => EventType::Added,
            (true, true) => EventType::Modified,
            (true, false) => EventType::Deleted,
            (false, false) => return None,
        };
        let object = match (&change.prev, kind) {
            // An object that stops matching is shown in its last matching state, with the revision of the change.
            (Some(prev), EventType::Deleted) if change.kind != EventKind::Deleted => {
                let shown = view.text(&self.served, &prev.value, prev.mod_revision.0);
                document::at_revision(&shown, revision)?
            }
            _ => view.text(&self.served, &change.object.value, revision),
        };
        Some(WatchEvent { kind, object })
    }

    pub(crate) fn bookmark(&mut self) -> WatchEvent {
        let revision = self.changes.as_mut().map_or(0, |changes| changes.progress().0);
        bookmark(&self.served, revision.max(self.after), false)
    }
}

fn bookmark(served: &Served, revision: u64, initial_events_end: bool) -> WatchEvent {
    let mut metadata = json!({"resourceVersion": revision.to_string()});
    if initial_events_end {
        metadata["annotations"] = json!({INITIAL_EVENTS_END: "true"});
    }
    let object = json!({
        "kind": served.definition.kind, "apiVersion": served.api_version(), "metadata": metadata,
    });
    let order = document::order(&served.definition, &object);
    WatchEvent { kind: EventType::Bookmark, object: document::text(&object, order) }
}

fn check_options(options: &WatchOptions) -> Result<(), Status> {
    const FIELD: &str = "resourceVersionMatch";
    let mut errors = Vec::new();
    let how = options.resource_version_match.as_str();
    let forbid = |detail: &str| FieldError::bare(FieldErrorKind::Forbidden, FIELD, detail);
    match options.send_initial_events {
        Some(_) => {
            if how != "NotOlderThan" {
                errors
                    .push(forbid("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
            }
            if !matches!(how, "NotOlderThan" | "") {
                errors.push(FieldError::not_supported(FIELD, &how.into(), &["NotOlderThan".into()]));
            }
        }
        None if !how.is_empty() => {
            errors.push(forbid(
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            ));
            if how != "NotOlderThan" {
                errors.push(FieldError::not_supported(FIELD, &how.into(), &["NotOlderThan".into()]));
            }
        }
        None => {}
    }
    invalid_options(&errors)
}
