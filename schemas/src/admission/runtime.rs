//! Admission rules of ExtensionConfig.

use machinery::names;

use super::common::{self, Errors};
use super::features;
use super::request::Request;
use crate::runtime::{ClientConfig, ExtensionConfig};

pub fn extension_config(request: Request<'_>, config: &ExtensionConfig, errors: &mut Errors) {
    if !request.features.runtime_sdk {
        errors.forbidden("spec", features::off("RuntimeSDK"));
    }
    let name = config.metadata.name.as_deref().unwrap_or_default();
    for problem in names::dns1123_label(name) {
        errors.invalid("metadata.name", name, problem);
    }
    client_config(&config.spec.client_config, errors);
    if let Some(selector) = &config.spec.namespace_selector {
        common::label_selector("spec.namespaceSelector", selector, errors);
    }
}

fn client_config(config: &ClientConfig, errors: &mut Errors) {
    const FIELD: &str = "spec.clientConfig";
    let url = config.url.as_deref().filter(|url| !url.is_empty());
    match (url, &config.service) {
        (None, None) => errors.required(FIELD, "either url or service must be set"),
        (Some(_), Some(_)) => errors.forbidden(FIELD, "only one of url and service can be set"),
        (Some(url), None) => {
            let host = url.strip_prefix("https://");
            if host.is_none_or(|host| host.is_empty() || host.starts_with('/')) {
                errors.invalid(format_args!("{FIELD}.url"), url, "must be a URL with https");
            }
        }
        (None, Some(service)) => {
            let label = names::dns1123_label(&service.name);
            let letter_first = service.name.starts_with(|letter: char| letter.is_ascii_lowercase());
            if !label.is_empty() || !letter_first {
                errors.invalid(
                    format_args!("{FIELD}.service.name"),
                    service.name.as_str(),
                    "must be a DNS-1035 label: lower case letters, digits and '-', with a letter first",
                );
            }
            if service.namespace.is_empty() {
                errors.required(format_args!("{FIELD}.service.namespace"), "must be set");
            }
            if let Some(path) = service.path.as_deref().filter(|path| !path.starts_with('/')) {
                errors.invalid(format_args!("{FIELD}.service.path"), path, "must begin with /");
            }
            if let Some(port) = service.port.filter(|port| !(1..=65535).contains(port)) {
                errors.invalid(format_args!("{FIELD}.service.port"), port, "must be between 1 and 65535");
            }
        }
    }
}
