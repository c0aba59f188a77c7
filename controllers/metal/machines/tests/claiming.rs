//! Tests of `claiming`.

use metal_machines::claiming::Claiming;
use schemas::metal3::BareMetalHost;

#[test]
fn a_reservation_ends_with_its_reconcile() {
    let (claiming, host) = (Claiming::default(), BareMetalHost::default());
    let first = claiming.reserve(&host);
    assert!(first.is_some() && claiming.reserve(&host).is_none());
    drop(first);
    assert!(claiming.reserve(&host).is_some());
}
