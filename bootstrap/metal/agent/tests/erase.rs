//! Tests of `erase`.

use std::cell::RefCell;
use std::io;
use std::path::Path;

use agent::Disk;
use agent::testing::erase::{ATA, Telling, by_itself, of_nvme};
use anyhow::bail;
use metal_erase::nvme;

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
