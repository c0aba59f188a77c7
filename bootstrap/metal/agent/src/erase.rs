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
const ATA: &str = "ATA";

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
fn of_nvme(
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

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::io;

    use super::*;

    /// A controller whose format command fails, and whose sanitize operation takes two steps.
    #[derive(Default)]
    struct Controller {
        asked: u8,
        told: Vec<u8>,
        fails: bool,
    }

    impl nvme::Controller for Controller {
        fn submit(&mut self, command: &nvme::Command, data: &mut [u8]) -> io::Result<u16> {
            self.told.push(command.opcode);
            Ok(match command.opcode {
                0x80 => 0x205,
                0x84 if self.fails => 0x1d,
                0x02 => {
                    self.asked += 1;
                    (data[1], data[2]) = (0x40, if self.asked < 3 { 2 } else { 1 });
                    0
                }
                _ => 0,
            })
        }
    }

    #[test]
    fn the_next_way_is_tried_and_what_failed_is_told() {
        use nvme::EraseMethod::{Format, SanitizeBlocks};
        let said = RefCell::new(Vec::new());
        let telling = Telling {
            progress: &|method, done, total| said.borrow_mut().push((method.to_owned(), done, total)),
            wait: &|_| Ok(()),
        };
        let mut controller = Controller::default();
        let method = of_nvme(&mut controller, 1, &[Format, SanitizeBlocks], &telling).unwrap();
        assert_eq!(method, SanitizeBlocks);
        assert_eq!(said.borrow().last(), Some(&(SanitizeBlocks.name().to_owned(), 0x4000, 1 << 16)));
        assert_eq!(controller.told, [6, 0x80, 0x84, 2, 2, 2]);
        let mut controller = Controller { fails: true, ..Controller::default() };
        let error = of_nvme(&mut controller, 1, &[Format, SanitizeBlocks], &telling).unwrap_err().to_string();
        assert!(error.contains(Format.name()) && error.contains("0x01d"), "{error}");
        let impatient = Telling { wait: &|_| bail!("ended"), ..telling };
        assert!(of_nvme(&mut Controller::default(), 1, &[SanitizeBlocks], &impatient).is_err());
    }

    #[test]
    fn disks_behind_other_controllers_have_no_way_of_their_own() {
        let telling = Telling { progress: &|_, _, _| {}, wait: &|_| Ok(()) };
        for vendor in [None, Some("QEMU"), Some("0x1af4")] {
            let disk = Disk { name: "/nothing".into(), vendor: vendor.map(str::to_owned), ..Disk::default() };
            assert_eq!(by_itself(&disk, Path::new("/"), &telling).unwrap(), None);
        }
        let disk = Disk { name: "/nothing".into(), vendor: Some(ATA.into()), ..Disk::default() };
        assert!(by_itself(&disk, Path::new("/"), &telling).is_err());
    }
}
