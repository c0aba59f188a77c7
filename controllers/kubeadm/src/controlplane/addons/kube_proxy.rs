//! The image of kube-proxy. Pure functions.

use schemas::bootstrap::ClusterConfiguration;

use super::image::Image;
use super::{Addons, Change, container_image};
use crate::names;

/// Returns the change of kube-proxy for Kubernetes `version`; `None` if its image is right or it does not run
/// in this cluster.
pub fn change(addons: &Addons, version: &str, config: Option<&ClusterConfiguration>) -> Option<Change> {
    let found = addons.kube_proxy.as_ref()?;
    let image = container_image(found.spec.template.spec.as_ref(), "kube-proxy")?;
    let repository = config.and_then(|config| config.image_repository.as_deref());
    let wanted = Image::parse(image).with(repository, Some(&names::image_tag(version)));
    (wanted != image).then_some(Change::KubeProxyImage(wanted))
}
