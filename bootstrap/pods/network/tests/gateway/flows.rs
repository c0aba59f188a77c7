//! Tests of `pod_network::gateway::flows`.

use std::net::{Ipv4Addr, SocketAddr};

use pod_network::gateway::flows::{Flows, Number};

fn at(port: u16) -> SocketAddr {
    SocketAddr::new(Ipv4Addr::new(192, 0, 2, 1).into(), port)
}

fn flows(limit: usize) -> Flows<&'static str, u32> {
    Flows::new(limit)
}

#[test]
fn a_connection_from_its_first_packet_to_its_last() {
    let mut flows = flows(10);
    let number = flows.add(at(1), at(443), vec![7]).unwrap();
    assert_eq!((number, flows.number(at(1), at(443))), (1, Some(1)));
    assert_eq!(flows.number(at(2), at(443)), None);
    assert_eq!(flows.accept(number), None, "the destination has not answered");
    assert_eq!(flows.offer(number, "upstream", 1), Some(vec![7]));
    assert_eq!(flows.offer(number, "another", 1), None);
    assert_eq!(flows.accept(number), Some("upstream"));
    assert_eq!(flows.accept(number), None);
    flows.forget(100, 100);
    assert!(flows.get(number).is_some(), "an open connection may be silent");
    flows.end(number, 5);
    flows.forget(100, 5);
    assert!(flows.get(number).is_some(), "its last packets are translated");
    flows.forget(0, 6);
    assert!(flows.get(number).is_none() && flows.number(at(1), at(443)).is_none());
}

#[test]
fn an_offer_that_nobody_takes_is_forgotten() {
    let mut flows = flows(10);
    let number = flows.add(at(1), at(443), Vec::new()).unwrap();
    flows.offer(number, "upstream", 1);
    flows.forget(2, 0);
    assert!(flows.get(number).is_none());
}

#[test]
fn the_number_of_connections_is_limited() {
    let mut flows = flows(2);
    let first = flows.add(at(1), at(443), Vec::new()).unwrap();
    let second = flows.add(at(2), at(443), Vec::new()).unwrap();
    assert_eq!(flows.add(at(3), at(443), Vec::new()), None);
    flows.end(second, 1);
    flows.end(first, 2);
    let third = flows.add(at(3), at(443), Vec::new()).unwrap();
    assert!(flows.get(second).is_none(), "the one that ended first makes room");
    assert!(flows.get(first).is_some() && flows.get(third).is_some());
}

#[test]
fn numbers_begin_again() {
    let mut flows = flows(2);
    let first = flows.add(at(1), at(443), Vec::new()).unwrap();
    for port in 2..=Number::MAX {
        let number = flows.add(at(port), at(443), Vec::new()).unwrap();
        assert_eq!(number, port);
        flows.remove(number);
    }
    assert_eq!(flows.add(at(7), at(443), Vec::new()), Some(2), "{first} is in use");
}
