//! Control groups of version 2: as far as this machine has them, in a namespace where those of version 1 are not mounted.

use crate::fixture::Fixture;

fn fixture_of_two() -> Option<Fixture> {
    let fixture = Fixture::new()?;
    fixture.run("umount", &["-R", "-l", "/sys/fs/cgroup"]);
    fixture.run("mount", &["-t", "cgroup2", "cgroup2", "/sys/fs/cgroup"]);
    Some(fixture)
}

#[test]
fn a_container_lives_in_one_tree_of_groups() {
    let Some(fixture) = fixture_of_two() else { return };
    fixture.ask(&["list"], b"");
    let before = fixture.machine();
    fixture.create_and_start("one");
    let line = "grep -c 'cgroup2 /sys/fs/cgroup cgroup2' /proc/mounts; grep ^0: /proc/self/cgroup";
    assert_eq!(fixture.shell("one", line), "1\n0::/\n");
    assert_eq!(fixture.shell("one", "sort -n /sys/fs/cgroup/cgroup.procs | head -n 1"), "1\n");
    // As systemd does: processes are in the leaves only, and further programs find one.
    let line = "mkdir /sys/fs/cgroup/init.scope && for process in $(cat /sys/fs/cgroup/cgroup.procs); do echo $process > /sys/fs/cgroup/init.scope/cgroup.procs; done; true";
    fixture.shell("one", line);
    assert_eq!(fixture.shell("one", "grep ^0: /proc/self/cgroup"), "0::/init.scope\n");
    fixture.shell("one", "for name in $(cat /sys/fs/cgroup/cgroup.controllers); do echo +$name > /sys/fs/cgroup/cgroup.subtree_control; done");
    fixture.shell("one", "true");
    fixture.ask(&["pause", "one"], b"");
    assert_eq!(fixture.state("one"), "paused");
    fixture.ask(&["resume", "one"], b"");
    fixture.ask(&["pause", "one"], b"");
    fixture.ask(&["remove", "one"], b"");
    assert_eq!(fixture.machine(), before);
}
