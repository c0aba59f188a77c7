//! What an interrupted pivot tells of the pause that it leaves.

use firstlight::commands::interruption::left_behind;
use pivot::journal::{Before, Header, Record, State};
use pivot::object::Key;
use serde_json::Value;

fn started(target: &str) -> State {
    let mut state = State::default();
    state.take(Record::Started(Header {
        id: "one".into(),
        source: "here".into(),
        target: target.into(),
        target_name: String::new(),
        namespace: String::new(),
        keep_source: false,
    }));
    state
}

fn before(name: &str, paused: Value) -> Before {
    let object = Key {
        group: "cluster.x-k8s.io".into(),
        kind: "Cluster".into(),
        namespace: "mv".into(),
        name: name.into(),
    };
    Before { object, paused, managed_fields: Value::Null }
}

#[test]
fn what_is_paused_is_named_with_the_way_on() {
    assert_eq!(left_behind(&State::default()), None);
    let mut state = started("there");
    let nothing = "Interrupted. Nothing is paused at the source.\nFinish it with the same command and --resume, or undo \
                   it with --roll-back.";
    assert_eq!(left_behind(&state).as_deref(), Some(nothing));

    let all = vec![before("a", Value::Null), before("b", Value::from(true)), before("c", Value::from(false))];
    state.take(Record::Pausing(all.clone()));
    let paused = "Interrupted. Paused at the source, so that nobody reconciles them: Cluster mv/a, Cluster mv/c.\nFinish \
                  it with the same command and --resume, or undo it with --roll-back.";
    assert_eq!(left_behind(&state).as_deref(), Some(paused));
    state.take(Record::RollingBack);
    assert!(left_behind(&state).unwrap().ends_with("\nUndo it with the same command and --roll-back."));
    state.take(Record::RolledBack);
    assert_eq!(left_behind(&state), None);

    let mut saving = started("directory /tmp/a");
    saving.take(Record::Pausing(all));
    assert!(left_behind(&saving).unwrap().ends_with("\nUndo it with the same command and --roll-back."));
}

#[test]
fn many_are_counted() {
    let mut state = started("there");
    state.take(Record::Pausing((10..22).map(|number| before(&number.to_string(), Value::Null)).collect()));
    let told = left_behind(&state).unwrap();
    assert!(told.contains("Cluster mv/19 and 2 more."), "{told}");
}
