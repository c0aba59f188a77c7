//! The image and the configuration of CoreDNS. Pure functions.
//!
//! An update has to survive a stop after any write, and the old CoreDNS, whose Pods may restart at any time, must
//! never read the new configuration. So the Deployment reads a copy while the configuration is rewritten.

use k8s_openapi::api::core::v1::PodSpec;
use schemas::bootstrap::{ClusterConfiguration, Dns};
use schemas::coredns;
use schemas::names;

use super::image::Image;
use super::{Addons, Change, container_image, corefile, kubeadm_config};
use crate::documents;

/// The key of the configuration in its ConfigMap, and its file name in the Pod.
pub const COREFILE: &str = "Corefile";
/// The key of the copy.
pub const BACKUP: &str = "Corefile-backup";
/// The volume with the configuration.
pub const VOLUME: &str = "config-volume";

/// The registries that keep CoreDNS in a path of its own from this version on.
const NESTED: (&[&str], (u64, u64)) = (&["k8s.gcr.io", "registry.k8s.io"], (1, 8));

/// Returns the changes that update CoreDNS; none if it does not run in this cluster.
///
/// # Errors
/// The reason why it cannot be updated.
pub fn changes(addons: &Addons, config: &ClusterConfiguration) -> Result<Vec<Change>, String> {
    let (Some(deployment), Some(map)) = (&addons.coredns, &addons.corefile) else { return Ok(Vec::new()) };
    let pod = deployment.spec.template.spec.as_ref();
    let Some(image) = container_image(pod, "coredns") else { return Ok(Vec::new()) };
    let dns = config.dns.clone().unwrap_or_default();
    let wanted = wanted_image(image, &dns, config.image_repository.as_deref());
    let mounted = mounted_key(pod);
    if wanted == image && mounted != Some(BACKUP) {
        return Ok(Vec::new());
    }
    let data = map.data.clone().unwrap_or_default();
    let source = if mounted == Some(BACKUP) { data.get(BACKUP) } else { data.get(COREFILE) };
    let source = source.ok_or_else(|| format!("ConfigMap coredns has no key {COREFILE}"))?;
    let migrated = migrated(image, &wanted, source)?;

    let mut changes: Vec<Change> = kubeadm_change(addons, &dns)?.into_iter().collect();
    let version = map.metadata.resource_version.clone().unwrap_or_default();
    let write = |corefile: &str, version: &str| Change::Corefile {
        corefile: corefile.to_owned(),
        backup: source.clone(),
        version: version.to_owned(),
    };
    let has_backup = data.get(BACKUP) == Some(source);
    let is_migrated = data.get(COREFILE) == Some(&migrated);
    if migrated == *source {
        if !has_backup || !is_migrated {
            changes.push(write(&migrated, &version));
        }
    } else {
        if mounted == Some(COREFILE) {
            // The next reconcile migrates the configuration: it needs the version that this write makes.
            if !has_backup {
                changes.push(write(source, &version));
                return Ok(changes);
            }
            changes.push(Change::MountBackup);
        }
        if !is_migrated {
            changes.push(write(&migrated, &version));
        }
    }
    changes.push(Change::CoreDnsImage { image: wanted, mounts: mounted.is_some() });
    Ok(changes)
}

/// Returns the change of kubeadm's configuration, so that nodes which join later agree with the spec.
fn kubeadm_change(addons: &Addons, dns: &Dns) -> Result<Option<Change>, String> {
    let Some(map) = &addons.kubeadm_config else { return Ok(None) };
    let updated = kubeadm_config::text(map).and_then(|text| kubeadm_config::with_dns(text, dns));
    let Some(updated) = updated.map_err(|error| error.to_string())? else { return Ok(None) };
    let text = documents::to_yaml(&updated).map_err(|error| error.to_string())?;
    let version = map.metadata.resource_version.clone().unwrap_or_default();
    Ok(Some(Change::KubeadmConfig { text, version }))
}

/// Returns the key of the ConfigMap that CoreDNS reads as its configuration.
fn mounted_key(pod: Option<&PodSpec>) -> Option<&str> {
    let volume = pod?.volumes.as_ref()?.iter().find(|volume| volume.name == VOLUME)?;
    let items = volume.config_map.as_ref()?.items.as_ref()?;
    items.iter().find(|item| item.path == COREFILE).map(|item| item.key.as_str())
}

/// Returns the image that the spec asks for: the repository of CoreDNS, else of the cluster, else the current
/// one.
fn wanted_image(image: &str, dns: &Dns, repository: Option<&str>) -> String {
    let current = Image::parse(image);
    let given = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(str::to_owned);
    let tag = given(dns.image_tag.as_deref());
    let Some(repository) = given(dns.image_repository.as_deref()).or_else(|| given(repository)) else {
        return if tag.is_none() { image.to_owned() } else { current.with(None, tag.as_deref()) };
    };
    let version = tag.as_deref().or(current.tag).and_then(coredns::version);
    let (registries, (major, minor)) = NESTED;
    let is_nested = registries.contains(&repository.as_str())
        && version.is_some_and(|version| version.at_least(major, minor));
    let repository = if is_nested { format!("{repository}/coredns") } else { repository };
    let image = Image { name: "coredns", ..current };
    image.with(Some(&repository), tag.as_deref())
}

/// Returns the configuration for the new image.
fn migrated(image: &str, wanted: &str, source: &str) -> Result<String, String> {
    let tag = |image| Image::parse(image).tag.unwrap_or_default().to_owned();
    let (current, next) = (tag(image), tag(wanted));
    if current == next {
        return Ok(source.to_owned());
    }
    let parsed =
        |tag: &str| coredns::version(tag).ok_or_else(|| format!("the tag {tag:?} of CoreDNS is no version"));
    let (from, to) = (parsed(&current)?, parsed(&next)?);
    corefile::migrate(&from, &to, source).map_err(|why| {
        format!(
            "the configuration of CoreDNS {current} can't be rewritten for {next}: {why}; update CoreDNS by hand, or \
             annotate the KubeadmControlPlane with {}",
            names::SKIP_COREDNS
        )
    })
}
