//! Admission rules of Metal3Machine and Metal3MachineTemplate: those of the webhooks of Metal3's provider
//! (cluster-api-provider-metal3 v1.13, and v1.14 where it accepts more).

use machinery::url;

use super::bare_metal_host::{image_url, own_namespace};
use super::common::Errors;
use super::request::Request;
use crate::infrastructure::{Metal3Machine, Metal3MachineSpec, Metal3MachineTemplate};

pub fn metal3_machine(_: Request<'_>, machine: &Metal3Machine, errors: &mut Errors) {
    let spec = &machine.spec;
    image("spec", spec, errors);
    let namespace = machine.metadata.namespace.as_deref().unwrap_or_default();
    let secrets =
        [("userData", &spec.user_data), ("metaData", &spec.meta_data), ("networkData", &spec.network_data)];
    for (field, secret) in secrets {
        own_namespace(&format!("spec.{field}.namespace"), secret.as_ref(), namespace, errors);
    }
}

pub fn metal3_machine_template(_: Request<'_>, template: &Metal3MachineTemplate, errors: &mut Errors) {
    image("spec.template.spec", &template.spec.template.spec, errors);
}

/// Checks that the host gets something to run: a custom deploy method, or an image with a checksum.
fn image(path: &str, spec: &Metal3MachineSpec, errors: &mut Errors) {
    if spec.custom_deploy.as_ref().is_some_and(|deploy| !deploy.method.is_empty()) {
        return;
    }
    let Some(image) = spec.image.as_ref().filter(|image| !image.url.is_empty()) else {
        return errors.required(
            format_args!("{path}.image.url"),
            "set it to the URL of a disk image, or set customDeploy.method instead",
        );
    };
    image_url(&format!("{path}.image.url"), &image.url, errors);
    let checksum = image.checksum.as_str();
    let needs_none = image.disk_format.as_deref() == Some("live-iso") || image.url.starts_with("oci://");
    if checksum.is_empty() && !needs_none {
        errors.required(
            format_args!("{path}.image.checksum"),
            "set it to the checksum of the image, or to the URL of a file of checksums",
        );
    }
    let is_url = ["http://", "https://"].iter().any(|scheme| checksum.starts_with(scheme));
    if let Some(problem) = is_url.then(|| url::parse_request_uri(checksum).err()).flatten() {
        errors.invalid(
            format_args!("{path}.image.checksum"),
            checksum,
            format!("must be a checksum, or the URL of a file of checksums: {problem}"),
        );
    }
}
