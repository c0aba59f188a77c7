//! Tests of `benches::pivot`.

use benches::pivot::{named, uids};

#[test]
fn names_and_identities() {
    assert_eq!(named("zero zero-ca xzero zero1 /zero_zero.yaml", 7), "c7 c7-ca xzero zero1 /c7_c7.yaml");
    let uid = "00000000-0000-4000-8000-0123456789ab";
    assert_eq!(uids(&format!("uid: {uid}, {}", &uid[1..])), [uid]);
}
