//! Erases a disk by its own command, if it has one, which also covers its spare and remapped areas.

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use metal_erase::{ata, nvme};

use crate::inventory::{Disk, Kind, text};

/// How often a disk is asked for the progress of a sanitize operation.
const ASK: Duration = Duration::from_secs(5);
/// The SCSI vendor string of an ATA disk behind Linux's translation layer.
pub const ATA: &str = "ATA";

/// Callbacks during an erase: progress and waiting.
pub struct Telling<'a> {
    /// Reports the current operation, the amount done, and the total; 0 if unknown.
    pub progress: &'a dyn Fn(&str, u64, u64),
    /// Waits for the given time.
    ///
    /// Its error ends the erase, because another instruction has arrived.
    pub wait: &'a dyn Fn(Duration) -> Result<()>,
}

/// Makes the disk erase itself, and returns the name of the method, or `None` if the disk has none.
///
/// # Errors
/// All methods of the disk failed. The content of the disk is unknown then.
pub fn by_itself(disk: &Disk, root: &Path, telling: &Telling<'_>) -> Result<Option<&'static str>> {
    match disk.kind {
        Kind::Nvme => {
            let device = open(disk)?;
            let mut device = &device;
            let methods = nvme::offers(&mut device)?;
            if methods.is_empty() {
                return Ok(None);
            }
            let namespace = disk.name.strip_prefix("/dev/").unwrap_or(&disk.name);
            let namespace = text(&root.join("sys/block").join(namespace).join("nsid"));
            let namespace = namespace
                .and_then(|text| text.parse().ok())
                .context("the kernel does not tell the namespace's number")?;
            of_nvme(&mut device, namespace, &methods, telling).map(|method| Some(method.name()))
        }
        Kind::Hdd | Kind::Ssd if disk.vendor.as_deref() == Some(ATA) => {
            let device = open(disk)?;
            of_ata(&mut &device, telling)
        }
        Kind::Hdd | Kind::Ssd => Ok(None),
    }
}

fn open(disk: &Disk) -> Result<File> {
    let opened = OpenOptions::new().read(true).write(true).open(&disk.name);
    opened.with_context(|| format!("cannot open {}", disk.name))
}

/// Tries the methods that the disk supports, the best one first.
pub fn of_nvme(
    device: &mut dyn nvme::Controller,
    namespace: u32,
    methods: &[nvme::EraseMethod],
    telling: &Telling<'_>,
) -> Result<nvme::EraseMethod> {
    let mut failed = Vec::new();
    for method in methods {
        (telling.progress)(method.name(), 0, 0);
        match nvme::erase(device, namespace, *method).and_then(|()| sanitized(device, *method, telling)) {
            Ok(()) => return Ok(*method),
            Err(error) => failed.push(format!("{}: {error:#}", method.name())),
        }
    }
    bail!("{}", failed.join("; "))
}

fn sanitized(
    device: &mut dyn nvme::Controller,
    method: nvme::EraseMethod,
    telling: &Telling<'_>,
) -> Result<()> {
    if !matches!(method, nvme::EraseMethod::SanitizeCrypto | nvme::EraseMethod::SanitizeBlocks) {
        return Ok(());
    }
    while let Some(done) = nvme::sanitized(device)? {
        (telling.progress)(method.name(), done.into(), 1 << 16);
        (telling.wait)(ASK)?;
    }
    Ok(())
}

fn of_ata(port: &mut dyn ata::Port, telling: &Telling<'_>) -> Result<Option<&'static str>> {
    let known = ata::security(port)?;
    if !known.supported {
        return Ok(None);
    }
    let method = if known.enhanced { "ATA secure erase (enhanced)" } else { "ATA secure erase" };
    (telling.progress)(&format!("{method}, {} minutes as the disk says", known.minutes), 0, 0);
    ata::erase(port).context(method)?;
    Ok(Some(method))
}
