//! Tests of `server::netboot::subnet`.

use std::net::Ipv4Addr;

use metal_boot::dhcp4::subnet::{Network, Range};
use server::netboot::subnet::SubnetOption;

#[test]
fn networks_are_read_with_what_their_machines_are_told() {
    let read = |text: &str| text.parse::<SubnetOption>().map(|told| told.0);
    let whole = read("10.78.0.0/24,router=10.78.0.1,dns=10.78.0.53,pool=10.78.0.50-10.78.0.59").unwrap();
    let address = |last| Ipv4Addr::new(10, 78, 0, last);
    assert_eq!((whole.routers, whole.name_servers), (vec![address(1)], vec![address(53)]));
    assert_eq!(whole.pools, [Range { first: address(50), last: address(59) }]);
    let half: SubnetOption = "10.78.0.0/24,router=10.78.0.200".parse().unwrap();
    let own = half.on(Network { address: address(201), prefix: 24 }, Vec::new());
    let given = (128..=254).filter(|last| own.leases(address(*last)));
    assert_eq!(given.count(), 125, "neither the router's nor this server's: {:?}", own.pools);
    let more = Range { first: address(10), last: address(19) };
    assert_eq!(half.on(half.0.network, vec![more]).pools, [more]);
    for (wrong, part) in [
        ("10.78.0.0", "10.0.0.0/24"),
        ("10.78.0.0/31", "10.0.0.0/24"),
        ("10.78.0.0/24,router=x", "router=x"),
        ("10.78.0.0/24,gateway=10.78.0.1", "router=ADDRESS"),
        ("10.78.0.0/24,pool=10.79.0.1-10.79.0.9", "10.79.0"),
    ] {
        let error = read(wrong).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
}
