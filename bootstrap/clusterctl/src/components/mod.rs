//! A provider's components as they are installed: with variables replaced, images altered, one namespace set, and labels added.

mod fetch;
mod images;
mod namespace;
mod typed;

use serde_json::{Value, json};

pub(crate) use images::{alter_images, images};
pub(crate) use namespace::{is_cluster_scoped, set_namespace};

use crate::configuration::{Configuration, Provider};
use crate::{Context, Error, Result, substitution, yaml};

/// The components of a version of a provider.
#[derive(Debug, Clone)]
pub struct Components {
    /// The provider that they belong to.
    pub provider: Provider,
    /// Their version, such as `v1.14.0`.
    pub version: String,
    /// Names of the variables in the file.
    pub variables: Vec<String>,
    /// The images that they run, in the order in the file.
    pub images: Vec<String>,
    /// The namespace in which they are installed.
    pub namespace: String,
    /// The objects, in the order in which they are created.
    pub objects: Vec<Value>,
}

/// How components are to be read.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// The namespace to install them in; if `None`, the only Namespace in the file.
    pub namespace: Option<String>,
    /// Whether variables are left as they are.
    pub raw: bool,
}

impl Components {
    /// Reads the components file of a provider.
    ///
    /// # Errors
    /// A variable is not set, an object is not valid YAML, an image has no registry, or the file has no Namespace and none is given, or
    /// several.
    pub fn read(
        text: &[u8],
        provider: &Provider,
        version: &str,
        configuration: &Configuration,
        wanted: &Wanted,
    ) -> Result<Self> {
        let text = String::from_utf8_lossy(text);
        let variables = substitution::variables(&text)?.into_keys().collect();
        let processed = if wanted.raw {
            text.into_owned().into_bytes()
        } else {
            substitution::process(&text, &|name| configuration.variable(name))
                .context(|| "failed to perform variable substitution".to_owned())?
        };
        let mut objects = yaml::objects(&processed)?;
        alter_images(&mut objects, &configuration.images(), &provider.label())
            .context(|| "failed to apply image overrides".to_owned())?;
        let images = images(&objects);
        let own =
            own_namespace(&objects).context(|| "failed to detect default target namespace".to_owned())?;
        let namespace = wanted.namespace.clone().or(own.clone()).filter(|namespace| !namespace.is_empty());
        let namespace = namespace.ok_or_else(|| {
            Error::invalid("target namespace can't be defaulted. Please specify a target namespace")
        })?;
        if own.is_none() {
            objects.push(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}));
        }
        set_namespace(&mut objects, &namespace)
            .context(|| "failed to set the TargetNamespace on the components".to_owned())?;
        for object in &mut objects {
            object["metadata"]["labels"]["clusterctl.cluster.x-k8s.io"] = "".into();
            object["metadata"]["labels"]["cluster.x-k8s.io/provider"] = provider.label().into();
        }
        objects.sort_by_key(rank);
        Ok(Self {
            provider: provider.clone(),
            version: version.to_owned(),
            variables,
            images,
            namespace,
            objects,
        })
    }

    /// All objects as one YAML text.
    ///
    /// # Errors
    /// As [`yaml::write_all`].
    pub fn text(&self) -> Result<String> {
        Ok(yaml::write_all(&self.objects)? + "\n")
    }

    /// The text that `generate provider --describe` prints.
    pub fn described(&self) -> String {
        let (folder, file) = self.provider.split_url();
        // The version has its own line in the output, so it is left out of the URL.
        let folder = folder.trim_end_matches('/');
        let base = folder.rfind('/').map_or("", |slash| &folder[..=slash]);
        let mut text = format!(
            "Name:               {}\nType:               {}\nURL:                {base}\nVersion:            {}\nFile:               {file}\nTargetNamespace:    {}\n",
            self.provider.name,
            self.provider.type_name(),
            self.version,
            self.namespace
        );
        for (title, entries) in [("Variables:", &self.variables), ("Images:", &self.images)] {
            if !entries.is_empty() {
                text.push_str(&format!("{title}\n"));
                entries.iter().for_each(|entry| text.push_str(&format!("  - {entry}\n")));
            }
        }
        text + "\n"
    }
}

/// The order of creation: Namespaces first, then the objects of cert-manager, which must exist before the webhooks that need them.
fn rank(object: &Value) -> u8 {
    let group = object["apiVersion"].as_str().and_then(|version| version.split_once('/'));
    match (object["kind"].as_str(), group) {
        (Some("Namespace"), _) => 0,
        (_, Some(("cert-manager.io", _))) => 1,
        _ => 2,
    }
}

/// The name of the only Namespace among the objects, if there is one.
fn own_namespace(objects: &[Value]) -> Result<Option<String>> {
    let mut found = objects.iter().filter(|object| object["kind"] == "Namespace");
    let first = found.next().and_then(|object| object["metadata"]["name"].as_str());
    match found.next() {
        Some(_) => Err(Error::invalid(
            "Invalid manifest. There should be no more than one resource with Kind Namespace in the provider components yaml",
        )),
        None => Ok(first.map(str::to_owned)),
    }
}
