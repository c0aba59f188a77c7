//! The text of plans.

use firstlight::commands::plan::text::text;
use firstlight::plan::action::Verb;
use firstlight::plan::follow::{Action, Machines};
use firstlight::plan::waits::{Remaining, Wait};
use firstlight::plan::{Ending, Plan};

fn action(after: i64, action: Verb, kind: &str, name: &str, reason: &str) -> Action {
    Action {
        after_seconds: after,
        until_seconds: None,
        action,
        kind: kind.to_owned(),
        namespace: "default".to_owned(),
        name: name.to_owned(),
        cluster: "blue".to_owned(),
        reason: reason.to_owned(),
        is_under_way: false,
    }
}

fn plan() -> Plan {
    Plan {
        server: Some("https://127.0.0.1:6443".to_owned()),
        objects: 54,
        ending: Ending::Finished,
        seconds: 725,
        actions: vec![
            action(0, Verb::Update, "Cluster", "blue", "version v1.35.0 → v1.36.0"),
            action(62, Verb::Create, "Machine", "blue-x", "version v1.36.0"),
            action(
                4000,
                Verb::Rotate,
                "MachineDeployment",
                "blue-web-t9k2l",
                "DevMachineTemplate blue-web-t9k2l-5x2vq → blue-web-t9k2l-p7zcm",
            ),
        ],
        machines: Machines {
            created: 3,
            deleted: 3,
            updated_in_place: 0,
            most_above_wanted: 1,
            fewest_available: 52,
            wanted: 53,
        },
        waits: vec![Wait {
            kind: "MachineSet".to_owned(),
            cause: "the control plane is upgrading".to_owned(),
            objects: 2,
            seconds: 250,
        }],
        remaining: Vec::new(),
        notes: vec!["extensions are not called".to_owned()],
    }
}

#[test]
fn actions_summary_and_waits_fit_into_80_columns() {
    let expected = "\
Plan for https://127.0.0.1:6443, from 54 objects of it.

     +0s  update  Cluster default/blue: version v1.35.0 → v1.36.0
    +62s  create  Machine default/blue-x: version v1.36.0
   +1h6m  rotate  MachineDeployment default/blue-web-t9k2l:
                  DevMachineTemplate blue-web-t9k2l-5x2vq → blue-web-t9k2l-p7zcm

Done after 12m5s. Machines: 3 created, 3 deleted, 0 updated in place. At most 1
more than wanted at a time; at least 52 of 53 available.

It waits for:
  4m10s   2 MachineSets: the control plane is upgrading

Note: extensions are not called
";
    assert_eq!(text(&plan()), expected);
}

#[test]
fn what_does_not_end_says_what_it_waits_for() {
    let remaining =
        Remaining { object: "Cluster default/blue".to_owned(), causes: vec!["it is paused".to_owned()] };
    let plan = Plan { ending: Ending::Unfinished, remaining: vec![remaining], ..plan() };
    let text = text(&plan);
    assert!(text.contains("\nNot done after 12m5s."), "{text}");
    assert!(
        text.contains("\nAt the end, these still wait:\n  Cluster default/blue\n    it is paused\n"),
        "{text}"
    );
}

#[test]
fn nothing_to_do_is_said_in_words() {
    let plan = Plan { ending: Ending::NothingToDo, actions: Vec::new(), waits: Vec::new(), ..plan() };
    assert!(text(&plan).contains("\nNothing to do: "));
}
