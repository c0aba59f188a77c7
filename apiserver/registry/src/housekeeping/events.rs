//! Deletes Events one hour after their last write.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

use machinery::clock::Clock;
use store::{Event, EventKind, Key, Revision, Watcher};

use crate::context::{Context, DeleteOptions, Preconditions};
use crate::verbs;
use crate::write::writes::Writes;

/// Retention time of Events.
const AGE: Duration = Duration::from_secs(3600);
const PREFIX: &str = "/registry/core/events/";

/// Expiry times of Events, in milliseconds since the Unix epoch, with the revision that expires: what is written later under the same key
/// stays.
#[derive(Default)]
struct Deadlines {
    by_time: BTreeSet<(i64, Key)>,
    by_key: BTreeMap<Key, (i64, Revision)>,
}

impl Deadlines {
    fn set(&mut self, key: &Key, at: i64, revision: Revision) {
        self.forget(key);
        self.by_time.insert((at, key.clone()));
        self.by_key.insert(key.clone(), (at, revision));
    }

    fn forget(&mut self, key: &Key) {
        if let Some((at, _)) = self.by_key.remove(key) {
            self.by_time.remove(&(at, key.clone()));
        }
    }

    fn due(&mut self, now: i64) -> Vec<(Key, Revision)> {
        let mut due = Vec::new();
        while let Some((at, key)) = self.by_time.first().cloned().filter(|(at, _)| *at <= now) {
            self.by_time.remove(&(at, key.clone()));
            due.extend(self.by_key.remove(&key).map(|(_, revision)| (key, revision)));
        }
        due
    }

    fn observe(&mut self, event: &Event, now: i64) {
        match event.kind {
            EventKind::Deleted => self.forget(event.key()),
            _ => self.set(event.key(), now + AGE.as_millis() as i64, event.revision()),
        }
    }
}

/// Starts the task that deletes expired Events.
pub(crate) fn start(writes: &Arc<Writes>) {
    let (entries, revision) = writes.storage().range(PREFIX);
    let Ok(changes) = writes.storage().watch(PREFIX, revision) else { return };
    let clock = writes.clock().clone();
    let mut deadlines = Deadlines::default();
    for stored in entries {
        let written = machinery::decode::own::<serde_json::Value>(&stored.value).ok().and_then(|event| {
            machinery::clock::parse_rfc3339(event["metadata"]["creationTimestamp"].as_str()?)
        });
        let written = written.unwrap_or_else(|| clock.now());
        let at = written.timestamp_millis() + AGE.as_millis() as i64;
        deadlines.set(&stored.key, at, stored.mod_revision);
    }
    let weak = Arc::downgrade(writes);
    tokio::spawn(expire(weak, clock, changes, deadlines));
}

async fn expire(weak: Weak<Writes>, clock: Clock, mut changes: Watcher, mut deadlines: Deadlines) {
    loop {
        let wait = deadlines.by_time.first().map(|(at, _)| at - clock.now().timestamp_millis());
        let sleep = async {
            match wait {
                Some(wait) => clock.sleep(Duration::from_millis(u64::try_from(wait).unwrap_or(0))).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            event = changes.next() => match event {
                Ok(event) => deadlines.observe(&event, clock.now().timestamp_millis()),
                Err(_) => return,
            },
            () = sleep => {}
        }
        let due = deadlines.due(clock.now().timestamp_millis());
        if due.is_empty() {
            continue;
        }
        let Some(writes) = weak.upgrade() else { return };
        let Some(served) = writes.versions().served("", "v1", "events") else { return };
        for (key, revision) in due {
            let mut context = Context::internal("kube-apiserver");
            let namespace = key.namespace().unwrap_or_default();
            let resource_version = Some(revision.0.to_string());
            let preconditions = Preconditions { uid: None, resource_version };
            let options = DeleteOptions { preconditions, ..DeleteOptions::default() };
            // An error is ignored: the Event may have been deleted or written already.
            let _ = verbs::delete(&writes, &mut context, &served, namespace, key.name(), &options).await;
        }
    }
}
