//! Programs in containers: their streams and their exit codes.

use std::time::Duration;

use serde_json::json;
use system_containers::{Exit, Runtime, run};

use crate::nodes_docker::fixture::Fixture;

const LIMIT: Duration = Duration::from_secs(20);

#[tokio::test]
async fn streams_are_kept_apart_and_the_exit_code_is_that_of_the_program() {
    let fixture = Fixture::new().await;
    fixture.node("c-1").await;
    {
        let mut state = fixture.daemon.state.lock();
        state.program = "1:out\n2:bad\n1:put".to_owned();
        (state.code, state.late) = (3, 2);
    }
    let ran = run(fixture.docker.as_ref(), "c-1", &["crictl", "ps"], b"", LIMIT).await.unwrap();
    assert_eq!(ran.exit, Exit::Code(3), "not before the daemon knows it");
    assert_eq!((ran.stdout.as_slice(), ran.stderr.as_slice()), (&b"output"[..], &b"bad"[..]));
    let asked = fixture.daemon.last("POST", "/containers/c-1/exec").json();
    assert_eq!(asked["Cmd"], json!(["timeout", "-s", "KILL", "20", "crictl", "ps"]));
    let fields = ["Privileged", "User", "WorkingDir", "Tty"].map(|field| asked[field].clone());
    assert_eq!(fields, [json!(true), json!("0"), json!("/"), json!(false)]);
}

#[tokio::test]
async fn a_program_reads_to_the_end_of_its_input() {
    let fixture = Fixture::new().await;
    fixture.node("c-1").await;
    fixture.daemon.state.lock().program = "echo".to_owned();
    let input = vec![b'x'; 3 << 20];
    let ran = run(fixture.docker.as_ref(), "c-1", &["cat"], &input, LIMIT).await.unwrap();
    assert_eq!((ran.exit, ran.stdout.len()), (Exit::Code(0), input.len()));
}

#[tokio::test]
async fn a_program_that_takes_too_long_is_given_up() {
    let fixture = Fixture::new().await;
    fixture.node("c-1").await;
    fixture.daemon.state.lock().program = "long".to_owned();
    let short = Duration::from_millis(1100);
    let ran = run(fixture.docker.as_ref(), "c-1", &["sleep", "60"], b"", short).await.unwrap();
    assert_eq!(ran.exit, Exit::TimedOut);
    let asked = fixture.daemon.last("POST", "/containers/c-1/exec").json();
    assert_eq!(asked["Cmd"][3], "2", "its container ends it");
}

#[tokio::test]
async fn what_the_daemon_says_is_an_error() {
    let fixture = Fixture::new().await;
    fixture.node("c-1").await;
    for (program, expected) in [
        ("3:the container has ended", "the container has ended"),
        ("half", "ended within its output"),
        ("9:x", "unknown kind 9"),
    ] {
        fixture.daemon.state.lock().program = program.to_owned();
        let error = run(fixture.docker.as_ref(), "c-1", &["true"], b"", LIMIT).await.unwrap_err();
        let error = format!("{error:#}");
        assert!(error.contains("c-1") && error.contains(expected), "{program}: {error}");
    }
    fixture.docker.kill("c-1").await.unwrap();
    let error = run(fixture.docker.as_ref(), "c-1", &["true"], b"", LIMIT).await.unwrap_err();
    assert!(format!("{error:#}").contains("is not running"), "{error:#}");
}
