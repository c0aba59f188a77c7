//! Objects and templates that are copied from the templates of a class.

use schemas::cluster::Cluster;
use serde_json::{Map, Value, json};

use super::inputs::Inputs;
use super::metadata;
use crate::names::{self, Random};
use crate::object::{self, Texts};

/// What a copy of a template gets besides its content.
pub struct Copy<'a> {
    /// The Cluster that it is for.
    pub cluster: &'a Cluster,
    /// The name of the copy.
    pub name: String,
    /// Labels besides those that each object of a topology has.
    pub labels: Texts,
    /// Annotations besides those that say where the copy comes from.
    pub annotations: Texts,
    /// Whether the Cluster owns the copy from the beginning. Others start to work once they have an owner, so they get it when the Cluster refers to them.
    pub is_owned: bool,
}

impl<'a> Copy<'a> {
    /// Returns what each template or object of workers gets. `label` is the one that names the workers of a topology; `current` is the name
    /// of the object that exists.
    pub fn of_workers(
        inputs: &Inputs<'a>,
        label: &str,
        topology_name: &str,
        current: Option<&str>,
        random: Random<'_>,
    ) -> Self {
        let cluster = &inputs.current.cluster;
        let prefix = format!("{}-{topology_name}-", cluster.metadata.name.as_deref().unwrap_or_default());
        Self {
            cluster,
            name: kept(current, names::with_prefix(&prefix, current, random)),
            labels: Texts::from([(label.to_owned(), topology_name.to_owned())]),
            annotations: Texts::new(),
            is_owned: true,
        }
    }
}

impl Copy<'_> {
    /// Makes the object that a template describes in `spec.template`. A template without it gives an object without content.
    ///
    /// # Errors
    /// The template is not the kind of a template, or `spec.template` is no object.
    pub fn object(self, template: &Value) -> Result<Value, String> {
        let kind = object::kind(template);
        let kind = kind.strip_suffix("Template").filter(|kind| !kind.is_empty());
        let kind = kind.ok_or("its kind does not end in Template")?;
        let mut content = match object::at(template, &["spec", "template"]) {
            Some(Value::Object(content)) => content.clone(),
            None | Some(Value::Null) => Map::new(),
            Some(_) => return Err("spec.template is not an object".to_owned()),
        };
        let metadata = content.remove("metadata").unwrap_or_default();
        let metadata = json!({ "metadata": metadata });
        let labels = object::texts(&metadata, &["metadata", "labels"]);
        let annotations = object::texts(&metadata, &["metadata", "annotations"]);
        let metadata = self.metadata(template, labels, annotations);
        let mut made = json!({ "apiVersion": template["apiVersion"], "kind": kind, "metadata": metadata });
        if let (Value::Object(fields), Some(spec)) = (&mut made, content.remove("spec")) {
            fields.insert("spec".to_owned(), spec);
        }
        Ok(made)
    }

    /// Makes a copy of a template, so that the patches of one Cluster change no other one's.
    pub fn template(self, template: &Value) -> Value {
        let labels = object::texts(template, &["metadata", "labels"]);
        let annotations = object::texts(template, &["metadata", "annotations"]);
        let metadata = self.metadata(template, labels, annotations);
        let mut made =
            json!({ "apiVersion": template["apiVersion"], "kind": template["kind"], "metadata": metadata });
        if let (Value::Object(fields), Some(spec)) = (&mut made, template.get("spec")) {
            fields.insert("spec".to_owned(), spec.clone());
        }
        made
    }

    fn metadata(self, template: &Value, labels: Texts, annotations: Texts) -> Value {
        let mut labels = object::merged(&self.labels, &labels);
        labels.extend(metadata::labels(self.cluster));
        let mut annotations = object::merged(&self.annotations, &object::without_bookkeeping(annotations));
        annotations.insert(names::CLONED_FROM_NAME.to_owned(), object::name(template).to_owned());
        let group_kind = format!("{}.{}", object::kind(template), object::group(template));
        annotations.insert(names::CLONED_FROM_GROUP_KIND.to_owned(), group_kind);
        let mut metadata = json!({
            "name": self.name,
            "namespace": self.cluster.metadata.namespace,
            "labels": labels,
            "annotations": annotations,
        });
        if self.is_owned {
            metadata["ownerReferences"] = json!([metadata::owner(self.cluster)]);
        }
        metadata
    }
}

/// Returns the name of the object that exists, or the new one.
pub fn kept(current: Option<&str>, new: String) -> String {
    current.filter(|name| !name.is_empty()).map_or(new, str::to_owned)
}
