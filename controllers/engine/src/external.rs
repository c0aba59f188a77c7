//! Objects of kinds that a controller learns from references: a provider's infrastructure, bootstrap and
//! control plane objects.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{Api, DynamicObject, ListParams};
use kube::core::ApiResource;
use parking_lot::Mutex;
use schemas::meta::ContractVersionedObjectReference;
use serde_json::{Map, Value, json};

use crate::cache::Change;
use crate::contract::Resolved;
use crate::error::{Error, Result};
use crate::manager::Manager;
use crate::names;
use crate::object::{NamespacedName, Request};
use crate::objects::Objects;
use crate::queue::Queue;

/// How long the first list of a kind may take. A kind that cannot be listed must not hold up the objects that refer to it.
const LIST_TIMEOUT: Duration = Duration::from_secs(10);

type Mapper = Arc<dyn Fn(&ApiResource, &Change<DynamicObject>) -> Vec<Request> + Send + Sync>;

/// The provider objects that one controller reads. The controller gets the changes of each kind that it has
/// read once.
pub struct External {
    manager: Manager,
    queue: Arc<Queue>,
    mapper: Mapper,
    /// The kinds that were opened.
    opened: Mutex<BTreeMap<String, Objects<DynamicObject>>>,
}

/// A provider's object with its resolved kind.
#[derive(Debug, Clone)]
pub struct ExternalObject {
    /// The object.
    pub object: Arc<DynamicObject>,
    /// The object's kind, in the version that implements the contract.
    pub resource: ApiResource,
    /// The contract, `v1beta2` or `v1beta1`.
    pub contract: &'static str,
}

impl ExternalObject {
    /// Returns the value at a JSON pointer such as `/status/ready`; `None` if absent or null.
    pub fn get(&self, pointer: &str) -> Option<&Value> {
        self.object.data.pointer(pointer).filter(|value| !value.is_null())
    }

    /// Returns the string at a JSON pointer; `None` if absent, empty or not a string.
    pub fn text(&self, pointer: &str) -> Option<&str> {
        self.get(pointer)?.as_str().filter(|text| !text.is_empty())
    }

    /// Returns whether the value at a JSON pointer is `true`.
    pub fn is_true(&self, pointer: &str) -> bool {
        self.get(pointer).and_then(Value::as_bool).unwrap_or(false)
    }

    /// Returns the integer at a JSON pointer; `None` if absent or not an `i32`.
    pub fn number(&self, pointer: &str) -> Option<i32> {
        self.get(pointer)?.as_i64().and_then(|number| i32::try_from(number).ok())
    }
}

impl External {
    /// Creates the set of watched kinds; the requests that `mapper` returns for each change of such a kind go
    /// to `queue`.
    pub fn new(
        manager: &Manager,
        queue: &Arc<Queue>,
        mapper: impl Fn(&ApiResource, &Change<DynamicObject>) -> Vec<Request> + Send + Sync + 'static,
    ) -> Self {
        Self {
            manager: manager.clone(),
            queue: queue.clone(),
            mapper: Arc::new(mapper),
            opened: Mutex::default(),
        }
    }

    /// Returns the handle on a kind, and the kind's version that implements the contract.
    ///
    /// # Errors
    /// Fails if the kind is not installed, implements no contract or cannot be listed.
    pub async fn objects(&self, group: &str, kind: &str) -> Result<(Objects<DynamicObject>, Resolved)> {
        let resolved = self.manager.contracts().resolve(group, kind).await?;
        Ok((self.open(&resolved.resource).await?, resolved))
    }

    /// Returns the handle on a kind in exactly the version that a reference names, whatever contract it implements.
    ///
    /// # Errors
    /// Fails if the kind cannot be listed in this version.
    pub async fn objects_at(&self, api_version: &str, kind: &str) -> Result<Objects<DynamicObject>> {
        self.open(&crate::contract::resource_of(api_version, kind)).await
    }

    /// Opens a kind. One that cannot be listed is an error, and is not watched: its cache would never be complete, and so the process
    /// never ready.
    async fn open(&self, resource: &ApiResource) -> Result<Objects<DynamicObject>> {
        let what = || format!("list {} ({})", resource.kind, resource.api_version);
        let key = format!("{}.{}/{}", resource.kind, resource.group, resource.version);
        let opened = self.opened.lock().get(&key).cloned();
        if let Some(objects) = opened.as_ref().filter(|objects| objects.is_synced()) {
            return Ok(objects.clone());
        }
        let open = async {
            if opened.is_none() {
                let all: Api<DynamicObject> = Api::all_with(self.manager.client().clone(), resource);
                let listed = all.list_metadata(&ListParams::default().limit(1)).await;
                listed.map_err(|error| Error::api(what(), error))?;
            }
            let objects = self.manager.dynamic(resource);
            if self.opened.lock().insert(key, objects.clone()).is_none() {
                let (mapper, resource) = (self.mapper.clone(), resource.clone());
                objects.notify(&self.queue, &resource.kind.clone(), move |change| mapper(&resource, change));
            }
            objects.wait_until_synced().await;
            Ok(objects)
        };
        let opened = tokio::time::timeout(LIST_TIMEOUT, open).await;
        opened
            .unwrap_or_else(|_| Err(Error::failed(format!("{}: no answer within {LIST_TIMEOUT:?}", what()))))
    }

    /// Returns the object that `reference` names in `namespace`, or `None` if it does not exist.
    ///
    /// # Errors
    /// Fails if the kind is not installed, implements no contract or cannot be listed.
    pub async fn get(
        &self,
        namespace: &str,
        reference: &ContractVersionedObjectReference,
    ) -> Result<Option<ExternalObject>> {
        let (objects, resolved) = self.objects(&reference.api_group, &reference.kind).await?;
        let found = objects.get(&NamespacedName::new(namespace, reference.name.as_str()));
        Ok(found.map(|object| ExternalObject {
            object,
            resource: resolved.resource,
            contract: resolved.contract,
        }))
    }

    /// Returns the handle on the kind of `object`.
    pub fn handle(&self, object: &ExternalObject) -> Objects<DynamicObject> {
        self.manager.dynamic(&object.resource)
    }
}

/// Returns `Kind.group/namespace/name`, the key under which objects are indexed by the object they refer to.
pub fn reference_key(namespace: &str, reference: &ContractVersionedObjectReference) -> String {
    format!("{}.{}/{namespace}/{}", reference.kind, reference.api_group, reference.name)
}

/// Returns the [`reference_key`] of the object that changed.
pub fn change_key(resource: &ApiResource, change: &Change<DynamicObject>) -> String {
    let name = change.name();
    format!("{}.{}/{}/{}", resource.kind, resource.group, name.namespace, name.name)
}

/// The metadata of an object cloned from a template, added to the template's content.
#[derive(Debug, Clone, Default)]
pub struct Clone {
    /// Name of the new object.
    pub name: String,
    /// Namespace of the new object.
    pub namespace: String,
    /// Labels; they win over those of the template.
    pub labels: BTreeMap<String, String>,
    /// Annotations; they win over those of the template.
    pub annotations: BTreeMap<String, String>,
    /// Owner reference of the new object.
    pub owner: Option<OwnerReference>,
}

/// Builds the object that `template` (kind `...Template`) describes in `spec.template`, with the cloned-from
/// annotations. A template without `spec.template` gives an object without content. Finalizers are not cloned.
///
/// # Errors
/// Fails if `spec.template` is no object, or if the template's kind does not end in `Template`.
pub fn clone_template(template: &ExternalObject, clone: Clone) -> Result<(DynamicObject, ApiResource)> {
    let kind = template.resource.kind.strip_suffix("Template").ok_or_else(|| {
        Error::failed(format!(
            "{} is not the kind of a template: its name does not end in Template",
            template.resource.kind
        ))
    })?;
    let name = template.object.metadata.name.clone().unwrap_or_default();
    let mut data = match template.get("/spec/template") {
        Some(Value::Object(content)) => content.clone(),
        None => Map::new(),
        Some(_) => {
            let kind = &template.resource.kind;
            return Err(Error::failed(format!("spec.template of {kind} {name} is not an object")));
        }
    };
    let group = &template.resource.group;
    let resource = ApiResource {
        group: group.clone(),
        version: template.resource.version.clone(),
        api_version: template.resource.api_version.clone(),
        kind: kind.to_owned(),
        plural: crate::contract::plural(kind),
    };
    let metadata = data.remove("metadata").unwrap_or_else(|| json!({}));
    let texts = |key: &str| -> BTreeMap<String, String> {
        let map = metadata[key].as_object().into_iter().flatten();
        map.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
    };
    let (mut labels, mut annotations) = (texts("labels"), texts("annotations"));
    labels.extend(clone.labels);
    annotations.extend(clone.annotations);
    annotations.insert(names::CLONED_FROM_NAME.to_owned(), name);
    annotations
        .insert(names::CLONED_FROM_GROUP_KIND.to_owned(), format!("{}.{group}", template.resource.kind));
    let mut object =
        DynamicObject::new(&clone.name, &resource).within(&clone.namespace).data(Value::Object(data));
    object.metadata.labels = Some(labels).filter(|labels| !labels.is_empty());
    object.metadata.annotations = Some(annotations);
    object.metadata.owner_references = clone.owner.map(|owner| vec![owner]);
    Ok((object, resource))
}
