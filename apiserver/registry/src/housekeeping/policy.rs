//! Creates and updates the default roles and bindings at the start.

use kinds::Subresource;
use machinery::status::Status;
use serde_json::{Map, Value};

use super::default_roles::{self, Wanted};
use crate::context::{Context, DeleteOptions, Input, Preconditions};
use crate::target::Target;
use crate::verbs;
use crate::versions::definitions::Served;
use crate::write::changed::{Changed, Ownership};
use crate::write::writes::Writes;

const GROUP: &str = "rbac.authorization.k8s.io";
const AUTOUPDATE: &str = "rbac.authorization.kubernetes.io/autoupdate";
const MANAGER: &str = "kube-apiserver";

/// Creates missing default roles and bindings, and adds missing rules and subjects to existing ones. Additions by users
/// stay.
pub(crate) async fn reconcile(writes: &Writes) {
    // Concurrent writes share the disk's syncs.
    let writes = default_roles::all().into_iter().map(|wanted| async move {
        if let Err(status) = ensure(writes, &wanted).await {
            let name = wanted.object["metadata"]["name"].as_str().unwrap_or_default();
            tracing::error!(name, %status, "a default role or binding could not be written");
        }
    });
    futures::future::join_all(writes).await;
}

async fn ensure(writes: &Writes, wanted: &Wanted) -> Result<(), Status> {
    let Some(served) = writes.versions().served(GROUP, "v1", wanted.plural) else { return Ok(()) };
    let name = wanted.object["metadata"]["name"].as_str().unwrap_or_default();
    let target =
        Target { served: &served, namespace: &wanted.namespace, name, subresource: Subresource::None };
    let Some(entry) = writes.storage().get(&target.key()) else {
        return create(writes, &served, wanted).await;
    };
    let Ok(stored) = machinery::decode::own::<Value>(&entry.value) else { return Ok(()) };
    if stored["metadata"]["annotations"][AUTOUPDATE] == "false"
        || completed(&stored, &wanted.object) == stored
    {
        return Ok(());
    }
    let mut context = Context::start(MANAGER);
    // The `roleRef` of a binding is immutable.
    if stored["roleRef"] != wanted.object["roleRef"] {
        let uid = Some(machinery::meta::uid(&stored).to_owned());
        let preconditions = Preconditions { uid, resource_version: None };
        let options = DeleteOptions { preconditions, ..DeleteOptions::default() };
        verbs::delete(writes, &mut context, &served, &wanted.namespace, name, &options).await?;
        return create(writes, &served, wanted).await;
    }
    let changed = writes.change(&mut context, &target, |_, live| {
        let object = completed(live, &wanted.object);
        Ok(Changed { object, ownership: Ownership::Note, expected_uid: None })
    });
    changed.await.map(drop)
}

async fn create(writes: &Writes, served: &Served, wanted: &Wanted) -> Result<(), Status> {
    let mut context = Context::start(MANAGER);
    let input = Input::new(wanted.object.clone());
    verbs::create(writes, &mut context, served, &wanted.namespace, input).await.map(drop)
}

/// Returns `stored` with the missing parts of `wanted`: labels, annotations, rules, subjects and the aggregation rule.
fn completed(stored: &Value, wanted: &Value) -> Value {
    let mut object = stored.clone();
    for field in ["labels", "annotations"] {
        let empty = Map::new();
        let wanted = wanted["metadata"][field].as_object().unwrap_or(&empty);
        for (key, value) in wanted {
            if object["metadata"][field].get(key).is_none() {
                object["metadata"][field][key] = value.clone();
            }
        }
    }
    if let Some(rule) = wanted.get("aggregationRule") {
        if object.get("aggregationRule").is_none() {
            object["aggregationRule"] = rule.clone();
        }
        return object;
    }
    for field in ["rules", "subjects"] {
        for one in wanted[field].as_array().into_iter().flatten() {
            match object[field].as_array_mut() {
                Some(list) if list.contains(one) => {}
                Some(list) => list.push(one.clone()),
                None => object[field] = Value::Array(vec![one.clone()]),
            }
        }
    }
    object
}
