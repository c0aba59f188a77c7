//! What a volume contains.

use std::collections::BTreeMap;

use anyhow::{Result, bail, ensure};
use k8s_openapi::api::core::v1::{
    ConfigMap, DownwardAPIVolumeFile, KeyToPath, Pod, Secret, Volume, VolumeProjection,
};

use crate::plan::pod_field;

/// The mode of files for which a Pod names none.
const DEFAULT_MODE: i32 = 0o644;

/// The content of a volume.
#[derive(Debug, PartialEq, Eq)]
pub enum Content {
    /// A folder that the containers fill, and that is kept.
    Empty,
    /// A folder or file of this machine, by its path and the type that the volume says.
    Host(String, Option<String>),
    /// These files, by their paths: content and mode.
    Files(BTreeMap<String, (Vec<u8>, u32)>),
}

/// The objects that were found.
#[derive(Default)]
pub struct Found {
    /// ConfigMaps by name.
    pub config_maps: BTreeMap<String, ConfigMap>,
    /// Secrets by name.
    pub secrets: BTreeMap<String, Secret>,
    /// Tokens by volume and path.
    pub tokens: BTreeMap<(String, String), String>,
}

type Files = BTreeMap<String, (Vec<u8>, u32)>;

/// Returns the content of a volume of a Pod with the given address.
///
/// # Errors
/// An object or key that is not optional does not exist, or the type of the volume is not supported.
pub fn content(volume: &Volume, pod: &Pod, pod_ip: &str, found: &Found) -> Result<Content> {
    let mut files = Files::new();
    if let Some(source) = &volume.config_map {
        let mode = source.default_mode.unwrap_or(DEFAULT_MODE);
        let data = found.config_maps.get(&source.name).map(of_config_map);
        add(&mut files, data, source.items.as_deref(), source.optional, mode, ("configmap", &source.name))?;
    } else if let Some(source) = &volume.secret {
        let name = source.secret_name.clone().unwrap_or_default();
        let mode = source.default_mode.unwrap_or(DEFAULT_MODE);
        let data = found.secrets.get(&name).map(of_secret);
        add(&mut files, data, source.items.as_deref(), source.optional, mode, ("secret", &name))?;
    } else if let Some(source) = &volume.downward_api {
        let mode = source.default_mode.unwrap_or(DEFAULT_MODE);
        downward(&mut files, source.items.as_deref(), pod, pod_ip, mode)?;
    } else if let Some(source) = &volume.projected {
        let mode = source.default_mode.unwrap_or(DEFAULT_MODE);
        for projection in source.sources.iter().flatten() {
            project(&mut files, projection, &volume.name, pod, pod_ip, found, mode)?;
        }
    } else if volume.empty_dir.is_some() {
        return Ok(Content::Empty);
    } else if let Some(source) = &volume.host_path {
        return Ok(Content::Host(source.path.clone(), source.type_.clone()));
    } else {
        bail!(
            "the type of the volume {:?} is not supported here: a process has emptyDir, hostPath, configMap, secret, downwardAPI and projected",
            volume.name
        );
    }
    Ok(Content::Files(files))
}

fn project(
    files: &mut Files,
    source: &VolumeProjection,
    volume: &str,
    pod: &Pod,
    pod_ip: &str,
    found: &Found,
    mode: i32,
) -> Result<()> {
    if let Some(source) = &source.config_map {
        let data = found.config_maps.get(&source.name).map(of_config_map);
        add(files, data, source.items.as_deref(), source.optional, mode, ("configmap", &source.name))?;
    }
    if let Some(source) = &source.secret {
        let data = found.secrets.get(&source.name).map(of_secret);
        add(files, data, source.items.as_deref(), source.optional, mode, ("secret", &source.name))?;
    }
    if let Some(source) = &source.downward_api {
        downward(files, source.items.as_deref(), pod, pod_ip, mode)?;
    }
    if let Some(source) = &source.service_account_token {
        match found.tokens.get(&(volume.to_owned(), source.path.clone())) {
            Some(token) => put(files, &source.path, token.clone().into_bytes(), mode)?,
            None => bail!("there is no token for {} yet", source.path),
        }
    }
    if source.cluster_trust_bundle.is_some() || source.pod_certificate.is_some() {
        bail!("the volume {volume:?} has a projection that is not supported here");
    }
    Ok(())
}

fn of_config_map(found: &ConfigMap) -> BTreeMap<String, Vec<u8>> {
    let text = found.data.iter().flatten().map(|(key, value)| (key.clone(), value.clone().into_bytes()));
    let binary = found.binary_data.iter().flatten().map(|(key, value)| (key.clone(), value.0.clone()));
    text.chain(binary).collect()
}

fn of_secret(found: &Secret) -> BTreeMap<String, Vec<u8>> {
    found.data.iter().flatten().map(|(key, value)| (key.clone(), value.0.clone())).collect()
}

fn add(
    files: &mut Files,
    data: Option<BTreeMap<String, Vec<u8>>>,
    items: Option<&[KeyToPath]>,
    optional: Option<bool>,
    mode: i32,
    (kind, name): (&str, &str),
) -> Result<()> {
    let is_optional = optional == Some(true);
    let Some(mut data) = data else {
        ensure!(is_optional, "{kind} {name:?} not found");
        return Ok(());
    };
    let Some(items) = items.filter(|items| !items.is_empty()) else {
        return data.into_iter().try_for_each(|(key, value)| put(files, &key, value, mode));
    };
    for item in items {
        match data.remove(&item.key) {
            Some(value) => put(files, &item.path, value, item.mode.unwrap_or(mode))?,
            None if is_optional => {}
            None => bail!("{kind} {name:?} has no key {:?}", item.key),
        }
    }
    Ok(())
}

fn downward(
    files: &mut Files,
    items: Option<&[DownwardAPIVolumeFile]>,
    pod: &Pod,
    pod_ip: &str,
    mode: i32,
) -> Result<()> {
    for item in items.into_iter().flatten() {
        let path = item.field_ref.as_ref().map(|field| field.field_path.as_str()).unwrap_or_default();
        let value = pod_field(path, pod, pod_ip)?;
        put(files, &item.path, value.into_bytes(), item.mode.unwrap_or(mode))?;
    }
    Ok(())
}

fn put(files: &mut Files, path: &str, content: Vec<u8>, mode: i32) -> Result<()> {
    let is_inside =
        !path.starts_with('/') && !path.split('/').any(|part| part.is_empty() || part == ".." || part == ".");
    ensure!(is_inside, "the path {path:?} leads out of the volume");
    // So begin the names of what the kubelet keeps in a volume.
    ensure!(!path.starts_with(".."), "the path {path:?} begins with \"..\"");
    files.insert(path.to_owned(), (content, u32::try_from(mode).unwrap_or_default() & 0o777));
    Ok(())
}
