//! Tests of the annotations that reboot a host.

use schemas::reboot::{OF_CLAIM, REBOOT, is_reboot, on_host};

#[test]
fn the_host_gets_a_valid_key_for_each_reboot_of_its_claim() {
    let suffix = |length: usize| format!("{REBOOT}/{}", "a".repeat(length));
    assert_eq!(on_host(REBOOT), Some(Ok(REBOOT.to_owned())));
    assert_eq!(on_host("reboot.metal3.io/Night"), Some(Ok(format!("{OF_CLAIM}Night"))));
    assert!(on_host(&suffix(53)).is_some_and(|key| key.is_ok()));
    for key in [suffix(54), format!("{REBOOT}/"), format!("{REBOOT}/a/b")] {
        let problem = on_host(&key).and_then(Result::err).unwrap_or_default();
        assert!(problem.contains("at most 53 characters"), "{key}: {problem}");
    }
    for key in ["reboot.metal3.iox", "metal3.io"] {
        assert!(on_host(key).is_none() && !is_reboot(key), "{key}");
    }
}
