//! Table tests of which etcd member may be removed, and when.

use super::*;

#[test]
fn a_leaving_member_is_removed_before_its_machine() {
    let mut world = World::new(3, "v1.36.0", three("v1.36.0"));
    world.deleting(1);
    assert_eq!(world.steps(), [Step::RemoveMember(2), Step::RemoveHook("b".to_owned())]);
    assert_eq!(
        world.condition("EtcdClusterHealthy"),
        condition("False", "NotHealthy", "* Machine b:\n  * EtcdMemberHealthy: Machine is deleting")
    );
    world.etcd().members.remove(1);
    assert_eq!(world.steps(), [Step::RemoveHook("b".to_owned())]);
    world.etcd().members.remove(1);
    assert_eq!(
        world.steps(),
        [Step::RemoveHook("b".to_owned())],
        "one member is left, and it is not this Machine's"
    );
    world.etcd().members = vec![Member { id: 2, name: "b".into(), ..Member::default() }];
    assert_eq!(world.steps(), [], "the last member never goes");
    world.view().etcd = Some(Err("down".to_owned()));
    assert_eq!(world.steps(), [], "not without etcd");
}

/// Each row: a problem of the remaining members, and whether Machine `a` of three may then be terminated.
#[test]
fn a_member_goes_only_if_the_rest_is_a_quorum() {
    type Change = fn(&mut World);
    let cases: [(&str, Change, bool); 11] = [
        ("all are well", |_| {}, true),
        ("b does not answer", |world| _ = world.etcd().silent.insert(2), false),
        ("it does not answer itself", |world| _ = world.etcd().silent.insert(1), true),
        ("b's pod is not ready", |world| drop(world.view().pods.remove("etcd-b")), false),
        ("b's node is unreachable", |world| unreachable_node(world, "b"), false),
        ("b has an alarm", |world| world.etcd().alarms.push(AlarmMember { member_id: 2, alarm: 1 }), false),
        ("b only learns", |world| world.etcd().members[1].is_learner = true, false),
        ("b has not started", |world| world.etcd().members[1].name.clear(), false),
        ("c goes, too", |world| _ = world.deleting_later(2), true),
        (
            "c does not answer, but there are five",
            |world| {
                world.add("d");
                world.add("e");
                world.etcd().silent.insert(3);
            },
            true,
        ),
        (
            "two of five do not answer",
            |world| {
                world.add("d");
                world.add("e");
                world.etcd().silent.extend([3, 4]);
            },
            false,
        ),
    ];
    for (name, change, goes) in cases {
        let mut world = World::new(3, "v1.36.0", three("v1.36.0"));
        world.etcd().leader = 2;
        world.deleting(0);
        change(&mut world);
        let steps = world.steps();
        assert_eq!(steps.contains(&Step::RemoveMember(1)), goes, "{name}: {steps:?}");
        assert_eq!(steps.contains(&Step::RemoveHook("a".to_owned())), goes, "{name}: {steps:?}");
        let event = world.event();
        assert_eq!(event.is_some(), !goes, "{name}: {event:?}");
    }
}

#[test]
fn two_machines_that_go_at_once_go_one_after_the_other() {
    let mut world = World::new(3, "v1.36.0", three("v1.36.0"));
    world.etcd().leader = 3;
    world.deleting(1).deleting_later(0);
    assert_eq!(world.steps(), [Step::RemoveMember(2), Step::RemoveHook("b".to_owned())], "the oldest first");
    world.etcd().members.remove(1);
    world.change(1, |machine| machine.metadata.annotations = None);
    assert_eq!(world.steps(), [], "b is still being terminated");
    world.observed.machines.remove(1);
    assert_eq!(world.steps(), [Step::RemoveMember(1), Step::RemoveHook("a".to_owned())]);
    world.deleting_later(1);
    assert_eq!(world.steps(), [], "one stays whatever is deleted");
    world.observed.machines.remove(0);
    world.etcd().members.remove(0);
    world.deleting(0);
    assert_eq!(world.steps(), [Step::RemoveHook("c".to_owned())], "but the last one, when it is alone");
}

#[test]
fn a_control_plane_whose_machines_all_go_says_so() {
    let mut world = World::new(3, "v1.36.0", three("v1.36.0"));
    world.deleting(0).deleting(1);
    let told = |world: &mut World| world.condition("Available").2.contains("then delete the Cluster");
    assert!(!told(&mut world));
    world.deleting(2);
    assert!(told(&mut world));
    assert_eq!(world.steps(), []);
}

#[test]
fn a_machine_without_a_node_takes_its_member_along() {
    let mut world = World::new(3, "v1.36.0", three("v1.36.0"));
    world.deleting(2).change(2, |machine| {
        machine.status.as_mut().unwrap().node_ref = None;
        machine.spec.provider_id = None;
    });
    assert_eq!(world.steps(), [Step::RemoveMember(3)]);
    world.etcd().members[2].name.clear();
    assert_eq!(world.steps(), [Step::RemoveMember(3)], "one that has not started");
    world.etcd().silent.insert(2);
    world.etcd().members[2].name = "c".to_owned();
    assert_eq!(world.steps(), [], "not when b is dead");
    world.etcd().silent.clear();
    world.change(1, |machine| machine.status.as_mut().unwrap().node_ref = None);
    assert_eq!(world.steps(), [], "it may be b's");
    world.etcd().members.truncate(1);
    assert_eq!(world.steps(), [Step::RemoveHook("c".to_owned())], "there is none to take along");
}

#[test]
fn a_cluster_that_can_t_be_seen_keeps_its_members() {
    let mut world = World::new(3, "v1.36.0", three("v1.36.0"));
    world.deleting(0);
    world.observed.workload = None;
    world.observed.health.last_success = Some(now() - Duration::minutes(6));
    assert_eq!(world.steps(), []);
    let event = world.event().unwrap();
    assert_eq!(event, "Machine a can't be terminated yet: the workload cluster can't be reached");
    world.observed.machines.truncate(1);
    assert_eq!(world.steps(), [Step::RemoveHook("a".to_owned())]);
}

#[test]
fn leadership_goes_to_a_member_that_is_well() {
    let mut world = World::new(3, "v1.36.0", three("v1.36.0"));
    world.add("d");
    world.add("e");
    world.deleting(0);
    world.etcd().silent.insert(5);
    assert_eq!(world.steps()[0], Step::MoveLeader { from: "a".to_owned(), to: 4 });
}

#[test]
fn other_hooks_come_before_ours() {
    let mut world = World::new(3, "v1.36.0", three("v1.36.0"));
    world.deleting(1).change(1, |machine| {
        let annotations = machine.metadata.annotations.get_or_insert_default();
        annotations
            .insert("pre-terminate.delete.hook.machine.cluster.x-k8s.io/mine".to_owned(), String::new());
    });
    assert!(!world.steps().contains(&Step::RemoveHook("b".to_owned())));
}

#[test]
fn members_without_a_machine_go_when_the_quorum_stays() {
    let mut world = World::new(3, "v1.36.0", three("v1.36.0"));
    world.etcd().members.push(Member { id: 9, name: "gone".into(), ..Member::default() });
    assert_eq!(world.steps(), [Step::RemoveMember(9)]);
    assert_eq!(
        world.condition("EtcdClusterHealthy"),
        condition("False", "NotHealthy", "* Etcd member gone does not have a corresponding Machine")
    );
    world.etcd().members.push(Member { id: 10, name: "x".into(), is_learner: true, ..Member::default() });
    assert!(!world.steps().contains(&Step::RemoveMember(9)), "not while a member learns");
    world.etcd().members[4].name.clear();
    assert_eq!(world.steps(), [Step::RemoveMember(10)], "one that never started is nobody's");
    world.etcd().members.remove(2);
    assert_eq!(world.steps(), [], "or c's, which has no member yet");
}

#[test]
fn scaling_waits_for_a_member_that_can_t_be_removed() {
    let two = || three("v1.36.0").into_iter().take(2).collect::<Vec<_>>();
    let rows = [(3, two().into_iter().take(1).collect(), "ScalingUp"), (1, two(), "ScalingDown")];
    for (replicas, machines, type_) in rows {
        let mut world = World::new(replicas, "v1.36.0", machines);
        // Without one of them, the others and the Machines' members are no quorum.
        for id in 7..10 {
            world.etcd().members.push(Member { id, name: format!("gone-{id}"), ..Member::default() });
        }
        assert_eq!(world.steps(), [], "{type_}");
        let event = world.event().unwrap();
        assert!(
            event.contains("Etcd member gone-7 does not have a corresponding Machine, and can't be removed"),
            "{event}"
        );
        let message = world.condition(type_).2;
        assert!(message.ends_with("* waiting for etcd cluster to become healthy"), "{message}");
    }
}
