//! The boot image of an agent that is not booted over the network: a PreprovisioningImage with the host's name, as in Metal3.

use engine::{Controller, Manager, NamespacedName, Objects, Result, owners};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemas::metal3::{BareMetalHost, PreprovisioningImage, PreprovisioningImageSpec};

use super::observed::BootImage;
use crate::preprovisioning::ISO;

/// The PreprovisioningImages of hosts.
pub(super) struct BootImages(Objects<PreprovisioningImage>);

impl BootImages {
    pub(super) fn new(manager: &Manager) -> Self {
        Self(manager.objects())
    }

    /// Makes a change of an image a reason to reconcile its host.
    pub(super) fn watched(&self, controller: Controller) -> Controller {
        controller.watches(&self.0, |change| vec![change.name()])
    }

    /// Returns the state of the host's image, if it was built for the current spec of the host.
    pub(super) fn of(&self, host: &BareMetalHost) -> BootImage {
        match self.0.get(&NamespacedName::of(host)) {
            Some(image) => known(&image, &wanted(host)),
            None => BootImage::Awaited,
        }
    }

    /// Creates or updates the PreprovisioningImage, which is deleted with the host.
    pub(super) async fn ask(&self, host: &BareMetalHost, key: &NamespacedName) -> Result<()> {
        let spec = wanted(host);
        let Some(existing) = self.0.get(key) else {
            let image = PreprovisioningImage {
                metadata: ObjectMeta {
                    name: Some(key.name.clone()),
                    namespace: Some(key.namespace.clone()),
                    labels: host.metadata.labels.clone(),
                    owner_references: Some(vec![owners::controller_reference(host, &())]),
                    ..ObjectMeta::default()
                },
                spec,
                status: None,
            };
            self.0.create_if_absent(&image).await?;
            return Ok(());
        };
        if existing.spec != spec {
            let mut changed = existing.as_ref().clone();
            changed.spec = spec;
            self.0.patch(&existing, &changed, &[]).await?;
        }
        Ok(())
    }
}

/// Returns the spec of the image that the host can boot.
fn wanted(host: &BareMetalHost) -> PreprovisioningImageSpec {
    let inspected = || host.status.as_ref()?.hardware.as_ref()?.cpu.as_ref()?.arch.clone();
    PreprovisioningImageSpec {
        accept_formats: vec![ISO.to_owned()],
        architecture: host.spec.architecture.clone().or_else(inspected),
        network_data_name: host
            .spec
            .preprovisioning_network_data_name
            .clone()
            .filter(|name| !name.is_empty()),
    }
}

fn known(image: &PreprovisioningImage, wanted: &PreprovisioningImageSpec) -> BootImage {
    let Some(status) = image.status.as_ref().filter(|_| image.spec == *wanted) else {
        return BootImage::Awaited;
    };
    let error = status.conditions.iter().find(|known| known.type_ == "Error" && known.status == "True");
    if let Some(error) = error {
        return BootImage::Failed(format!("no virtual media for the agent: {}", error.message));
    }
    // The architecture and the network data in the status show whether it is of the current spec.
    let network = status.network_data.as_ref().and_then(|network| network.name.clone());
    let is_current = status.architecture == wanted.architecture && network == wanted.network_data_name;
    match &status.image_url {
        Some(url) if is_current && status.format.as_deref() == Some(ISO) => BootImage::Ready(url.clone()),
        _ => BootImage::Awaited,
    }
}
