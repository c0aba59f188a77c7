//! Tests of `simulation::lifecycles::recording`.

use std::time::Duration;

use simulation::lifecycles::recording::parse;

#[test]
fn steps_add_up() {
    let text = "# About.\n== one: begins\nMachine a created\nMachine a phase=Pending\nMachine a Ready=False NotReady\n\
        rest Machine a Ready=False NotReady: x\\ny\n== two\nMachine b created\nMachine a Ready removed\nMachine b gone";
    let steps = parse(text).unwrap();
    assert_eq!(steps[0].name, "one: begins");
    assert_eq!(steps[0].lines.len(), 3);
    let a = ("Machine".to_owned(), "a".to_owned());
    let ready = &steps[0].rest[&a]["Ready"];
    assert_eq!((ready.value.as_str(), ready.message.as_str()), ("False NotReady", "x\ny"));
    assert_eq!(steps[1].rest.len(), 1);
    assert_eq!(steps[1].rest[&a].len(), 1);
    assert!(parse("== s\nMachine").is_err());
}

#[test]
fn requests_and_times() {
    let text = "== one\nat 0.50 {\"verb\": \"DELETE\"}\n1.25 Machine a created\nMachine b created";
    let step = parse(text).unwrap().remove(0);
    assert_eq!(step.requests[0].after, Duration::from_millis(500));
    assert_eq!(step.requests[0].content["verb"], "DELETE");
    let lines: Vec<_> = step.lines.iter().map(|line| (line.after, line.text.as_str())).collect();
    let expected =
        [(Duration::from_millis(1250), "Machine a created"), (Duration::ZERO, "Machine b created")];
    assert_eq!(lines, expected);
    assert!(parse("== s\nat 1 nonsense").is_err());
}
