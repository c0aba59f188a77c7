//! The taken addresses follow the changes of objects.

use std::net::IpAddr;

use cluster_ipam::ledger::{Ledger, Taken};

fn seven() -> IpAddr {
    "10.0.0.7".parse().unwrap()
}

#[test]
fn an_address_is_free_when_its_last_object_is_gone() {
    let ledger = Ledger::<&str>::default();
    let read = |name: &&str| (*name != "gone").then(seven);
    let note = |object| ledger.note("group".to_owned(), object);
    note("a");
    note("b");
    note("gone");
    let taken = ledger.taken("group", read);
    assert!(taken.addresses.contains(seven()) && taken.shared.contains(&seven()));
    assert_eq!((taken.addresses.count(), taken.objects), (1, 2));
    note("a");
    let taken = ledger.taken("group", |_| None);
    assert!(taken.addresses.contains(seven()) && taken.shared.is_empty());
    note("b");
    assert_eq!(ledger.taken("group", |_| None), Taken::default());
    assert_eq!(ledger.taken("other", read), Taken::default());
}
