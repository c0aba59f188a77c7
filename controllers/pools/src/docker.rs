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

    fn made_of<'a>(&self, machine: &'a DevMachine) -> Option<&'a str> {
        machine.spec.backend.docker.as_ref()?.custom_image.as_deref()
    }

    fn version<'a>(&self, _: &'a DevMachine, machine: Option<&'a Machine>) -> Option<&'a str> {
        machine?.spec.version.as_deref()
    }
}

/// Returns the image of new machines: that of the pool, or that of its Kubernetes version among kind's.
fn image(docker: &DockerMachinePoolBackend, pool: &MachinePool) -> Result<String, String> {
    if let Some(image) = docker.custom_image.clone().filter(|image| !image.is_empty()) {
        return Ok(image);
    }
    let version = pool.spec.template.spec.version.as_deref().unwrap_or_default();
    match version.strip_prefix('v').unwrap_or(version) {
        "" => Err("the MachinePool has no spec.template.spec.version, and the DevMachinePool no \
                   spec.backend.docker.customImage: set one of both, so that its machines have an image"
            .to_owned()),
        version => Ok(format!("kindest/node:v{}", version.replace('+', "_"))),
    }
}
