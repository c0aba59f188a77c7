//! Control groups of version 2: as far as this machine has them, in a namespace where those of version 1 are not mounted.

use crate::world::World;

fn world_of_two() -> Option<World> {
    let world = World::new()?;
    world.run("umount", &["-R", "-l", "/sys/fs/cgroup"]);
    world.run("mount", &["-t", "cgroup2", "cgroup2", "/sys/fs/cgroup"]);
    Some(world)
}

#[test]
fn a_container_lives_in_one_tree_of_groups() {
    let Some(world) = world_of_two() else { return };
    world.ask(&["list"], b"");
    let before = world.machine();
    world.create_and_start("one");
    let line = "grep -c 'cgroup2 /sys/fs/cgroup cgroup2' /proc/mounts; grep ^0: /proc/self/cgroup";
    assert_eq!(world.shell("one", line), "1\n0::/\n");
    assert_eq!(world.shell("one", "sort -n /sys/fs/cgroup/cgroup.procs | head -n 1"), "1\n");
    // As systemd does: processes are in the leaves only, and further programs find one.
    let line = "mkdir /sys/fs/cgroup/init.scope && for process in $(cat /sys/fs/cgroup/cgroup.procs); do echo $process > /sys/fs/cgroup/init.scope/cgroup.procs; done; true";
    world.shell("one", line);
    assert_eq!(world.shell("one", "grep ^0: /proc/self/cgroup"), "0::/init.scope\n");
    world.shell("one", "for name in $(cat /sys/fs/cgroup/cgroup.controllers); do echo +$name > /sys/fs/cgroup/cgroup.subtree_control; done");
    world.shell("one", "true");
    world.ask(&["pause", "one"], b"");
    assert_eq!(world.state("one"), "paused");
    world.ask(&["resume", "one"], b"");
    world.ask(&["pause", "one"], b"");
    world.ask(&["remove", "one"], b"");
    assert_eq!(world.machine(), before);
}
