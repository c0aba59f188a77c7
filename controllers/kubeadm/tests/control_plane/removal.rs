//! Table tests of which etcd member may be removed, and when.

use super::*;

#[test]
fn a_leaving_member_is_removed_before_its_machine() {
    let mut fixture = Fixture::new(3, "v1.36.0", three("v1.36.0"));
    fixture.deleting(1);
    assert_eq!(fixture.steps(), [Step::RemoveMember(2), Step::RemoveHook("b".to_owned())]);
    assert_eq!(
        fixture.condition("EtcdClusterHealthy"),
        condition("False", "NotHealthy", "* Machine b:\n  * EtcdMemberHealthy: Machine is deleting")
    );
    fixture.etcd().members.remove(1);
    assert_eq!(fixture.steps(), [Step::RemoveHook("b".to_owned())]);
    fixture.etcd().members.remove(1);
    assert_eq!(
        fixture.steps(),
        [Step::RemoveHook("b".to_owned())],
        "one member is left, and it is not this Machine's"
    );
    fixture.etcd().members = vec![Member { id: 2, name: "b".into(), ..Member::default() }];
    assert_eq!(fixture.steps(), [], "the last member never goes");
    fixture.view().etcd = Some(Err("down".to_owned()));
    assert_eq!(fixture.steps(), [], "not without etcd");
}

/// Each row: a problem of the remaining members, and whether Machine `a` of three may then be terminated.
#[test]
fn a_member_goes_only_if_the_rest_is_a_quorum() {
    type Change = fn(&mut Fixture);
    let cases: [(&str, Change, bool); 11] = [
        ("all are well", |_| {}, true),
        ("b does not answer", |fixture| _ = fixture.etcd().silent.insert(2), false),
        ("it does not answer itself", |fixture| _ = fixture.etcd().silent.insert(1), true),
        ("b's pod is not ready", |fixture| drop(fixture.view().pods.remove("etcd-b")), false),
        ("b's node is unreachable", |fixture| unreachable_node(fixture, "b"), false),
        (
            "b has an alarm",
            |fixture| fixture.etcd().alarms.push(AlarmMember { member_id: 2, alarm: 1 }),
            false,
        ),
        ("b only learns", |fixture| fixture.etcd().members[1].is_learner = true, false),
        ("b has not started", |fixture| fixture.etcd().members[1].name.clear(), false),
        ("c goes, too", |fixture| _ = fixture.deleting_later(2), true),
        (
            "c does not answer, but there are five",
            |fixture| {
                fixture.add("d");
                fixture.add("e");
                fixture.etcd().silent.insert(3);
            },
            true,
        ),
        (
            "two of five do not answer",
            |fixture| {
                fixture.add("d");
                fixture.add("e");
                fixture.etcd().silent.extend([3, 4]);
            },
            false,
        ),
    ];
    for (name, change, goes) in cases {
        let mut fixture = Fixture::new(3, "v1.36.0", three("v1.36.0"));
        fixture.etcd().leader = 2;
        fixture.deleting(0);
        change(&mut fixture);
        let steps = fixture.steps();
        assert_eq!(steps.contains(&Step::RemoveMember(1)), goes, "{name}: {steps:?}");
        assert_eq!(steps.contains(&Step::RemoveHook("a".to_owned())), goes, "{name}: {steps:?}");
        let event = fixture.event();
        assert_eq!(event.is_some(), !goes, "{name}: {event:?}");
    }
}

#[test]
fn two_machines_that_go_at_once_go_one_after_the_other() {
    let mut fixture = Fixture::new(3, "v1.36.0", three("v1.36.0"));
    fixture.etcd().leader = 3;
    fixture.deleting(1).deleting_later(0);
    assert_eq!(
        fixture.steps(),
        [Step::RemoveMember(2), Step::RemoveHook("b".to_owned())],
        "the oldest first"
    );
    fixture.etcd().members.remove(1);
    fixture.change(1, |machine| machine.metadata.annotations = None);
    assert_eq!(fixture.steps(), [], "b is still being terminated");
    fixture.observed.machines.remove(1);
    assert_eq!(fixture.steps(), [Step::RemoveMember(1), Step::RemoveHook("a".to_owned())]);
    fixture.deleting_later(1);
    assert_eq!(fixture.steps(), [], "one stays whatever is deleted");
    fixture.observed.machines.remove(0);
    fixture.etcd().members.remove(0);
    fixture.deleting(0);
    assert_eq!(fixture.steps(), [Step::RemoveHook("c".to_owned())], "but the last one, when it is alone");
}

#[test]
fn a_control_plane_whose_machines_all_go_says_so() {
    let mut fixture = Fixture::new(3, "v1.36.0", three("v1.36.0"));
    fixture.deleting(0).deleting(1);
    let told = |fixture: &mut Fixture| fixture.condition("Available").2.contains("then delete the Cluster");
    assert!(!told(&mut fixture));
    fixture.deleting(2);
    assert!(told(&mut fixture));
    assert_eq!(fixture.steps(), []);
}

#[test]
fn a_machine_without_a_node_takes_its_member_along() {
    let mut fixture = Fixture::new(3, "v1.36.0", three("v1.36.0"));
    fixture.deleting(2).change(2, |machine| {
        machine.status.as_mut().unwrap().node_ref = None;
        machine.spec.provider_id = None;
    });
    assert_eq!(fixture.steps(), [Step::RemoveMember(3)]);
    fixture.etcd().members[2].name.clear();
    assert_eq!(fixture.steps(), [Step::RemoveMember(3)], "one that has not started");
    fixture.etcd().silent.insert(2);
    fixture.etcd().members[2].name = "c".to_owned();
    assert_eq!(fixture.steps(), [], "not when b is dead");
    fixture.etcd().silent.clear();
    fixture.change(1, |machine| machine.status.as_mut().unwrap().node_ref = None);
    assert_eq!(fixture.steps(), [], "it may be b's");
    fixture.etcd().members.truncate(1);
    assert_eq!(fixture.steps(), [Step::RemoveHook("c".to_owned())], "there is none to take along");
}

#[test]
fn a_cluster_that_can_t_be_seen_keeps_its_members() {
    let mut fixture = Fixture::new(3, "v1.36.0", three("v1.36.0"));
    fixture.deleting(0);
    fixture.observed.workload = None;
    fixture.observed.health.last_success = Some(now() - Duration::minutes(6));
    assert_eq!(fixture.steps(), []);
    let event = fixture.event().unwrap();
    assert_eq!(event, "Machine a can't be terminated yet: the workload cluster can't be reached");
    fixture.observed.machines.truncate(1);
    assert_eq!(fixture.steps(), [Step::RemoveHook("a".to_owned())]);
}

#[test]
fn leadership_goes_to_a_member_that_is_well() {
    let mut fixture = Fixture::new(3, "v1.36.0", three("v1.36.0"));
    fixture.add("d");
    fixture.add("e");
    fixture.deleting(0);
    fixture.etcd().silent.insert(5);
    assert_eq!(fixture.steps()[0], Step::MoveLeader { from: "a".to_owned(), to: 4 });
}

#[test]
fn other_hooks_come_before_ours() {
    let mut fixture = Fixture::new(3, "v1.36.0", three("v1.36.0"));
    fixture.deleting(1).change(1, |machine| {
        let annotations = machine.metadata.annotations.get_or_insert_default();
        annotations
            .insert("pre-terminate.delete.hook.machine.cluster.x-k8s.io/mine".to_owned(), String::new());
    });
    assert!(!fixture.steps().contains(&Step::RemoveHook("b".to_owned())));
}

#[test]
fn members_without_a_machine_go_when_the_quorum_stays() {
    let mut fixture = Fixture::new(3, "v1.36.0", three("v1.36.0"));
    fixture.etcd().members.push(Member { id: 9, name: "gone".into(), ..Member::default() });
    assert_eq!(fixture.steps(), [Step::RemoveMember(9)]);
    assert_eq!(
        fixture.condition("EtcdClusterHealthy"),
        condition("False", "NotHealthy", "* Etcd member gone does not have a corresponding Machine")
    );
    fixture.etcd().members.push(Member { id: 10, name: "x".into(), is_learner: true, ..Member::default() });
    assert!(!fixture.steps().contains(&Step::RemoveMember(9)), "not while a member learns");
    fixture.etcd().members[4].name.clear();
    assert_eq!(fixture.steps(), [Step::RemoveMember(10)], "one that never started is nobody's");
    fixture.etcd().members.remove(2);
    assert_eq!(fixture.steps(), [], "or c's, which has no member yet");
}

#[test]
fn scaling_waits_for_a_member_that_can_t_be_removed() {
    let two = || three("v1.36.0").into_iter().take(2).collect::<Vec<_>>();
    let rows = [(3, two().into_iter().take(1).collect(), "ScalingUp"), (1, two(), "ScalingDown")];
    for (replicas, machines, type_) in rows {
        let mut fixture = Fixture::new(replicas, "v1.36.0", machines);
        // Without one of them, the others and the Machines' members are no quorum.
        for id in 7..10 {
            fixture.etcd().members.push(Member { id, name: format!("gone-{id}"), ..Member::default() });
        }
        assert_eq!(fixture.steps(), [], "{type_}");
        let event = fixture.event().unwrap();
        assert!(
            event.contains("Etcd member gone-7 does not have a corresponding Machine, and can't be removed"),
            "{event}"
        );
        let message = fixture.condition(type_).2;
        assert!(message.ends_with("* waiting for etcd cluster to become healthy"), "{message}");
    }
}
