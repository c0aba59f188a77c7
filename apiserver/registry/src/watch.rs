//! Watches: the changes of a resource after a revision, as events.

use std::collections::VecDeque;
use std::sync::Arc;

use machinery::field::{FieldError, FieldErrorKind};
use machinery::status::Status;
use serde_json::json;
use store::{Event, EventKind, Stored, WatchEnd, Watcher};

use crate::context::{Context, WatchOptions};
use crate::convert::View;
use crate::definitions::Served;
use crate::registry::Registry;
use crate::response::{EventType, Watch, WatchEvent};
use crate::select::Selection;
use crate::storage::Gone;
use crate::{document, keys, list};

/// Marks the bookmark that ends the initial events.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// A running watch: what is still to be sent of its start, then the changes.
pub(crate) struct WatchState {
    served: Served,
    selection: Selection,
    pending: VecDeque<WatchEvent>,
    changes: Option<Watcher>,
    /// The change that is being converted: taken from `changes` and not shown yet.
    change: Option<Arc<Event>>,
    /// Only changes after this revision, which may be one of the future.
    after: u64,
    /// For conversions.
    registry: Registry,
    /// Tells when definitions have changed.
    definitions: tokio::sync::watch::Receiver<u64>,
}

impl Registry {
    /// Starts a watch. A start that is too old is an [`EventType::Error`] event, as on a real server. One in the future shows the
    /// changes from there on; initial events as of the future are waited for, for a while, and then an error event too.
    ///
    /// # Errors
    /// 400 and 422 for malformed options, 500 for a malformed revision and when the store stopped.
    pub async fn watch(
        &self,
        context: &mut Context,
        served: &Served,
        namespace: &str,
        options: &WatchOptions,
    ) -> Result<Watch, Status> {
        let _ = context;
        let selection = Selection::parse(served, &options.label_selector, &options.field_selector)?;
        check_options(options)?;
        selection.check_fields()?;
        let text = options.resource_version.as_str();
        let asked: u64 = match text {
            "" => 0,
            text => text.parse().map_err(|_| Status::new(500, "", list::unparsable(text)))?,
        };
        let prefix = keys::namespace(&served.definition, namespace);
        let mut definitions = self.definitions_changed();
        if !served.is_current(&self.definitions()) {
            // It changed since it was looked up: the watch ends with the first look.
            definitions.mark_changed();
        }
        let mut state = WatchState {
            served: served.clone(),
            selection,
            pending: VecDeque::new(),
            changes: None,
            change: None,
            after: 0,
            registry: self.clone(),
            definitions,
        };
        // Without a revision a watch begins with what is there, unless the client asks otherwise.
        let initial = options.send_initial_events.unwrap_or(asked == 0);
        let start = if initial {
            if let Err(status) = self.wait_for(asked).await {
                state.pending.push_back(WatchEvent::from(&status));
                return Ok(Watch { inner: state });
            }
            self.initial(&mut state, &prefix, options).await?
        } else {
            state.after = asked;
            asked
        };
        let now = self.storage().revision();
        let start = if start == 0 { now } else { start.min(now) };
        match self.storage().watch(&prefix, start) {
            Ok(changes) => state.changes = Some(changes),
            // Whoever is told that its revision is too old lists and watches again, which helps only then.
            Err(Gone::Failed(status)) => return Err(status),
            Err(Gone::Expired) => {
                let oldest = self.storage().oldest();
                let status = Status::expired(format!("too old resource version: {start} ({oldest})"));
                state.pending.push_back(WatchEvent::from(&status));
            }
        }
        Ok(Watch { inner: state })
    }

    /// Queues what is there now as events, and answers the revision it shows.
    async fn initial(
        &self,
        state: &mut WatchState,
        prefix: &str,
        options: &WatchOptions,
    ) -> Result<u64, Status> {
        let (entries, revision) = self.storage().range(prefix);
        let view = self.list_view(&state.served, &entries).await?;
        for stored in &entries {
            if !state.selects(&view, stored) {
                continue;
            }
            let object = view.text(&state.served, &stored.value, stored.mod_revision.0);
            state.pending.push_back(WatchEvent { kind: EventType::Added, object });
        }
        if options.send_initial_events != Some(false) && options.bookmarks {
            state.pending.push_back(bookmark(&state.served, revision, true));
        }
        // Who did not ask for the first one gets one more at once.
        if options.send_initial_events.is_none() && options.bookmarks {
            state.pending.push_back(bookmark(&state.served, revision, false));
        }
        Ok(revision)
    }
}

impl WatchState {
    fn selects(&self, view: &View, stored: &Stored) -> bool {
        self.selection.matches(view, &stored.value, stored.mod_revision.0)
    }

    /// The next event. Cancel safe.
    pub(crate) async fn next(&mut self) -> Option<WatchEvent> {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return Some(event);
            }
            if self.change.is_none() {
                let next = tokio::select! {
                    biased;
                    next = self.changes.as_mut()?.next() => next,
                    () = replaced(&mut self.definitions, &self.registry, &self.served) => {
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
            // The change stays in its place until it is converted: this future may be dropped on the way.
            let change = self.change.clone()?;
            let versions = change.prev.iter().chain([&change.object]);
            let texts = versions.map(|stored| (&stored.value, stored.mod_revision.0));
            let view = self.registry.view(&self.served, texts).await;
            self.change = None;
            match view {
                Ok(view) => {
                    if let Some(event) = self.event(&change, &view) {
                        return Some(event);
                    }
                }
                Err(status) => {
                    self.changes = None;
                    return Some(WatchEvent::from(&status));
                }
            }
        }
    }

    /// A change as this watch sees it: objects come and go with what is selected.
    fn event(&self, change: &Event, view: &View) -> Option<WatchEvent> {
        let revision = change.revision().0;
        let before = change.prev.as_ref().is_some_and(|prev| self.selects(view, prev));
        let after = change.kind != EventKind::Deleted && self.selects(view, &change.object);
        let kind = match (before, after) {
            (false, true) => EventType::Added,
            (true, true) => EventType::Modified,
            (true, false) => EventType::Deleted,
            (false, false) => return None,
        };
        let object = match (&change.prev, kind) {
            // What leaves the selection is shown as it was last selected, under the revision of the change.
            (Some(prev), EventType::Deleted) if change.kind != EventKind::Deleted => {
                let shown = view.text(&self.served, &prev.value, prev.mod_revision.0);
                document::Document::from_text(&shown)?.at(revision)
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

/// Waits until the definition of a custom resource says something else, or is gone: whoever watches comes back and is served by
/// the new one. Built-in kinds stay what they are.
async fn replaced(definitions: &mut tokio::sync::watch::Receiver<u64>, registry: &Registry, served: &Served) {
    if served.definition.built_in {
        return std::future::pending().await;
    }
    while definitions.changed().await.is_ok() {
        if !served.is_current(&registry.definitions()) {
            return;
        }
    }
    std::future::pending().await
}

fn bookmark(served: &Served, revision: u64, initial_events_end: bool) -> WatchEvent {
    let mut metadata = json!({"resourceVersion": revision.to_string()});
    if initial_events_end {
        metadata["annotations"] = json!({INITIAL_EVENTS_END: "true"});
    }
    let object = json!({
        "kind": served.definition.kind, "apiVersion": served.api_version(), "metadata": metadata,
    });
    WatchEvent { kind: EventType::Bookmark, object: document::text(&object) }
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
    list::invalid_options(&errors)
}
