//! Tests of hashes with known values.

use machinery::hash::{fnv1a_32, fnv1a_64};

/// The values are test vectors of draft-eastlake-fnv.
#[test]
fn known_values() {
    assert_eq!(fnv1a_32(b"foobar"), 0xbf9c_f968);
    assert_eq!(fnv1a_64(b"foobar"), 0x8594_4171_f739_67e8);
}
