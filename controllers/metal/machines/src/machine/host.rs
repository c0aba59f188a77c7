//! What a Metal3Machine writes into its host (`contract/metal3`, §2.2 and §2.3). Pure.

use engine::NamespacedName;
use engine::names::CLUSTER_NAME;
use schemas::infrastructure::Metal3MachineSpec;
use schemas::metal3::{BareMetalHost, CustomDeploy, Image, SecretReference};

use crate::consumer::ConsumerKind;
use crate::names::NODE_REUSE;

/// The Secrets with the data of a machine.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Secrets {
    /// The bootstrap data.
    pub user_data: Option<SecretReference>,
    /// The metadata.
    pub meta_data: Option<SecretReference>,
    /// The network configuration.
    pub network_data: Option<SecretReference>,
}

/// Makes `machine` of `cluster` the consumer of the host.
pub fn claim(host: &mut BareMetalHost, machine: &NamespacedName, cluster: &str) {
    host.spec.consumer_ref = Some(ConsumerKind::Machine.reference(machine));
    let labels = host.metadata.labels.get_or_insert_default();
    labels.insert(CLUSTER_NAME.to_owned(), cluster.to_owned());
    labels.remove(NODE_REUSE);
}

/// Writes image and data into the host, which provisions it. They are written once: a host with an image keeps it.
pub fn deploy(host: &mut BareMetalHost, machine: &Metal3MachineSpec, secrets: &Secrets) {
    if host.spec.image.is_none() && host.spec.custom_deploy.is_none() {
        host.spec.image = machine.image.as_ref().map(|image| Image {
            url: image.url.clone(),
            checksum: Some(image.checksum.clone()).filter(|checksum| !checksum.is_empty()),
            checksum_type: image.checksum_type.clone(),
            format: image.disk_format.clone(),
            oci_auth_secret_name: None,
        });
        host.spec.custom_deploy =
            machine.custom_deploy.as_ref().map(|deploy| CustomDeploy { method: deploy.method.clone() });
        host.spec.user_data.clone_from(&secrets.user_data);
        host.spec.meta_data.clone_from(&secrets.meta_data);
        host.spec.network_data.clone_from(&secrets.network_data);
    }
    keep(host, machine);
}

/// Writes the fields that follow the machine as long as it exists.
pub fn keep(host: &mut BareMetalHost, machine: &Metal3MachineSpec) {
    if let Some(mode) = &machine.automated_cleaning_mode {
        host.spec.automated_cleaning_mode = Some(mode.clone());
    }
    host.spec.online = true;
}
