//! Tests of `kubelet::pod::program`.

use kubelet::pod::program::{CHUNK, contains};

#[test]
fn a_flag_is_found_wherever_it_is() {
    for (before, expected) in [(0, true), (CHUNK - 3, true), (CHUNK, true), (2 * CHUNK - 1, true)] {
        let content = [vec![b'-'; before], b"webhook-port".to_vec(), vec![0; 5]].concat();
        assert_eq!(contains(content.as_slice(), b"webhook-port").unwrap(), expected, "{before}");
        assert!(!contains(content.as_slice(), b"webhook-ports").unwrap());
    }
}
