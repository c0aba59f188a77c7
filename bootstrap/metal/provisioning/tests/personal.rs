//! Tests of `personal`.

use std::io::Read as _;

use metal_provisioning::personal::{RASPBERRY_PI, with_token};

#[test]
fn a_raspberry_pi_is_told_its_token() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(RASPBERRY_PI);
    std::fs::write(&path, "console=ttyS0\n").unwrap();
    let made = with_token(&path, "0123").unwrap();
    let mut text = String::new();
    made.content.range(0, u64::MAX).read_to_string(&mut text).unwrap();
    assert_eq!(text, "console=ttyS0 firstlight.token=0123\n");
}
