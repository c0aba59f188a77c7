//! Admission rules of KubeadmConfig, and of its spec in other kinds.

use std::collections::BTreeSet;

use super::common::Errors;
use super::ignition;
use super::request::Request;
use crate::bootstrap::{
    DiskSetup, File, JoinConfiguration, KubeadmConfig, KubeadmConfigSpec, KubeadmConfigTemplate, User,
};

pub fn kubeadm_config(request: Request<'_>, config: &KubeadmConfig, errors: &mut Errors) {
    spec("spec", &config.spec, request, errors);
}

pub fn kubeadm_config_template(request: Request<'_>, template: &KubeadmConfigTemplate, errors: &mut Errors) {
    if let Some(config) = &template.spec.template.spec {
        spec("spec.template.spec", config, request, errors);
    }
}

/// Checks a KubeadmConfig's spec at `field`.
pub fn spec(field: &str, spec: &KubeadmConfigSpec, request: Request<'_>, errors: &mut Errors) {
    files(&format!("{field}.files"), &spec.files, errors);
    users(&format!("{field}.users"), &spec.users, errors);
    if let Some(disks) = &spec.disk_setup {
        disk_layout(&format!("{field}.diskSetup.partitions"), disks, errors);
    }
    if let Some(join) = &spec.join_configuration {
        discovery(&format!("{field}.joinConfiguration.discovery"), join, errors);
    }
    ignition::ignition(field, spec, request, errors);
}

fn files(field: &str, files: &[File], errors: &mut Errors) {
    let mut paths = BTreeSet::new();
    for (index, file) in files.iter().enumerate() {
        let field = format!("{field}[{index}]");
        let content = file.content.as_deref().filter(|content| !content.is_empty());
        if content.is_some() && file.content_from.is_some() {
            errors.invalid(&field, file.path.as_str(), "only one of content and contentFrom can be set");
        }
        if let Some(source) = &file.content_from {
            secret(&format!("{field}.contentFrom.secret"), &source.secret.name, &source.secret.key, errors);
        }
        if !paths.insert(file.path.as_str()) {
            errors.invalid(
                format_args!("{field}.path"),
                file.path.as_str(),
                "is already the path of another file",
            );
        }
    }
}

fn users(field: &str, users: &[User], errors: &mut Errors) {
    for (index, user) in users.iter().enumerate() {
        let field = format!("{field}[{index}]");
        let password = user.passwd.as_deref().filter(|password| !password.is_empty());
        if password.is_some() && user.passwd_from.is_some() {
            errors.invalid(&field, user.name.as_str(), "only one of passwd and passwdFrom can be set");
        }
        if let Some(source) = &user.passwd_from {
            secret(&format!("{field}.passwdFrom.secret"), &source.secret.name, &source.secret.key, errors);
        }
    }
}

fn secret(field: &str, name: &str, key: &str, errors: &mut Errors) {
    if name.is_empty() {
        errors.required(format_args!("{field}.name"), "the Secret must be named");
    }
    if key.is_empty() {
        errors.required(format_args!("{field}.key"), "the key in the Secret must be named");
    }
}

fn disk_layout(field: &str, disks: &DiskSetup, errors: &mut Errors) {
    for (index, partition) in disks.partitions.iter().enumerate() {
        let sum: i64 = partition.disk_layout.iter().map(|part| i64::from(part.percentage)).sum();
        if sum > 100 {
            errors.invalid(
                format_args!("{field}[{index}].diskLayout"),
                sum,
                "the percentages of a device must not add up to more than 100",
            );
        }
    }
}

fn discovery(field: &str, join: &JoinConfiguration, errors: &mut Errors) {
    let file = join.discovery.as_ref().and_then(|discovery| discovery.file.as_ref());
    let Some(config) = file.and_then(|file| file.kube_config.as_ref()) else { return };
    let user = &config.user;
    let field = format!("{field}.file.kubeConfig.user");
    match (&user.auth_provider, &user.exec) {
        (None, None) => errors.required(field, "one of authProvider and exec must be set"),
        (Some(_), Some(_)) => errors.forbidden(field, "only one of authProvider and exec can be set"),
        _ => {}
    }
}
