//! Pure functions.

use node_balancer::{Candidate, limits, order};
use system_containers::balancer::{Configuration, Health, Server};

#[test]
fn a_connection_goes_to_the_server_that_suits_best() {
    let server = |health: &str, connections: usize| Candidate {
        health: match health.trim_end_matches('-') {
            "healthy" => Health::Healthy,
            "unknown" => Health::Unknown,
            _ => Health::Unhealthy("why".to_owned()),
        },
        drain: health.ends_with('-'),
        connections,
    };
    for (servers, turn, expected) in [
        (vec![], 7, vec![]),
        (vec![("healthy", 5)], 3, vec![0]),
        // The fewest connections.
        (vec![("healthy", 2), ("healthy", 1), ("healthy", 3)], 0, vec![1, 0, 2]),
        // Each has its turn.
        (vec![("healthy", 1), ("healthy", 1), ("healthy", 1)], 0, vec![0, 1, 2]),
        (vec![("healthy", 1), ("healthy", 1), ("healthy", 1)], 1, vec![1, 2, 0]),
        (vec![("healthy", 1), ("healthy", 1), ("healthy", 1)], usize::MAX, vec![0, 1, 2]),
        // One that drains only after the others.
        (vec![("healthy-", 0), ("healthy", 9)], 0, vec![1, 0]),
        (vec![("healthy-", 0), ("dead", 0), ("unknown", 0)], 0, vec![0, 1, 2]),
        // Where none is healthy, all are tried.
        (vec![("dead-", 0), ("dead", 4), ("unknown", 1)], 0, vec![2, 1, 0]),
    ] {
        let candidates: Vec<_> =
            servers.iter().map(|(health, connections)| server(health, *connections)).collect();
        assert_eq!(order(&candidates, turn), expected, "{servers:?} {turn}");
    }
}

#[test]
fn connections_leave_room_for_other_files() {
    let most = limits::CONNECTIONS as u64;
    for (files, expected) in [
        (0, 1),
        (limits::OTHER_FILES + 2, 1),
        (1024, 384),
        (limits::OTHER_FILES + 2 * most - 1, limits::CONNECTIONS - 1),
        (limits::OTHER_FILES + 2 * most, limits::CONNECTIONS),
        (limits::OTHER_FILES + 2 * most + 2, limits::CONNECTIONS),
        (20_000, limits::CONNECTIONS),
        (u64::MAX, limits::CONNECTIONS),
    ] {
        assert_eq!(limits::connections(files), expected, "{files}");
    }
}

#[test]
fn a_client_has_a_quarter_of_the_connections() {
    for (connections, expected) in [(1, 1), (3, 1), (4, 1), (8, 2), (limits::CONNECTIONS, 2048)] {
        assert_eq!(limits::share(connections), expected, "{connections}");
    }
}

#[test]
fn a_configuration_that_cannot_be_used_is_refused_by_its_field() {
    let server = |name: &str, address: &str, port: u16| Server {
        name: name.to_owned(),
        address: address.parse().unwrap(),
        port,
        drain: false,
    };
    let check = |port: u16, servers: Vec<Server>| Configuration { port, servers }.check();
    let many = |count: usize| (0..count).map(|index| server(&format!("s{index}"), "10.0.0.1", 1)).collect();
    let most = system_containers::limits::SERVERS;
    let long = system_containers::limits::SERVER_NAME;
    for servers in [
        vec![],
        vec![server("one", "10.0.0.1", 6443), server("two", "10.0.0.1", 6443)],
        many(most - 1),
        many(most),
        vec![server(&"n".repeat(long), "10.0.0.1", 1)],
    ] {
        check(6443, servers).unwrap();
    }
    for (port, servers, expected) in [
        (0, vec![], "port: 0 is no port"),
        (1, many(most + 1), "servers: there are 65"),
        (1, vec![server("", "10.0.0.1", 1)], "servers[0].name: it has 0 bytes"),
        (1, vec![server(&"n".repeat(long + 1), "10.0.0.1", 1)], "servers[0].name: it has 254 bytes"),
        (1, vec![server("a\u{1b}[2J", "10.0.0.1", 1)], "servers[0].name"),
        (1, vec![server("one", "0.0.0.0", 1)], "servers[0].address: 0.0.0.0"),
        (1, vec![server("one", "224.0.0.1", 1)], "servers[0].address: 224.0.0.1"),
        (1, vec![server("one", "255.255.255.255", 1)], "servers[0].address"),
        (1, vec![server("one", "10.0.0.1", 0)], "servers[0].port: 0"),
        (
            1,
            vec![server("one", "10.0.0.1", 1), server("one", "10.0.0.2", 1)],
            "servers[1].name: there are two",
        ),
    ] {
        let refused = check(port, servers).unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused} / {expected}");
    }
}
