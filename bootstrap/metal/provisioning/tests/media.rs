//! Tests of `media`.

use std::io::Read as _;

use metal_boot::boot_files::BootFiles;
use metal_boot::client::Processor;
use metal_provisioning::media::cd;

#[test]
fn a_signed_image_stays_as_it_is_and_another_takes_the_hosts_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("unified");
    std::fs::write(&path, b"signed by the site").unwrap();
    let boot = BootFiles { unified: [(Processor::X86_64, path)].into(), ..BootFiles::default() };
    let made = cd(&boot, Some("x86_64"), Some("firstlight.token=1".into())).unwrap();
    let mut content = Vec::new();
    made.image.range(0, u64::MAX).read_to_end(&mut content).unwrap();
    let holds = |part: &[u8]| content.windows(part.len()).any(|window| window == part);
    assert!(holds(b"signed by the site") && !holds(b"firstlight.token"));
    assert!(cd(&boot, Some("aarch64"), None).is_err());
    assert!(cd(&boot, Some("riscv64"), None).is_err());
}
