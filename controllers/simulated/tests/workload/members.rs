//! The members of a simulated etcd.

use simulated::workload::etcd::{Replica, has_quorum, here, leader, members};

fn member(name: &str, leader_from: &str, removed: bool) -> Replica {
    Replica {
        pod: format!("etcd-{name}"),
        name: name.into(),
        id: u64::from(name.as_bytes()[0]),
        cluster_id: 1,
        leader_from: leader_from.into(),
        removed,
        dead: false,
    }
}

fn dead(name: &str) -> Replica {
    Replica { dead: true, ..member(name, "", false) }
}

#[test]
fn the_newest_leader_leads() {
    let cases: [(&[Replica], Option<&str>); 6] = [
        (&[], None),
        (&[member("a", "", false), member("b", "", false)], Some("a")),
        (&[member("a", "2026-01-01", false), member("b", "2026-01-02", false)], Some("b")),
        (&[member("a", "2026-01-01", false), member("b", "2026-01-02", true)], Some("a")),
        (&[dead("a"), member("b", "", false), member("c", "", false)], Some("b")),
        (&[dead("a"), member("b", "", false)], None),
    ];
    for (replicas, expected) in cases {
        assert_eq!(leader(replicas).map(|replica| replica.name.as_str()), expected);
    }
}

#[test]
fn a_dead_member_is_listed_and_does_not_answer() {
    let replicas = [dead("a"), member("b", "", false), member("c", "", false)];
    assert!(here(&replicas, "etcd-a").is_err());
    assert!(here(&replicas, "etcd-b").is_ok());
    assert_eq!(members(&replicas).len(), 3);
    assert!(has_quorum(&replicas) && !has_quorum(&replicas[..2]) && has_quorum(&replicas[1..]));
}

#[test]
fn a_removed_member_answers_nothing_and_is_not_listed() {
    let replicas = [member("a", "", true), member("b", "", false)];
    assert!(here(&replicas, "etcd-a").is_err());
    assert!(here(&replicas, "etcd-b").is_ok());
    assert!(here(&replicas, "etcd-c").is_err());
    assert_eq!(members(&replicas).len(), 1);
}
