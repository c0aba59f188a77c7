//! The quotas of a namespace are charged for what is written there, after all other admission.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use kinds::Subresource;
use kinds::charge::Write;
use kinds::counted::Counted;
use machinery::meta;
use machinery::status::Status;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::OwnedMutexGuard;

use super::changed::{Changed, Ownership};
use super::writes::Writes;
use crate::admission::plugins::forbidden;
use crate::context::Context;
use crate::response::Written;
use crate::target::Target;

/// How often quotas are read again that others have written at the same time.
const RETRIES: usize = 3;
/// How long a write waits for others of its namespace, as in kube-apiserver.
const WAIT: Duration = Duration::from_secs(10);

/// The turn of a write, or of a count, in a namespace with quotas.
pub(crate) type Turn = OwnedMutexGuard<()>;

/// One write of a namespace after the other looks at its quotas. Its turn ends when its object is stored: a count before that would take back
/// what was charged for it.
#[derive(Default)]
pub(crate) struct QuotaTurns(Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>);

impl QuotaTurns {
    /// Waits for the turn.
    pub(crate) async fn wait(&self, namespace: &str) -> Turn {
        self.of(namespace).lock_owned().await
    }

    fn of(&self, namespace: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut turns = self.0.lock();
        if let Some(turn) = turns.get(namespace).and_then(Weak::upgrade) {
            return turn;
        }
        turns.retain(|_, turn| turn.strong_count() > 0);
        let turn = Arc::default();
        turns.insert(namespace.to_owned(), Arc::downgrade(&turn));
        turn
    }
}

/// Charges the quotas that are about an object, and returns the turn in which it is to be stored. What is charged for a write that fails
/// afterwards is given back when the quota is counted.
///
/// # Errors
/// 403 if a quota refuses the write, 500 if others of the namespace take too long.
pub(crate) async fn charge(
    writes: &Writes,
    context: &Context,
    target: &Target<'_>,
    old: Option<&Value>,
    object: &Value,
) -> Result<Option<Turn>, Status> {
    let (definition, namespace) = (&target.served.definition, target.namespace);
    if !definition.namespaced || namespace.is_empty() || context.is_start {
        return Ok(None);
    }
    let part = target.subresource;
    let counted = Counted::new(&definition.group, &definition.plural);
    let Some(counted) = counted.filter(|counted| counted.is_charged(part, object, old)) else {
        return Ok(None);
    };
    if writes.storage().count(&format!("/registry/core/resourcequotas/{namespace}/")) == 0 {
        return Ok(None);
    }
    let waited = tokio::time::timeout(WAIT, writes.quota_turns().wait(namespace)).await;
    let turn = waited.map_err(|_| Status::internal("resource quota evaluation timed out"))?;
    let mut overtaken: Option<(Vec<String>, Status)> = None;
    for _ in 0..=RETRIES {
        let mut quotas = writes.versions().reader().stored_objects("", "resourcequotas", namespace);
        if let Some((names, _)) = &overtaken {
            quotas.retain(|quota| names.iter().any(|name| name == meta::name(quota)));
        }
        let write = Write { counted, part, object, old, now: writes.clock().now() };
        let charged = write.charge(&quotas).map_err(|why| forbidden(target, object, &why))?;
        if context.dry_run {
            return Ok(None);
        }
        overtaken = None;
        for (quota, used) in quotas.iter().zip(charged) {
            let Some(used) = used else { continue };
            let mut status = quota["status"].clone();
            status["used"] = used;
            if let Err(status) = set_status(writes, "kube-apiserver", quota, status).await {
                let (names, last) = overtaken.get_or_insert_with(|| (Vec::new(), status.clone()));
                names.push(meta::name(quota).to_owned());
                *last = status;
            }
        }
        if overtaken.is_none() {
            return Ok(Some(turn));
        }
    }
    overtaken.map_or(Ok(Some(turn)), |(_, status)| Err(status))
}

/// Writes the status of a quota as it was read. The write is admitted and charged itself, like any other, and so its type would contain
/// itself.
///
/// # Errors
/// 409 if the quota has changed since then.
pub(crate) fn set_status<'a>(
    writes: &'a Writes,
    manager: &'a str,
    quota: &'a Value,
    status: Value,
) -> BoxFuture<'a, Result<(), Status>> {
    async move {
        let Some(served) = writes.versions().served("", "v1", "resourcequotas") else { return Ok(()) };
        let namespace = quota["metadata"]["namespace"].as_str().unwrap_or_default();
        let name = meta::name(quota);
        let target = Target { served: &served, namespace, name, subresource: Subresource::Status };
        let mut context = Context::internal(manager);
        let written = writes.change(&mut context, &target, |_, live| {
            if meta::resource_version(live) != meta::resource_version(quota) {
                return Err(target.modified());
            }
            let mut object = live.clone();
            object["status"] = status.clone();
            Ok(Changed { object, ownership: Ownership::Note, expected_uid: None })
        });
        written.await.map(|_: Written| ())
    }
    .boxed()
}
