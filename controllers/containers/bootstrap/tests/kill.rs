//! Scripts that are killed, or run twice.

use std::fs;
use std::process::{Child, Command as Process};

use node_bootstrap::{At, Outcome, Step};

use crate::containers_bootstrap::node::{LONG, Node, bootstrap, file, shell};

const STEPS: usize = 5;

/// A step that notes its number, and in which the script can be held: it opens a pipe and waits for its end.
fn held(node: &Node, number: usize, hold: bool) -> Step {
    let (log, pipe) = (node.path("/log"), node.path("/pipe"));
    let wait = if hold { format!("; cat {}", pipe.display()) } else { String::new() };
    shell(&format!("echo {number} >>{}{wait}", log.display()))
}

fn pipe(node: &Node) {
    assert!(Process::new("mkfifo").arg(node.path("/pipe")).status().unwrap().success());
}

/// Waits until a step has opened the pipe, and returns its other end.
fn reached(node: &Node) -> fs::File {
    fs::OpenOptions::new().write(true).open(node.path("/pipe")).unwrap()
}

fn kill(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn killed_in_any_step_it_is_interrupted_there() {
    for number in 1..=STEPS {
        let node = Node::new();
        pipe(&node);
        let steps: Vec<Step> = (1..=STEPS).map(|step| held(&node, step, step == number)).collect();
        let what = steps[number - 1].what.clone();
        let at = At { step: number, of: STEPS, what };
        node.deliver(&bootstrap(steps.clone()), LONG);
        let mut child = node.start();
        let held = reached(&node);
        assert_eq!(node.report().outcome, Outcome::Running(at.clone()));
        // A second start while it runs ends at once.
        assert_eq!(node.start().wait().unwrap().code(), Some(75));
        assert_eq!(node.report().outcome, Outcome::Running(at.clone()));
        kill(&mut child);
        assert_eq!(node.report().outcome, Outcome::Interrupted(at.clone()));
        // The command goes on to its end, and nothing follows.
        drop(held);
        assert_ne!(node.run(&bootstrap(steps), LONG), Some(0));
        assert_eq!(node.report().outcome, Outcome::Interrupted(at));
        let expected: String = (1..=number).map(|step| format!("{step}\n")).collect();
        assert_eq!(String::from_utf8_lossy(&node.read("/log")), expected);
    }
}

#[test]
fn killed_at_any_moment_no_step_runs_twice_and_nothing_is_completed() {
    let random = machinery::random::Random::seeded(37);
    let mut interrupted = 0;
    for round in 0..30 {
        let node = Node::new();
        let log = node.path("/log");
        let steps: Vec<Step> = (1..=20)
            .map(|step| match step % 2 {
                0 => file(&format!("/files/{step}"), b"content"),
                _ => shell(&format!("echo {step} >>{}", log.display())),
            })
            .collect();
        node.deliver(&bootstrap(steps.clone()), LONG);
        let journal = node.state().join("journal");
        let length = random.number() % 700;
        let mut child = node.start();
        // The moment is a length of the journal, or the end.
        while child.try_wait().unwrap().is_none() {
            if fs::metadata(&journal).is_ok_and(|metadata| metadata.len() >= length) {
                break;
            }
        }
        kill(&mut child);
        let before = node.report().outcome;
        let last = match &before {
            Outcome::Interrupted(at) => {
                interrupted += 1;
                at.step
            }
            Outcome::Completed => steps.len(),
            other => panic!("round {round}: {other:?}"),
        };
        // The last command may still be on its way to the log.
        let after = |node: &Node| String::from_utf8(node.read("/log")).unwrap();
        if node.run(&bootstrap(steps), LONG) == Some(0) {
            // Killed before its claim: nothing had begun, and now all has run.
            assert_eq!(last, 0, "round {round}");
            assert_eq!(node.report().outcome, Outcome::Completed);
            continue;
        }
        assert_eq!(node.report().outcome, before, "round {round}");
        let noted: Vec<usize> = after(&node).lines().map(|line| line.parse().unwrap()).collect();
        let complete: Vec<usize> = (1..last).filter(|step| step % 2 == 1).collect();
        assert!(noted.starts_with(&complete), "round {round}: {noted:?} {last}");
        assert!(noted.iter().all(|step| *step <= last), "round {round}: {noted:?} {last}");
        let mut once = noted.clone();
        once.dedup();
        assert_eq!(once, noted, "round {round}");
        for step in (2..last).step_by(2) {
            assert_eq!(node.read(&format!("/files/{step}")), b"content", "round {round}");
        }
    }
    assert!(interrupted > 10, "{interrupted}");
}

#[test]
fn of_many_starts_one_runs() {
    let node = Node::new();
    let steps = (1..=3).map(|step| held(&node, step, false)).collect();
    node.deliver(&bootstrap(steps), LONG);
    let children: Vec<Child> = (0..8).map(|_| node.start()).collect();
    let codes: Vec<Option<i32>> =
        children.into_iter().map(|mut child| child.wait().unwrap().code()).collect();
    assert_eq!(codes.iter().filter(|code| **code == Some(0)).count(), 1, "{codes:?}");
    assert_eq!(String::from_utf8_lossy(&node.read("/log")), "1\n2\n3\n");
    assert_eq!(node.report().outcome, Outcome::Completed);
    let leftover = |name: &str| name.starts_with("runner.") || name.starts_with("script");
    let names = fs::read_dir(node.state()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.into_iter().all(|name| !leftover(&name.to_string_lossy())));
}

#[test]
fn another_process_of_the_number_is_not_the_script() {
    let node = Node::new();
    pipe(&node);
    node.deliver(&bootstrap(vec![held(&node, 1, true)]), LONG);
    let mut child = node.start();
    let held = reached(&node);
    let runner = node.state().join("runner");
    let text = fs::read_to_string(&runner).unwrap();
    let words: Vec<&str> = text.split_whitespace().collect();
    let [pid, start, boot, total] = words.as_slice() else { panic!("{text}") };
    let cases = [
        (format!("{pid} {start} {boot} {total}\n"), true),
        (format!("{pid} 1 {boot} {total}\n"), false),
        // A machine that was started again.
        (format!("{pid} {start} other {total}\n"), false),
        (format!("999999999 {start} {boot} {total}\n"), false),
        (String::new(), false),
    ];
    for (text, alive) in cases {
        fs::write(&runner, &text).unwrap();
        let outcome = node.report().outcome;
        assert_eq!(matches!(outcome, Outcome::Running(_)), alive, "{text}: {outcome:?}");
        assert_eq!(matches!(outcome, Outcome::Interrupted(_)), !alive, "{text}: {outcome:?}");
    }
    drop(held);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// Its state is a pipe that nobody reads, so that it waits for ever before the next step.
#[test]
fn one_that_never_notices_its_time_is_killed_with_its_commands() {
    let node = Node::new();
    pipe(&node);
    let log = node.path("/log").display().to_string();
    let journal = node.state().join("journal").display().to_string();
    let steps = vec![
        shell(&format!(
            "sleep 1000 & echo $! >{log}; rm {journal}; mkfifo {journal}; exec cat {}",
            node.path("/pipe").display()
        )),
        shell("true"),
    ];
    node.deliver(&bootstrap(steps), LONG);
    let mut child = node.start_in_session();
    drop(reached(&node));
    // It opens the journal, and nobody else does.
    assert_eq!(node.report().outcome, Outcome::Running(At { step: 0, of: 2, what: "start".to_owned() }));
    node.end();
    assert!(!child.wait().unwrap().success());
    let background = String::from_utf8(node.read("/log")).unwrap();
    assert!(!super::run::lives(&background));
    assert!(matches!(node.report().outcome, Outcome::Interrupted(_)), "{:?}", node.report());
    node.end();
}

#[test]
fn it_goes_on_when_its_starter_has_gone() {
    let node = Node::new();
    pipe(&node);
    node.deliver(&bootstrap(vec![held(&node, 1, true), held(&node, 2, false)]), LONG);
    let mut child = node.start();
    let held = reached(&node);
    // What a terminal sends when it closes, and when somebody presses Ctrl-C.
    for signal in ["HUP", "INT"] {
        let id = child.id().to_string();
        assert!(Process::new("kill").args(["-s", signal, &id]).status().unwrap().success());
    }
    drop(held);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(node.report().outcome, Outcome::Completed);
    assert_eq!(String::from_utf8_lossy(&node.read("/log")), "1\n2\n");
}
