//! Controller of PreprovisioningImage: chooses the served boot image with which a host is inspected and deployed.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use engine::conditions::{self, FALSE, TRUE};
use engine::controller::requests_of;
use engine::{Action, Controller, Manager, NamespacedName, Objects, Reconciler, Request, Result, finalizer};
use k8s_openapi::api::core::v1::Secret;
use schemas::metal3::{PreprovisioningImage, PreprovisioningImageStatus, SecretStatus};

use crate::limits;
use crate::names::PREPROVISIONING_FINALIZER;
use crate::network_data;

/// The served boot images by architecture (`x86_64`, `aarch64`).
#[derive(Clone, Debug, Default)]
pub struct BootImages {
    /// Kernels and initial file systems, which are the same for all hosts.
    pub initial: BTreeMap<String, InitialImage>,
    /// CD images, which are assembled for each host on request.
    pub media: BTreeMap<String, MediaImage>,
}

/// The CD images of an architecture that boot the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaImage {
    /// The URL of all CD images; that of a host's image is this URL followed by [`path`].
    pub base: String,
    /// The kernel's arguments, to which those of the host are added; `None` if the image is signed, so that its arguments cannot
    /// change.
    pub arguments: Option<String>,
}

/// Returns the path of an object's image below [`MediaImage::base`]. Its UID cannot be guessed, which protects the secrets of the host
/// on the CD.
pub fn path(image: &PreprovisioningImage) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let metadata = &image.metadata;
    format!("{}/{}/{}.iso", text(&metadata.namespace), text(&metadata.name), text(&metadata.uid))
}

/// A kernel and an initial file system with the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitialImage {
    /// The URL of the file system.
    pub image: String,
    /// The URL of the kernel.
    pub kernel: String,
    /// The kernel's arguments.
    pub arguments: String,
}

/// The served formats: a kernel with an initramfs, and a CD with both.
const INITRD: &str = "initrd";
pub(crate) const ISO: &str = "iso";
/// Reason of the conditions `Ready` and `Error`: the image is there.
pub const SUCCESS: &str = "ImageSuccess";
/// Reason: the machine cannot be booted from an image that is served.
pub const CONFIGURATION_ERROR: &str = "ConfigurationError";
/// Reason: the Secret with the network configuration is not there.
pub const MISSING_NETWORK_DATA: &str = "MissingNetworkData";

/// Starts the controller for the served images; `served` is empty if no network is served.
pub fn start(manager: &Manager, served: BootImages) {
    let reconciler = ImageReconciler {
        images: manager.objects(),
        secrets: manager.objects(),
        served,
        manager: manager.clone(),
    };
    let images: Objects<PreprovisioningImage> = reconciler.images.clone();
    Controller::new(manager, "preprovisioningimage")
        .time_limit(limits::RECONCILE)
        .reconciles(&reconciler.images.clone())
        .watches(&reconciler.secrets.clone(), move |change| {
            let secret = change.name();
            let in_namespace = images.in_namespace(&secret.namespace);
            let names = |image: &&std::sync::Arc<PreprovisioningImage>| {
                image.spec.network_data_name.as_deref() == Some(secret.name.as_str())
            };
            requests_of(in_namespace.iter().filter(names))
        })
        .start(reconciler);
}

struct ImageReconciler {
    images: Objects<PreprovisioningImage>,
    secrets: Objects<Secret>,
    served: BootImages,
    manager: Manager,
}

/// The network configuration of a host before its installation.
pub enum Network {
    /// The interfaces use DHCP.
    Dhcp,
    /// The Secret in this version.
    Given(SecretStatus),
    /// The Secret of this name does not exist.
    Missing(String),
    /// The name of the Secret, and the problem with it.
    Wrong(String, String),
}

/// The reason of the condition, and the message with the way to fix the problem.
type Refusal = (&'static str, String);

/// Returns the status with the image that fits.
fn choose(
    image: &PreprovisioningImage,
    served: &BootImages,
    network: &Network,
) -> std::result::Result<PreprovisioningImageStatus, Refusal> {
    let refuse = |message: String| Err((CONFIGURATION_ERROR, message));
    if served.initial.is_empty() {
        return refuse(
            "no images are served here: start firstlight with --netboot-interface IFACE".to_owned(),
        );
    }
    let architecture = image.spec.architecture.as_deref().unwrap_or(std::env::consts::ARCH);
    let Some(initial) = served.initial.get(architecture) else {
        let known: Vec<&str> = served.initial.keys().map(String::as_str).collect();
        return refuse(format!("there is no image for {architecture}, only for {}", known.join(", ")));
    };
    match network {
        Network::Missing(name) => {
            let message = format!("the Secret {name} of spec.networkDataName is not there: create it");
            return Err((MISSING_NETWORK_DATA, message));
        }
        Network::Wrong(name, problem) => {
            return refuse(format!("the Secret {name} of spec.networkDataName: {problem}"));
        }
        Network::Dhcp | Network::Given(_) => {}
    }
    let accepts = |format| image.spec.accept_formats.iter().any(|accepted| accepted == format);
    let status = PreprovisioningImageStatus {
        architecture: image.spec.architecture.clone(),
        ..PreprovisioningImageStatus::default()
    };
    match (served.media.get(architecture), network) {
        (Some(media), Network::Dhcp) if accepts(ISO) => Ok(on_media(image, media, status)),
        (Some(media), Network::Given(version)) if accepts(ISO) && media.arguments.is_some() => {
            let status = PreprovisioningImageStatus { network_data: Some(version.clone()), ..status };
            Ok(on_media(image, media, status))
        }
        (Some(_), _) if accepts(ISO) => refuse(
            "the image that the site has signed takes no network configuration: remove spec.networkDataName, so that the agent asks DHCP"
                .to_owned(),
        ),
        (None, _) if accepts(ISO) && !accepts(INITRD) => refuse(format!(
            "no CD can be made for {architecture} without systemd's stub for UEFI: unpack the package systemd-boot-efi and run: firstlight metal \
             assets add FOLDER"
        )),
        _ if !accepts(INITRD) => {
            refuse(format!("images are served as {ISO} and {INITRD} only: add one to spec.acceptFormats"))
        }
        (_, Network::Dhcp) => Ok(PreprovisioningImageStatus {
            extra_kernel_params: Some(initial.arguments.clone()),
            format: Some(INITRD.to_owned()),
            image_url: Some(initial.image.clone()),
            kernel_url: Some(initial.kernel.clone()),
            ..status
        }),
        _ => refuse(format!(
            "images of the format {INITRD} carry no network configuration, since the agent asks DHCP: remove spec.networkDataName, or add \
             {ISO} to spec.acceptFormats"
        )),
    }
}

fn on_media(
    image: &PreprovisioningImage,
    media: &MediaImage,
    status: PreprovisioningImageStatus,
) -> PreprovisioningImageStatus {
    PreprovisioningImageStatus {
        extra_kernel_params: media.arguments.clone(),
        format: Some(ISO.to_owned()),
        image_url: Some(format!("{}/{}", media.base, path(image))),
        ..status
    }
}

/// Returns the object with its wanted status.
pub fn plan(
    image: &PreprovisioningImage,
    served: &BootImages,
    network: &Network,
    now: DateTime<Utc>,
) -> PreprovisioningImage {
    let mut wanted = image.clone();
    if image.metadata.deletion_timestamp.is_some() {
        // firstlight builds nothing for a single image, so a finalizer of another controller can be removed.
        finalizer::remove(&mut wanted, PREPROVISIONING_FINALIZER);
        return wanted;
    }
    let conditions = image.status.as_ref().map(|status| status.conditions.clone()).unwrap_or_default();
    let (status, ready, error) = match choose(image, served, network) {
        Ok(status) => (
            status,
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

impl ImageReconciler {
    fn network(&self, image: &PreprovisioningImage, request: &Request) -> Network {
        let named = image.spec.network_data_name.clone().filter(|name| !name.is_empty());
        let Some(name) = named else { return Network::Dhcp };
        let secret = self.secrets.get(&NamespacedName::new(request.namespace.clone(), name.clone()));
        let Some(secret) = secret else { return Network::Missing(name) };
        match network_data::of_secret(&secret) {
            Ok(_) => {
                let version = secret.metadata.resource_version.clone();
                Network::Given(SecretStatus { name: Some(name), version })
            }
            Err(problem) => Network::Wrong(name, problem),
        }
    }
}

impl Reconciler for ImageReconciler {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(image) = self.images.get(&request) else { return Ok(Action::done()) };
        let network = self.network(&image, &request);
        let wanted = plan(&image, &self.served, &network, self.manager.clock().now());
        self.images.patch(&image, &wanted, &["Ready", "Error"]).await?;
        Ok(Action::done())
    }
}
