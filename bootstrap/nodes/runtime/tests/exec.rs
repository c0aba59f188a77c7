//! Programs in a container.

use crate::fixture::{Fixture, text, wait_for};

#[test]
fn exit_codes_are_those_of_shells() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.create_and_start("one");
    for (command, code, words) in [
        (&["true"][..], 0, ""),
        (&["sh", "-c", "exit 3"], 3, ""),
        (&["sh", "-c", "kill -9 $$"], 137, ""),
        (&["sh", "-c", "echo word >&2; exit 1"], 1, "word\n"),
        (&["no-such-program"], 127, "cannot run no-such-program"),
        (&["/etc/hostname"], 126, "cannot run /etc/hostname"),
    ] {
        let output = fixture.server(&[&["exec", "one", "20000"], command].concat(), b"");
        assert_eq!(output.status.code(), Some(code), "{command:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).starts_with(words), "{command:?}: {}", text(&output.stderr));
        assert_eq!(text(&output.stdout), "");
    }
}

#[test]
fn input_and_output_are_whole_however_large() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.create_and_start("one");
    let input: Vec<u8> = (0..5_000_000_u32).map(|number| number.to_le_bytes()[0]).collect();
    let output = fixture.server(&["exec", "one", "30000", "cat"], &input);
    assert!(output.status.success() && output.stdout == input);
    // A program that does not read its input.
    let output = fixture.server(&["exec", "one", "30000", "sh", "-c", "echo out; echo err >&2"], &input);
    assert_eq!((text(&output.stdout), text(&output.stderr)), ("out\n".to_owned(), "err\n".to_owned()));
    // Both streams at once.
    let line = "head -c 3000000 /dev/zero; head -c 2000000 /dev/zero >&2";
    let output = fixture.server(&["exec", "one", "30000", "sh", "-c", line], b"");
    assert_eq!((output.stdout.len(), output.stderr.len()), (3_000_000, 2_000_000));
}

#[test]
fn the_last_output_is_not_lost_when_the_program_ends() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.create_and_start("one");
    // On a busy machine, a server may hear of the end before it hears of the output.
    let once = || {
        let output =
            fixture.server(&["exec", "one", "20000", "sh", "-c", "echo out; echo err >&2; echo last"], b"");
        assert_eq!(
            (text(&output.stdout), text(&output.stderr)),
            ("out\nlast\n".to_owned(), "err\n".to_owned())
        );
    };
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..40).for_each(|_| once()));
        }
    });
}

#[test]
fn a_process_that_stays_delays_nobody() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.create_and_start("one");
    assert_eq!(fixture.shell("one", "sleep 1000 & echo done"), "done\n");
    assert_eq!(fixture.shell("one", "pidof sleep | wc -w"), "2\n", "it stays, beside that of the init");
}

/// Counts the processes in a container.
fn count(fixture: &Fixture, pattern: &str) -> usize {
    fixture.shell("one", &format!("ps | grep -c '{pattern}' || true")).trim().parse().unwrap()
}

#[test]
fn after_its_time_the_whole_group_is_ended() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.create_and_start("one");
    let output = fixture
        .server(&["exec", "one", "300", "sh", "-c", "echo begun; /bin/sleep 5000 & /bin/sleep 5000"], b"");
    assert_eq!(count(&fixture, "[/]sbin/init"), 1, "it counts");
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(124), "begun\nTIMED OUT\n".to_owned()));
    wait_for("the end of the group", || count(&fixture, "[/]bin/sleep 5000") == 0);
}

#[test]
fn a_program_in_a_container_that_is_paused_meanwhile_delays_nobody() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.create_and_start("one");
    std::thread::scope(|scope| {
        let exec = scope.spawn(|| fixture.server(&["exec", "one", "1000", "/bin/sleep", "7000"], b""));
        wait_for("the program", || count(&fixture, "[/]bin/sleep 7000") == 1);
        fixture.ask(&["pause", "one"], b"");
        assert_eq!(exec.join().unwrap().status.code(), Some(124));
    });
    fixture.ask(&["resume", "one"], b"");
    wait_for("its end", || count(&fixture, "[/]bin/sleep 7000") == 0);
}

#[test]
fn a_program_ends_with_the_server_that_has_started_it() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.create_and_start("one");
    let data = fixture.data();
    let program = env!("CARGO_BIN_EXE_node-runtime-try");
    let arguments =
        [data.to_str().unwrap(), "exec", "one", "100000", "sh", "-c", "/bin/sleep 6000 & /bin/sleep 6000"];
    // The program becomes the server itself.
    let mut server = fixture.command(program, &arguments).stdin(std::process::Stdio::null()).spawn().unwrap();
    let running = || count(&fixture, "[/]bin/sleep 6000");
    wait_for("the program", || running() == 2);
    server.kill().unwrap();
    server.wait().unwrap();
    wait_for("its end", || running() == 0);
    assert_eq!(fixture.state("one"), "running");
}
