//! Tests of `disk::device`.

use agent::testing::BlockDevice;
use agent::testing::Disk as _;

#[test]
fn a_file_in_place_of_a_device() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disk");
    assert!(BlockDevice::open(&path, 512).is_err());
    std::fs::write(&path, vec![7; 3 << 20]).unwrap();
    let mut disk = BlockDevice::open(&path, 512).unwrap();
    assert_eq!(disk.size(), 3 << 20);
    disk.zero(512, 2 << 20).unwrap();
    disk.zero(10, 20).unwrap();
    disk.write_at(1024, b"text").unwrap();
    disk.sync().unwrap();
    disk.forget().unwrap();
    let mut read = vec![1; (2 << 20) + 513];
    disk.read_at(0, &mut read).unwrap();
    assert_eq!((&read[..10], &read[10..30]), (&[7; 10][..], &[0; 20][..]));
    assert_eq!(&read[1024..1028], b"text");
    assert!(read[512..1024].iter().chain(&read[1028..512 + (2 << 20)]).all(|byte| *byte == 0));
    assert_eq!(read[512 + (2 << 20)], 7);
    assert!(disk.read_at(3 << 20, &mut [0]).is_err());
}
