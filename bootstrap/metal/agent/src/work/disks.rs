//! The instructions that write to the machine's disks: `Clean` and `Deploy`.

use std::path::Path;

use agent_protocol::{Deployment, Erase, Image as ImageName};
use anyhow::{Context, Result, ensure};
use tokio::runtime::Handle;

use super::task::{Machine, Task};
use crate::clean::{Samples, clean};
use crate::deploy::{Checksum, Completed, Fetched, Order, Source, build_config_drive, choose, is_url, write};
use crate::disk::BlockDevice;
use crate::erase::{Telling, by_itself};
use crate::firmware::{Firmware, VARIABLES};
use crate::inventory::{Disk, disks};
use crate::network::Tools;
use crate::server::{Refusal, authorities, https, image_client_config};

/// The reported method for a disk that was erased without an erase command of its own.
const WRITTEN: &str = "discarded, or written with zeros";

/// Returns the machine's disks after all devices have appeared.
async fn settled(machine: &Machine) -> Result<Vec<Disk>> {
    machine.devices.settle().await;
    tokio::task::spawn_blocking(|| disks::disks(Path::new("/"))).await.context("cannot look at the disks")
}

/// Erases all disks that belong to the machine. Returns the method for each disk that was erased as a whole.
///
/// # Errors
/// A disk cannot be erased; the message names it and the reason. The other disks are still erased.
pub async fn clean_all(erase: Erase, task: &Task, machine: &Machine) -> Result<String> {
    let disks = settled(machine).await?;
    if let Some(firmware) = Firmware::find(Path::new(VARIABLES))
        && let Err(error) = firmware.forget()
    {
        machine.tools.journal.line(format!("boot order: {error:#}"));
    }
    let (mut methods, mut failed) = (Vec::new(), Vec::new());
    for disk in disks {
        task.check()?;
        // A USB stick or a virtual medium of the BMC does not belong to the machine.
        if disk.removable || disk.read_only {
            machine
                .tools
                .journal
                .line(format!("{} is left as it is: it is removable, or cannot be written", disk.name));
            continue;
        }
        let name = disk.name.clone();
        let (task, tools) = (task.clone(), machine.tools.clone());
        let work = tokio::task::spawn_blocking(move || match erase {
            Erase::Metadata => empty(&disk, erase, &task).map(|()| None),
            Erase::Everything => erase_one(&disk, &task, &tools).map(Some),
        });
        match work.await.context("internal error").flatten() {
            Ok(method) => {
                machine.tools.journal.line(format!("{name} is empty"));
                methods.extend(method.map(|method| format!("{name}: {method}")));
            }
            Err(error) => failed.push(format!("{name}: {error:#}")),
        }
    }
    ensure!(failed.is_empty(), "{}", failed.join("; "));
    Ok(methods.join("; "))
}

/// Erases a disk by zeroing it.
fn empty(disk: &Disk, erase: Erase, task: &Task) -> Result<()> {
    let mut device = BlockDevice::open(Path::new(&disk.name), disk.block)?;
    clean(&mut device, &disk.partitions, erase, &|done, total| {
        task.progress(&format!("cleaning {}", disk.name), done, total);
        task.check()
    })
}

/// Makes a disk erase itself, or zeroes it if it cannot. Returns the method.
fn erase_one(disk: &Disk, task: &Task, tools: &Tools) -> Result<String> {
    let telling = Telling {
        progress: &|method, done, total| {
            task.progress(&format!("cleaning {}: {method}", disk.name), done, total)
        },
        wait: &|time| {
            Handle::current().block_on(tools.clock.sleep(time));
            task.check()
        },
    };
    let erased = || -> Result<Option<&'static str>> {
        let mut device = BlockDevice::open(Path::new(&disk.name), disk.block)?;
        let samples = Samples::take(&mut device)?;
        let method = by_itself(disk, Path::new("/"), &telling)?;
        if method.is_some() {
            samples.are_gone(&mut device)?;
        }
        Ok(method)
    };
    match erased() {
        Ok(Some(method)) => {
            // After their own erase some disks return arbitrary data, which must not be mistaken for partitions.
            empty(disk, Erase::Metadata, task)?;
            Ok(method.to_owned())
        }
        Ok(None) => empty(disk, Erase::Everything, task).map(|()| WRITTEN.to_owned()),
        Err(error) => {
            task.check()?;
            tools.journal.line(format!("{} could not erase itself: {error:#}", disk.name));
            empty(disk, Erase::Everything, task)?;
            Ok(format!("could not erase itself ({error:#}); {WRITTEN} instead"))
        }
    }
}

/// Writes an image to the root disk, and makes the firmware boot from it.
///
/// # Errors
/// An error message that says how to fix the problem.
pub async fn deploy(deployment: &Deployment, task: &Task, machine: &Machine) -> Result<()> {
    let disks = settled(machine).await?;
    let disk = choose(&disks, &deployment.root_device_hints)?.clone();
    let journal = &machine.tools.journal;
    journal.line(format!("the root disk is {}, {} bytes", disk.name, disk.size));
    let client = https(image_client_config(authorities(&machine.authorities)?)?, None);
    let source = |url: &str| Source::new(url, client.clone(), machine.tools.clock.clone(), journal.clone());
    let ImageName { url, checksum, checksum_type, format } = deployment.image.clone();
    let checksum = if is_url(&checksum) {
        let file = source(&checksum)?.text().await.context("spec.image.checksum")?;
        Checksum::find(&file, &url, &checksum_type)?
    } else {
        Checksum::read(&checksum, &checksum_type)?
    };
    let drive = if deployment.config_drive { Some(config_drive(machine).await?) } else { None };
    let fetched = Fetched::new(source(&url)?, Handle::current());
    let (of_task, random) = (task.clone(), machine.tools.random.clone());
    let work = tokio::task::spawn_blocking(move || -> Result<Completed> {
        let mut device = BlockDevice::open(Path::new(&disk.name), disk.block)?;
        let message = format!("writing the image to {}", disk.name);
        let progress = |done, total| {
            of_task.progress(&message, done, total);
            of_task.check()
        };
        let order = Order {
            checksum: &checksum,
            format: &format,
            drive: drive.as_deref(),
            random: &random,
            progress: &progress,
        };
        write(&mut device, &fetched, &order)
    });
    let completed = work.await.context("internal error").flatten()?;
    if let (Some(firmware), Some(partition)) = (Firmware::find(Path::new(VARIABLES)), &completed.efi_system)
        && let Err(error) = firmware.boot_first(partition)
    {
        // Without an entry the firmware still finds the disk after its other boot options.
        journal.line(format!("boot order: {error:#}"));
    }
    Ok(())
}

async fn config_drive(machine: &Machine) -> Result<Vec<u8>> {
    let files = match machine.server.config_drive().await {
        Ok(files) => files.context(
            "the server has no files for the configuration drive any more; it gives them out once",
        )?,
        Err(Refusal::Unknown) => anyhow::bail!("the server does not know this machine any more"),
        Err(Refusal::Other(error)) => return Err(error),
    };
    build_config_drive(&files)
}
