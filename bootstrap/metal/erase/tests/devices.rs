//! What is no disk.

use std::time::Duration;

use metal_erase::{ata::Port, nvme};

#[test]
fn what_is_no_device_is_an_error() {
    let file = tempfile::tempfile().unwrap();
    let time = Duration::from_secs(1);
    let mut disk = &file;
    assert!(nvme::offers(&mut disk).is_err());
    assert!(disk.send(0x85, time).is_err());
    assert!(disk.read(0x85, time).is_err());
    assert!(disk.write(0x85, &[0; 512], time).is_err());
}
