//! `metal plan`: what provisioning a host would do to its machine.

use agent::Disk;
use agent::choose;
use anyhow::{Result, anyhow, ensure};
use clap::Args;
use kube::{Api, ResourceExt};
use metal::names::{POWER, PROTECT_DISKS};
use metal::summary::bytes;
use metal::{instruction, state::HostState};
use schemas::metal3::{BareMetalHost, Image, SecretReference, Storage};
use serde::Serialize;
use terminal::line;

use super::power::{HostOptions, host};
use crate::output::OutputOptions;
use crate::output::{print, say};

/// Options of `metal plan`.
#[derive(Debug, Args)]
pub struct PlanOptions {
    /// The host.
    #[command(flatten)]
    pub host: HostOptions,
    /// URL of an image, instead of spec.image
    #[arg(long, value_name = "URL")]
    pub image: Option<String>,
    /// The option `-o`.
    #[command(flatten)]
    pub output: OutputOptions,
}

/// What provisioning would do.
#[derive(Debug, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// Namespace and name of the host.
    pub host: String,
    /// Why nothing of the plan happens as long as the host is as it is; empty if it happens.
    pub held_by: Vec<String>,
    /// The disks that lose their partition tables and signatures.
    pub cleaned_disks: Vec<String>,
    /// The disk to which the image is written.
    pub root_disk: String,
    /// How the root disk is chosen.
    pub root_device_hints: String,
    /// The image with its format and checksum.
    pub image: String,
    /// The source of the system's network configuration.
    pub network: String,
    /// The source of the system's user data.
    pub user_data: String,
    /// How the machine is started.
    pub start: String,
}

/// Runs `metal plan`.
///
/// # Errors
/// The host does not exist, or nothing can be planned for it.
pub async fn run(options: &PlanOptions) -> Result<()> {
    let connection = options.host.target.connect().await?;
    let namespace = options.host.namespace.as_deref().unwrap_or(&connection.namespace);
    let hosts: Api<BareMetalHost> = Api::namespaced(connection.client.clone(), namespace);
    let host = host(&hosts, namespace, &options.host.name).await?;
    let plan = plan(&host, options.image.as_deref())?;
    match options.output.output {
        Some(output) => print(&plan, output),
        None => say(&text(&plan)),
    }
}

/// Makes the plan from what is known of the host and its machine. Pure. The root disk is chosen by the code of the agent.
///
/// # Errors
/// The host has no image, its machine was not inspected, or no disk can be the root disk.
pub fn plan(host: &BareMetalHost, image: Option<&str>) -> Result<Plan> {
    let (spec, name) = (&host.spec, host.name_any());
    let image = match image {
        Some(url) => Image { url: url.to_owned(), ..Image::default() },
        None => spec.image.clone().filter(|image| !image.url.is_empty()).ok_or_else(|| {
            anyhow!(
                "{name} has no spec.image, so nothing would be written: --image URL plans with another one"
            )
        })?,
    };
    ensure!(
        image.format.as_deref() != Some("live-iso"),
        "a live image is not written to any disk; the disks of a HostClaim's host are cleaned before it and after it"
    );
    let found = host.status.as_ref().and_then(|status| status.hardware.as_ref());
    let disks: Vec<Disk> = found.into_iter().flat_map(|hardware| &hardware.storage).map(disk).collect();
    ensure!(
        !disks.is_empty(),
        "the disks of {name} are not known yet: an inspection finds them, and changes none"
    );
    let stored = spec.root_device_hints.clone().unwrap_or_default();
    let hints = instruction::hints(&stored)
        .ok_or_else(|| anyhow!("spec.rootDeviceHints.minSizeGigabytes is below zero: correct it"))?;
    let root = choose(&disks, &hints)?;
    let cleans = spec.automated_cleaning_mode.as_deref() != Some("disabled");
    Ok(Plan {
        host: format!("{}/{name}", host.namespace().unwrap_or_default()),
        held_by: held_by(host, &image),
        cleaned_disks: disks.iter().filter(|_| cleans).map(describe).collect(),
        root_disk: describe(root),
        root_device_hints: match serde_json::to_string(&stored)? {
            none if none == "{}" => "none: the smallest disk of 4 GiB or more".to_owned(),
            given => given,
        },
        image: words(&image),
        network: secret(&spec.network_data, "DHCP, as the image does it"),
        user_data: secret(&spec.user_data, "none"),
        start: start(host),
    })
}

/// Why nothing happens now.
fn held_by(host: &BareMetalHost, image: &Image) -> Vec<String> {
    let mut reasons = Vec::new();
    if host.annotations().contains_key(PROTECT_DISKS) {
        reasons.push(format!("its disks are protected: remove the annotation {PROTECT_DISKS} to permit it"));
    }
    if host.spec.externally_provisioned == Some(true) {
        reasons.push("spec.externallyProvisioned is true".to_owned());
    }
    if !host.spec.online {
        reasons.push("spec.online is false".to_owned());
    }
    let installed = host.status.as_ref().and_then(|status| status.provisioning.image.as_ref());
    let is_wanted = host.spec.image.as_ref().is_some_and(|wanted| wanted.url == image.url);
    if HostState::of(host) == HostState::Provisioned && installed.is_some_and(|known| known.url == image.url)
    {
        reasons.push("this image is installed already".to_owned());
    } else if !is_wanted {
        reasons.push("spec.image is not this image".to_owned());
    }
    reasons
}

fn disk(storage: &Storage) -> Disk {
    let storage = storage.clone();
    let place = storage.name.unwrap_or_default();
    Disk {
        name: storage.alternate_names.first().cloned().unwrap_or_else(|| place.clone()),
        by_path: vec![place],
        rotational: storage.rotational.unwrap_or_default(),
        size: storage.size_bytes.and_then(|size| size.try_into().ok()).unwrap_or_default(),
        vendor: storage.vendor,
        model: storage.model,
        serial: storage.serial_number,
        wwn: storage.wwn,
        wwn_vendor_extension: storage.wwn_vendor_extension,
        wwn_with_extension: storage.wwn_with_extension,
        hctl: storage.hctl,
        ..Disk::default()
    }
}

/// Returns a summary like `/dev/sda (20 GiB, QEMU HARDDISK, serial a)`.
fn describe(disk: &Disk) -> String {
    let size = bytes(disk.size.try_into().unwrap_or(i64::MAX));
    let serial = disk.serial.as_ref().map(|serial| format!("serial {serial}"));
    let known: Vec<String> = [Some(size), disk.model.clone(), serial].into_iter().flatten().collect();
    format!("{} ({})", disk.name, known.join(", "))
}

fn words(image: &Image) -> String {
    let format = image.format.as_deref().unwrap_or("format found out from its content");
    match image.checksum.as_deref().filter(|checksum| !checksum.is_empty()) {
        Some(checksum) => {
            format!(
                "{}, {format}, {} {checksum}",
                image.url,
                image.checksum_type.as_deref().unwrap_or("checksum")
            )
        }
        None => format!("{}, {format}, no checksum yet", image.url),
    }
}

fn secret(reference: &Option<SecretReference>, otherwise: &str) -> String {
    let name = reference.as_ref().and_then(|reference| reference.name.as_deref());
    name.map_or_else(|| otherwise.to_owned(), |name| format!("Secret {name}"))
}

fn start(host: &BareMetalHost) -> String {
    let address = host.spec.bmc.as_ref().map(|bmc| bmc.address.as_str()).filter(|text| !text.is_empty());
    match (address, host.annotations().get(POWER)) {
        (Some(address), _) => format!("its power is cut, then its agent is started by {address}"),
        (None, Some(way)) => format!("its agent is started ({POWER}: {way})"),
        (None, None) => format!("nobody can start it: set spec.bmc, or the annotation {POWER}"),
    }
}

/// Returns the plan as text.
pub fn text(plan: &Plan) -> String {
    let cleaned = match plan.cleaned_disks.as_slice() {
        [] => "none (spec.automatedCleaningMode is disabled)".to_owned(),
        disks => shown(disks).join("\n             "),
    };
    let held = match plan.held_by.as_slice() {
        [] => "This happens as soon as the host is available.".to_owned(),
        reasons => format!("Nothing of this happens now: {}.", shown(reasons).join("; ")),
    };
    format!(
        "Provisioning {} would do this:\n\
         start        {}\n\
         wiped        {cleaned}\n\
         root disk    {}, all of it\n\
         chosen by    {}\n\
         image        {}\n\
         network      {}\n\
         user data    {}\n\
         Removable and read-only disks are left as they are. {held}\n",
        line(&plan.host),
        line(&plan.start),
        line(&plan.root_disk),
        line(&plan.root_device_hints),
        line(&plan.image),
        line(&plan.network),
        line(&plan.user_data),
    )
}

/// Returns texts as lines: names of disks come from the machine.
fn shown(texts: &[String]) -> Vec<std::borrow::Cow<'_, str>> {
    texts.iter().map(|text| line(text)).collect()
}
