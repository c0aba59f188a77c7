//! Binding of Pods to Nodes. After its creation, a Pod gets its Node only in this way.

use kinds::Subresource;
use machinery::meta;
use machinery::status::{GroupResource, Status};
use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::target::Target;
use crate::versions::definitions::Served;
use crate::versions::fields;
use crate::write::change::check_uid;
use crate::write::writes::Writes;

/// Number of attempts if another client writes the Pod at the same time.
const ATTEMPTS: usize = 10;

/// The resource that conflict answers name.
const BINDING: GroupResource<'static> = GroupResource { group: "", resource: "pods/binding" };

/// Assigns the Pod `name` to the Node `node`, and adds the labels and annotations of the binding. A dry run only
/// checks whether the binding is possible.
pub(crate) async fn bind(
    writes: &Writes,
    context: &Context,
    pods: &Served,
    namespace: &str,
    name: &str,
    node: &str,
    binding: &Value,
) -> Result<(), Status> {
    let target = Target { served: pods, namespace, name, subresource: Subresource::None };
    for _ in 0..ATTEMPTS {
        let entry = writes.storage().get(&target.key()).ok_or_else(|| target.not_found())?;
        let mut pod = writes.versions().read(pods, &entry).await?;
        // The scheduler has chosen the Node for this Pod, and not for another one that gets its name.
        check_uid(&target, &pod, Some(meta::uid(binding)).filter(|uid| !uid.is_empty()))?;
        if meta::is_deleting(&pod) {
            let why = format!("pod {name} is being deleted, cannot be assigned to a host");
            return Err(Status::conflict(BINDING, name, &why));
        }
        if let Some(taken) = pod["spec"]["nodeName"].as_str().filter(|taken| !taken.is_empty()) {
            let why = format!("pod {name} is already assigned to node {}", machinery::field::quote(taken));
            return Err(Status::conflict(BINDING, name, &why));
        }
        pod["spec"]["nodeName"] = node.into();
        for field in ["labels", "annotations"] {
            add(&mut pod, field, binding["metadata"][field].as_object());
        }
        scheduled(&mut pod, &writes.now());
        if context.dry_run {
            return Ok(());
        }
        let document = fields::document(pods, &writes.versions().to_storage(pods, pod).await?);
        if let Ok(entry) = writes.storage().put(&target.key(), Some(entry.revision), document).await {
            pods.prove(&target.key(), entry.revision, true);
            writes.wrote(pods, &entry).await;
            return Ok(());
        }
    }
    Err(target.modified())
}

fn scheduled(pod: &mut Value, now: &str) {
    let condition = json!({
        "type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": now,
    });
    let conditions = &mut pod["status"]["conditions"];
    match conditions.as_array_mut() {
        Some(list) => {
            list.retain(|one| one["type"] != "PodScheduled");
            list.push(condition);
        }
        None => *conditions = json!([condition]),
    }
}

fn add(pod: &mut Value, field: &str, more: Option<&Map<String, Value>>) {
    let (Some(more), Some(metadata)) = (more, meta::metadata_mut(pod)) else { return };
    let own = metadata.entry(field).or_insert_with(|| json!({}));
    for (key, value) in more {
        own[key.as_str()] = value.clone();
    }
}
