//! Tests of `host::annotations`.

use metal::host::annotations::{Annotations, DeleteAction, Detached, Reboot, detached, reboot};
use metal::names::DETACHED;

fn annotations(pairs: &[(&str, &str)]) -> Annotations {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn reboots_add_up() {
    let soft = Reboot::default();
    type Case<'a> = (&'a [(&'a str, &'a str)], Option<Reboot>);
    let cases: &[Case<'_>] = &[
        (&[], None),
        (&[("reboot.metal3.iox", "")], None),
        (&[("reboot.metal3.io", "")], Some(soft)),
        (&[("reboot.metal3.io", "nonsense")], Some(soft)),
        (&[("reboot.metal3.io", r#"{"mode":"hard"}"#)], Some(Reboot { is_hard: true, ..soft })),
        (&[("reboot.metal3.io/x", "")], Some(Reboot { is_held: true, ..soft })),
        (
            &[("reboot.metal3.io", r#"{"force":true}"#), ("reboot.metal3.io/x", r#"{"mode":"hard"}"#)],
            Some(Reboot { is_hard: true, is_forced: true, is_held: true }),
        ),
    ];
    for (pairs, expected) in cases {
        assert_eq!(reboot(&annotations(pairs)), *expected, "{pairs:?}");
    }
}

#[test]
fn detachment() {
    let cases = [
        ("", Detached::default()),
        ("true", Detached::default()),
        (r#"{"deleteAction":"delay"}"#, Detached { delete_action: DeleteAction::Delay, force: false }),
        (
            r#"{"deleteAction":"delete","force":true}"#,
            Detached { delete_action: DeleteAction::Delete, force: true },
        ),
    ];
    for (value, expected) in cases {
        assert_eq!(detached(&annotations(&[(DETACHED, value)])), Some(expected), "{value}");
    }
}
