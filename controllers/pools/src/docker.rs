//! DevMachinePools whose machines are containers.

use schemas::cluster::{Machine, MachinePool};
use schemas::infrastructure::{
    DevMachine, DevMachineBackend, DevMachinePool, DockerMachineBackend, DockerMachinePoolBackend,
};

use crate::backend::Backend;

/// The backend `docker`. Its machines differ by their image, as those of Cluster API's provider: mounts and images that are loaded are not
/// compared.
pub const DOCKER: &dyn Backend = &Docker;

struct Docker;

impl Backend for Docker {
    fn provider_id(&self, dev: &DevMachinePool, pool: &MachinePool) -> String {
        let name = dev.metadata.name.as_deref().unwrap_or_default();
        format!("dev:////{}-dmp-{name}", pool.spec.cluster_name)
    }

    /// The DevMachine has an image in any case, so that it needs no version of its own: it keeps its image when the pool gets another one.
    fn fill(&self, machine: &mut DevMachine, dev: &DevMachinePool, pool: &MachinePool) -> Result<(), String> {
        let docker = dev.spec.backend.as_ref().and_then(|backend| backend.docker.clone()).unwrap_or_default();
        let docker = DockerMachineBackend {
            custom_image: Some(image(&docker, pool)?),
            pre_load_images: docker.pre_load_images,
            extra_mounts: docker.extra_mounts,
            bootstrap_timeout: None,
        };
        machine.spec.backend = DevMachineBackend { docker: Some(docker), in_memory: None };
        Ok(())
    }

    fn is_outdated(
        &self,
        (dev, _): (&DevMachine, Option<&Machine>),
        new: &DevMachine,
        _: &MachinePool,
    ) -> Option<bool> {
        Some(image_of(dev) != image_of(new))
    }
}

/// Returns the image of which a DevMachine was made.
pub fn image_of(machine: &DevMachine) -> Option<&str> {
    machine.spec.backend.docker.as_ref()?.custom_image.as_deref()
}

/// Returns the image of new machines.
fn image(docker: &DockerMachinePoolBackend, pool: &MachinePool) -> Result<String, String> {
    let version = pool.spec.template.spec.version.as_deref();
    node_image(docker.custom_image.as_deref(), version).ok_or_else(|| {
        "the MachinePool has no spec.template.spec.version, and the DevMachinePool no \
         spec.backend.docker.customImage: set one of both, so that its machines have an image"
            .to_owned()
    })
}

/// Returns the image of a node: its own, or that of its Kubernetes version among kind's; `None` if it has neither.
pub fn node_image(custom: Option<&str>, version: Option<&str>) -> Option<String> {
    if let Some(image) = custom.filter(|image| !image.is_empty()) {
        return Some(image.to_owned());
    }
    let version = version.unwrap_or_default();
    let version = version.strip_prefix('v').unwrap_or(version);
    // A tag has no plus sign.
    (!version.is_empty()).then(|| format!("kindest/node:v{}", version.replace('+', "_")))
}
