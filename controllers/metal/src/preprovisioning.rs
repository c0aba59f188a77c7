//! PreprovisioningImage: which of the images that are served here a host can boot to be inspected and written to.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use engine::conditions::{self, FALSE, TRUE};
use engine::{Action, Controller, Manager, NamespacedName, Objects, Reconciler, Request, Result, finalizer};
use k8s_openapi::api::core::v1::Secret;
use schemas::metal3::{PreprovisioningImage, PreprovisioningImageStatus};

use crate::names::PREPROVISIONING_FINALIZER;

/// What is served to boot: the same for all hosts of an architecture.
#[derive(Clone, Debug, Default)]
pub struct BootImages {
    /// By architecture (`x86_64`, `aarch64`).
    pub initial: BTreeMap<String, InitialImage>,
}

/// A kernel and its first file system, with the agent in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitialImage {
    /// URL of the file system.
    pub image: String,
    /// URL of the kernel.
    pub kernel: String,
    /// Arguments of the kernel.
    pub arguments: String,
}

/// The format of what is served: a kernel and an initramfs.
const INITRD: &str = "initrd";
/// Reasons of the conditions `Ready` and `Error`.
const SUCCESS: &str = "ImageSuccess";
const CONFIGURATION_ERROR: &str = "ConfigurationError";
const MISSING_NETWORK_DATA: &str = "MissingNetworkData";

/// Starts the controller for what is served: nothing without an interface to boot from.
pub fn start(manager: &Manager, served: BootImages) {
    let reconciler = ImageReconciler {
        images: manager.objects(),
        secrets: manager.objects(),
        served,
        manager: manager.clone(),
    };
    let images: Objects<PreprovisioningImage> = reconciler.images.clone();
    Controller::new(manager, "preprovisioningimage")
        .reconciles(&reconciler.images.clone())
        .watches(&reconciler.secrets.clone(), move |change| {
            let secret = change.name();
            let in_namespace = images.in_namespace(&secret.namespace);
            let names = |image: &&std::sync::Arc<PreprovisioningImage>| {
                image.spec.network_data_name.as_deref() == Some(secret.name.as_str())
            };
            in_namespace.iter().filter(names).map(|image| NamespacedName::of(image.as_ref())).collect()
        })
        .start(reconciler);
}

struct ImageReconciler {
    images: Objects<PreprovisioningImage>,
    secrets: Objects<Secret>,
    served: BootImages,
    manager: Manager,
}

/// The image that fits; otherwise the reason of the condition, and what to do.
fn choose<'a>(
    image: &PreprovisioningImage,
    served: &'a BootImages,
    has_network_data: bool,
) -> std::result::Result<&'a InitialImage, (&'static str, String)> {
    let refuse = |message: String| Err((CONFIGURATION_ERROR, message));
    if served.initial.is_empty() {
        return refuse(
            "no images are served here: start firstlight with --netboot-interface IFACE".to_owned(),
        );
    }
    let architecture = image.spec.architecture.as_deref().unwrap_or(std::env::consts::ARCH);
    let Some(found) = served.initial.get(architecture) else {
        let known: Vec<&str> = served.initial.keys().map(String::as_str).collect();
        return refuse(format!("there is no image for {architecture}, only for {}", known.join(", ")));
    };
    if !image.spec.accept_formats.iter().any(|format| format == INITRD) {
        return refuse(format!("images are served as {INITRD} only: add it to spec.acceptFormats"));
    }
    match image.spec.network_data_name.as_deref().filter(|name| !name.is_empty()) {
        Some(name) if !has_network_data => Err((
            MISSING_NETWORK_DATA,
            format!("the Secret {name} of spec.networkDataName is not there: create it"),
        )),
        Some(_) => refuse(
            "images carry no network configuration, since the agent asks DHCP: remove spec.networkDataName"
                .to_owned(),
        ),
        None => Ok(found),
    }
}

/// The object as it should be.
fn plan(
    image: &PreprovisioningImage,
    served: &BootImages,
    has_network_data: bool,
    now: DateTime<Utc>,
) -> PreprovisioningImage {
    let mut wanted = image.clone();
    if image.metadata.deletion_timestamp.is_some() {
        // Nothing is made for one image alone: a finalizer that came from elsewhere holds nothing here.
        finalizer::remove(&mut wanted, PREPROVISIONING_FINALIZER);
        return wanted;
    }
    let conditions = image.status.as_ref().map(|status| status.conditions.clone()).unwrap_or_default();
    let (status, ready, error) = match choose(image, served, has_network_data) {
        Ok(found) => (
            PreprovisioningImageStatus {
                architecture: image.spec.architecture.clone(),
                extra_kernel_params: Some(found.arguments.clone()),
                format: Some(INITRD.to_owned()),
                image_url: Some(found.image.clone()),
                kernel_url: Some(found.kernel.clone()),
                ..PreprovisioningImageStatus::default()
            },
            conditions::new("Ready", TRUE, SUCCESS, "Generated image"),
            conditions::new("Error", FALSE, SUCCESS, ""),
        ),
        Err((reason, message)) => (
            PreprovisioningImageStatus::default(),
            conditions::new("Ready", FALSE, reason, ""),
            conditions::new("Error", TRUE, reason, message),
        ),
    };
    wanted.status = Some(PreprovisioningImageStatus { conditions, ..status });
    conditions::set(&mut wanted, now, ready);
    conditions::set(&mut wanted, now, error);
    wanted
}

impl Reconciler for ImageReconciler {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(image) = self.images.get(&request) else { return Ok(Action::done()) };
        let named = image.spec.network_data_name.clone();
        let has_network_data = named.is_some_and(|name| {
            self.secrets.get(&NamespacedName::new(request.namespace.clone(), name)).is_some()
        });
        let wanted = plan(&image, &self.served, has_network_data, self.manager.clock().now());
        self.images.patch(&image, &wanted, &["Ready", "Error"]).await?;
        Ok(Action::done())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(image: &PreprovisioningImage, served: &BootImages) -> (Option<String>, String, String) {
        let status = plan(image, served, false, DateTime::default()).status.unwrap();
        let find = |name: &str| status.conditions.iter().find(|known| known.type_ == name).cloned().unwrap();
        assert_ne!(find("Ready").status, find("Error").status);
        (status.image_url, find("Error").reason, find("Error").message)
    }

    #[test]
    fn an_image_is_served_or_it_is_said_why_not() {
        let x86 = InitialImage {
            image: "http://10.0.0.1/boot/initrd/x86_64".into(),
            kernel: "http://10.0.0.1/boot/kernel/x86_64".into(),
            arguments: "quiet".into(),
        };
        let served = BootImages { initial: [("x86_64".to_owned(), x86.clone())].into() };
        let mut image = PreprovisioningImage::default();
        image.spec.architecture = Some("x86_64".into());
        image.spec.accept_formats = vec!["iso".into(), "initrd".into()];
        assert_eq!(said(&image, &served), (Some(x86.image), SUCCESS.into(), String::new()));
        let (url, reason, message) = said(&image, &BootImages::default());
        assert_eq!((url, reason.as_str()), (None, CONFIGURATION_ERROR));
        assert!(message.contains("--netboot-interface"));

        image.spec.accept_formats.pop();
        assert!(said(&image, &served).2.contains("initrd"));
        image.spec.accept_formats.push("initrd".into());
        image.spec.network_data_name = Some("network".into());
        assert_eq!(said(&image, &served).1, MISSING_NETWORK_DATA);
        assert!(choose(&image, &served, true).is_err_and(|(reason, _)| reason == CONFIGURATION_ERROR));
        image.spec.architecture = Some("aarch64".into());
        assert!(said(&image, &served).2.contains("x86_64"));
    }
}
