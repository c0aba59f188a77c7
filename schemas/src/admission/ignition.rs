//! Admission rules of the bootstrap data format `ignition`.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::common::{Errors, at};
use super::features;
use super::request::Request;
use crate::bootstrap::KubeadmConfigSpec;
use crate::container_linux;

/// Checks the settings for the format `ignition`, in a KubeadmConfig's spec at `field`.
pub fn ignition(field: &str, spec: &KubeadmConfigSpec, request: Request<'_>, errors: &mut Errors) {
    let off = || features::off("KubeadmBootstrapFormatIgnition");
    let format_is_ignition = spec.format.as_deref() == Some("ignition");
    if !request.features.kubeadm_bootstrap_format_ignition {
        if format_is_ignition {
            errors.forbidden(format_args!("{field}.format"), off());
        }
        if spec.ignition.is_some() {
            errors.forbidden(format_args!("{field}.ignition"), off());
        }
        return;
    }
    if !format_is_ignition {
        if spec.ignition.is_some() {
            errors.invalid(
                format_args!("{field}.format"),
                spec.format.as_deref().unwrap_or_default(),
                "must be ignition when ignition is set",
            );
        }
        return;
    }
    without_ignition(field, spec, errors);
    let path: Vec<&str> = field.split('.').collect();
    // What is there already must stay writable, for example to take a finalizer away.
    if request.old.is_none_or(|old| at(old, &path) != at(request.new, &path)) {
        files(field, spec, errors);
        mounts(field, spec, errors);
        additional(field, spec, errors);
    }
}

/// Checks what Ignition needs to know of files.
fn files(field: &str, spec: &KubeadmConfigSpec, errors: &mut Errors) {
    for (index, file) in spec.files.iter().enumerate() {
        let field = format!("{field}.files[{index}]");
        match file.permissions.as_deref().unwrap_or_default() {
            "" => errors.required(
                format_args!("{field}.permissions"),
                "must be set when format is ignition, which would make a file that only root can read",
            ),
            digits => {
                if let Err(why) = container_linux::mode(digits) {
                    errors.malformed(format_args!("{field}.permissions"), why);
                }
            }
        }
        let content: String = file.content.as_deref().unwrap_or_default().split_whitespace().collect();
        if file.encoding.as_deref() == Some("base64") && STANDARD.decode(content).is_err() {
            errors.malformed(format_args!("{field}.content"), "must be base64");
        }
    }
}

/// Checks that each mount names a filesystem of the spec and a path.
fn mounts(field: &str, spec: &KubeadmConfigSpec, errors: &mut Errors) {
    let filesystems = spec.disk_setup.iter().flat_map(|setup| &setup.filesystems);
    let labels: BTreeSet<&str> = filesystems.filter_map(|filesystem| filesystem.label.as_deref()).collect();
    for (index, mount) in spec.mounts.iter().enumerate() {
        let field = format!("{field}.mounts[{index}]");
        match mount.as_slice() {
            [label, _, ..] if labels.contains(label.as_str()) => {}
            [label, _, ..] => errors.invalid(
                format_args!("{field}[0]"),
                label.as_str(),
                "must be a label of diskSetup.filesystems when format is ignition",
            ),
            _ => errors
                .malformed(field, "must have the label of a filesystem and a path when format is ignition"),
        }
    }
}

/// Checks the Container Linux Config. In a template, text that is no map is taken for one that a patch of a
/// ClusterClass replaces.
fn additional(field: &str, spec: &KubeadmConfigSpec, errors: &mut Errors) {
    let config = spec.ignition.as_ref().and_then(|ignition| ignition.container_linux_config.as_ref());
    let Some(config) = config else { return };
    let text = config.additional_config.as_deref().filter(|text| !text.trim().is_empty());
    let Some(text) = text else { return };
    let Err(why) = container_linux::ignition(text, config.strict == Some(true)) else { return };
    let field_of_text = format!("{field}.ignition.containerLinuxConfig.additionalConfig");
    if field.contains("template") && !container_linux::is_map(text) {
        errors.warn(format_args!("{field_of_text}: {why}"));
    } else {
        errors.malformed(field_of_text, why);
    }
}

/// Refuses settings that Ignition cannot express.
fn without_ignition(field: &str, spec: &KubeadmConfigSpec, errors: &mut Errors) {
    const NOT_SUPPORTED: &str = "can't be set when format is ignition";
    for (index, user) in spec.users.iter().enumerate() {
        if user.inactive == Some(true) {
            errors.forbidden(format_args!("{field}.users[{index}].inactive"), NOT_SUPPORTED);
        }
    }
    for (index, file) in spec.files.iter().enumerate() {
        if file.encoding.as_deref().is_some_and(|encoding| encoding.contains("gzip")) {
            errors.forbidden(format_args!("{field}.files[{index}].encoding"), NOT_SUPPORTED);
        }
    }
    if !spec.boot_commands.is_empty() {
        errors.forbidden(format_args!("{field}.bootCommands"), NOT_SUPPORTED);
    }
    let Some(disks) = &spec.disk_setup else { return };
    for (index, partition) in disks.partitions.iter().enumerate() {
        if partition.table_type.as_deref().is_some_and(|kind| kind != "gpt") {
            errors.invalid(
                format_args!("{field}.diskSetup.partitions[{index}].tableType"),
                partition.table_type.as_deref().unwrap_or_default(),
                "only gpt is possible when format is ignition",
            );
        }
    }
    for (index, filesystem) in disks.filesystems.iter().enumerate() {
        let field = format!("{field}.diskSetup.filesystems[{index}]");
        if filesystem.replace_fs.is_some() {
            errors.forbidden(format_args!("{field}.replaceFS"), NOT_SUPPORTED);
        }
        if filesystem.partition.is_some() {
            errors.forbidden(format_args!("{field}.partition"), NOT_SUPPORTED);
        }
    }
}
