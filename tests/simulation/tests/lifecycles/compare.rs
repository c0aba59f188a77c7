//! Tests of `simulation::lifecycles::compare`.

use std::collections::BTreeMap;
use std::time::Duration;

use simulation::lifecycles::compare::{Missing, general, missing};
use simulation::lifecycles::facts::{Fact, Facts};
use simulation::lifecycles::recording::Line;

#[test]
fn names_become_general() {
    let text = "plain-md-469gt: plain-md-469gt-292pf, plain-md, plain-md-workers, {\"plain-cp-x9bj5\"}, demo-q2j2p, demo-md-0-469z7-gnv68-abcde, demo-shim";
    let expected = "plain-md-<suffix>: plain-md-<suffix>-<suffix>, plain-md, plain-md-workers, {\"plain-cp-<suffix>\"}, \
        demo-<suffix>, demo-md-0-<suffix>-<suffix>-<suffix>, demo-shim";
    assert_eq!(general(text), expected);
}

#[test]
fn what_is_missing_or_late() {
    let lines = |all: &[(u64, &str)]| -> Vec<Line> {
        all.iter()
            .map(|(after, text)| Line { after: Duration::from_secs(*after), text: (*text).to_owned() })
            .collect()
    };
    let recorded = lines(&[
        (1, "Machine demo-q2j2p created"),
        (2, "Machine demo-abcde created"),
        (3, "Cluster demo Deleting=True Waiting: for one"),
        (4, "Cluster demo phase=Deleting"),
        (5, "Cluster demo replicas=3"),
        (6, "Cluster demo Paused=False NotPaused"),
    ]);
    let here =
        lines(&[(1, "Machine demo-fghij created"), (4, "Cluster demo Deleting=True Waiting: for two")]);
    let paused = Fact { value: "False NotPaused".to_owned(), message: String::new() };
    let begun = BTreeMap::from([(
        ("Cluster".to_owned(), "demo".to_owned()),
        Facts::from([("Paused".to_owned(), paused)]),
    )]);
    let seconds = Duration::from_secs;
    let expected = [
        ("Machine demo-<suffix> created", 2, None),
        ("Cluster demo Deleting=True Waiting", 3, Some(4)),
        ("Cluster demo phase=Deleting", 4, None),
    ];
    let expected = expected.map(|(text, there, here)| Missing {
        text: text.to_owned(),
        there: seconds(there),
        here: here.map(seconds),
    });
    assert_eq!(missing(&recorded, &here, &begun), expected);
}
