//! Outcomes read back, and their messages.

use node_bootstrap::{At, Outcome, Output, Report};

fn output(life: &str, journal: &str, stdout: &str, stderr: &str) -> Vec<u8> {
    let section = |name: &str, text: &str| format!("{name} {}\n{text}\n", text.len());
    let sections = [("journal", journal), ("warnings", ""), ("stdout", stdout), ("stderr", stderr)];
    let body: String = sections.iter().map(|(name, text)| section(name, text)).collect();
    format!("runner {life} 3\n{body}").into_bytes()
}

fn outcome(life: &str, journal: &str) -> Outcome {
    Report::parse(&output(life, journal, "", "")).unwrap().outcome
}

fn at(step: usize, what: &str) -> At {
    At { step, of: 3, what: what.to_owned() }
}

#[test]
fn journals_are_followed() {
    let failed =
        |step, what: &str, code| Outcome::Failed { at: at(step, what), code, output: Output::default() };
    let timed_out = |step, what: &str| Outcome::TimedOut { at: at(step, what), output: Output::default() };
    let cases = [
        ("alive", "", Outcome::Running(at(0, "start"))),
        ("dead", "", Outcome::Interrupted(at(0, "start"))),
        ("alive", "begin 1 a b\n", Outcome::Running(at(1, "a b"))),
        ("dead", "begin 1 a\nend 1 0\n", Outcome::Interrupted(at(1, "a"))),
        ("dead", "begin 1 a\nend 1 0\nbegin 2 b\n", Outcome::Interrupted(at(2, "b"))),
        // A line without its end was never complete.
        ("dead", "begin 1 a\nend 1 0\nbegin 2 b\nend 2 0\ndone", Outcome::Interrupted(at(2, "b"))),
        ("dead", "begin 1 a\nend 1 7\n", failed(1, "a", 7)),
        ("alive", "begin 1 a\nend 1 7\n", failed(1, "a", 7)),
        ("dead", "begin 1 a\nend 1 what\n", failed(1, "a", -1)),
        ("dead", "begin 1 a\ntimeout 1\n", timed_out(1, "a")),
        ("dead", "begin 1 a\nend 1 0\ndone\n", Outcome::Completed),
        ("alive", "begin 1 a\nend 1 0\ndone\n", Outcome::Completed),
    ];
    for (life, journal, expected) in cases {
        assert_eq!(outcome(life, journal), expected, "{life} {journal:?}");
    }
    assert_eq!(Report::parse(b"runner none 0\n").unwrap().outcome, Outcome::NotStarted);
}

#[test]
fn an_output_that_is_cut_is_no_outcome() {
    let whole = output("dead", "begin 1 a\nend 1 0\ndone\n", "out\n", "");
    for cut in 0..whole.len() {
        assert!(Report::parse(&whole[..cut]).is_err(), "{cut}");
    }
    assert!(Report::parse(b"sh: not found\n").is_err());
}

fn lines(from: usize, to: usize) -> Vec<String> {
    (from..=to).map(|line| format!("line {line}")).collect()
}

#[test]
fn the_last_lines_are_shown() {
    let many: String = lines(1, 30).iter().map(|line| format!("{line}\n")).collect();
    let report = Report::parse(&output("dead", "begin 2 cmd\nend 2 3\n", &many, &many)).unwrap();
    let Outcome::Failed { output, .. } = &report.outcome else { panic!("{report:?}") };
    assert_eq!(output.stdout, lines(21, 30));
    assert_eq!(output.stderr, lines(26, 30));
    let bytes =
        b"runner dead 1\njournal 18\nbegin 1 a\nend 1 1\n\nwarnings 0\n\nstdout 3\n\xff\xfe\n\nstderr 0\n\n";
    let Outcome::Failed { output, .. } = Report::parse(bytes).unwrap().outcome else { panic!("it failed") };
    assert_eq!(output.stdout, ["\u{fffd}\u{fffd}"]);
}

#[test]
fn messages_have_the_cause_in_their_first_line() {
    let text = |text: &str| vec![text.to_owned()];
    let cases = [
        (Outcome::Running(at(2, "/bin/true")), "Running bootstrap command [ /bin/true ] (2 of 3)"),
        (Outcome::Completed, ""),
        (
            Outcome::Failed {
                at: at(2, "echo some output; echo some trouble >&2; exit 3"),
                code: 3,
                output: Output { stdout: text("some output"), stderr: text("some trouble") },
            },
            "Bootstrap failed at command [ echo some output; echo some trouble >&2; exit 3 ] (2 of 3): exited with status: \
             3: some trouble\nSTDOUT: some output\nSTDERR: some trouble",
        ),
        (
            Outcome::Failed {
                at: at(1, "x"),
                code: 1,
                output: Output { stdout: Vec::new(), stderr: lines(1, 2) },
            },
            "Bootstrap failed at command [ x ] (1 of 3): exited with status: 1: line 2\nSTDOUT: \nSTDERR: \n  * line 1\n  * line 2",
        ),
        (
            Outcome::TimedOut { at: at(3, "sleep 40"), output: Output::default() },
            "Bootstrap failed at command [ sleep 40 ] (3 of 3): operation cancelled: context deadline exceeded\nSTDOUT: \n\
             STDERR: ",
        ),
        (
            Outcome::Interrupted(at(2, "kubeadm join")),
            "Bootstrap failed at command [ kubeadm join ] (2 of 3): interrupted: the node or the bootstrap in it was \
             stopped, and no step is taken twice. Delete the Machine, so that another takes its place",
        ),
        (
            Outcome::Overdue(Some(at(2, "kubeadm join"))),
            "Bootstrap failed at command [ kubeadm join ] (2 of 3): the node has not ended it when its time was over, and was \
             not waited for. Delete the Machine, so that another takes its place",
        ),
        (
            Outcome::Overdue(None),
            "Bootstrap failed: the node has not said how far it is when its time was over, and was not waited for. Delete \
             the Machine, so that another takes its place",
        ),
    ];
    for (outcome, expected) in cases {
        assert_eq!(outcome.message(), expected);
    }
}

#[test]
fn tokens_and_keys_are_hidden() {
    let key = "0123456789abcdef".repeat(4);
    let stdout = format!(
        "kubeadm join 10.0.0.1:6443 --token abcdef.0123456789abcdef --discovery-token-ca-cert-hash sha256:{key} \
         --certificate-key {key}\n"
    );
    let journal = "begin 1 kubeadm join --token=abcdef.0123456789abcdef.\nend 1 1\n";
    let report = Report::parse(&output("dead", journal, &stdout, "it is abcdef.0123456789abcdef\n")).unwrap();
    let message = report.outcome.message();
    assert!(!message.contains("0123456789abcdef\n") && !message.contains("abcdef.0"), "{message}");
    assert!(message.contains(&format!("sha256:{key} --certificate-key <key>")), "{message}");
    assert!(message.contains("STDERR: it is <token>"), "{message}");
}
