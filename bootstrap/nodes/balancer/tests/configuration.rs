//! The configuration: written, used while connections go on, and refused.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use system_containers::balancer::Configuration;

use crate::nodes_balancer::fixture::{Api, Fixture, of};

#[tokio::test]
async fn connections_go_on_over_changes_of_the_configuration() {
    let (one, two) = (Api::new("one").await, Api::new("two").await);
    let fixture = Fixture::new(&[&one], 100).await;
    fixture.until_healthy(1).await;
    let (mut first, _) = fixture.served().await;
    let status = fixture.configure(vec![one.server(), two.server()]).await;
    assert_eq!(of(&status, "one").connections, 1, "what is known of a server stays");
    fixture.until_healthy(2).await;
    let (mut second, name) = fixture.served().await;
    assert_eq!(name, "two");
    fixture.configure(vec![one.draining(), two.server()]).await;
    assert_eq!(first.ask("still").await.unwrap(), "still");
    fixture.configure(vec![two.server()]).await;
    assert_eq!(first.ask("still").await.unwrap(), "still", "its server is not in the configuration any more");
    assert_eq!(second.ask("still").await.unwrap(), "still");
    assert_eq!(fixture.status().await.connections, 2);
    for _ in 0..3 {
        assert_eq!(fixture.served().await.1, "two");
    }
}

#[tokio::test]
async fn a_configuration_that_cannot_be_used_leaves_the_last_one() {
    let one = Api::new("one").await;
    let fixture = Fixture::new(&[&one], 100).await;
    fixture.until_healthy(1).await;
    let before = fixture.status().await.configuration;
    let port = fixture.port;
    let most = usize::try_from(node_balancer::limits::CONFIGURATION).unwrap();
    for (text, expected) in [
        ("", "EOF while parsing"),
        ("{\"port\": 1, \"servers\": [", "EOF while parsing"),
        ("\u{0}\u{1}\u{2}", "expected value"),
        ("{\"port\": 70000, \"servers\": []}", "70000"),
        ("{\"port\": 0, \"servers\": []}", "port: 0 is no port"),
        ("{\"port\": 1}", "missing field `servers`"),
        (
            &format!(
                "{{\"port\": {port}, \"servers\": [{{\"name\": \"a\", \"address\": \"::1\", \"port\": 1}}]}}"
            ),
            "IPv4",
        ),
        (&" ".repeat(most + 1), "has more than 262144 bytes"),
    ] {
        // As a writer does that knows no better: not at once.
        fs::write(fixture.file(), text).unwrap();
        let status = fixture.status().await;
        assert_eq!(status.configuration, before);
        assert!(
            status.error.as_ref().is_some_and(|error| error.contains(expected)),
            "{status:?} / {expected}"
        );
        assert_eq!(fixture.served().await.1, "one");
    }
    fs::remove_file(fixture.file()).unwrap();
    assert!(fixture.status().await.error.is_some_and(|error| error.contains("No such file")));
    assert_eq!(fixture.served().await.1, "one");
    let status = fixture.configure(vec![one.server()]).await;
    assert_eq!(status.error, None);
    let padded = format!("{}{}", fs::read_to_string(fixture.file()).unwrap(), " ".repeat(1000));
    fs::write(fixture.file(), format!("{padded}{}", " ".repeat(most - padded.len()))).unwrap();
    assert_eq!(fixture.status().await.error, None, "as large as it may be");
}

#[tokio::test]
async fn a_change_is_seen_without_a_question() {
    let one = Api::new("one").await;
    let fixture = Fixture::with(Vec::new(), 100).await;
    node_balancer::write(
        fixture.folder.path(),
        &Configuration { port: fixture.port, servers: vec![one.server()] },
    )
    .unwrap();
    assert_eq!(fixture.served().await.1, "one");
}

#[tokio::test]
async fn the_port_changes_unless_somebody_has_it() {
    let one = Api::new("one").await;
    let mut fixture = Fixture::new(&[&one], 100).await;
    let (mut before, _) = fixture.served().await;
    let first = fixture.port;
    let taken = Configuration { port: one.server().port, servers: Vec::new() };
    node_balancer::write(fixture.folder.path(), &taken).unwrap();
    let status = fixture.status().await;
    assert!(
        status
            .error
            .is_some_and(|error| error.contains(&format!("port: cannot listen on port {}", taken.port)))
    );
    assert_eq!(fixture.served().await.1, "one");
    let other = Api::stopped("other").await.server().port;
    fixture.port = other;
    fixture.configure(vec![one.server()]).await;
    assert_eq!(fixture.served().await.1, "one");
    assert_eq!(before.ask("still").await.unwrap(), "still");
    fixture.port = first;
    fixture.configure(vec![one.server()]).await;
    assert_eq!(fixture.served().await.1, "one");
}

#[tokio::test]
async fn a_configuration_is_written_once_and_can_be_read_by_everybody_inside() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("x".repeat(100)).join("y".repeat(100));
    let mut configuration = Configuration { port: 6443, servers: Vec::new() };
    let is_new = std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            // Otherwise the mask is that of all threads, and so of other tests.
            nix::sched::unshare(nix::sched::CloneFlags::CLONE_FS).unwrap();
            rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
            node_balancer::write(&folder, &configuration).unwrap()
        });
        writing.join().unwrap()
    });
    assert!(is_new);
    let file = folder.join("configuration/balancer.json");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(
        (mode(&file), mode(&folder.join("configuration")), mode(&folder.join("status"))),
        (0o644, 0o755, 0o700)
    );
    let number = fs::metadata(&file).unwrap().ino();
    assert!(!node_balancer::write(&folder, &configuration).unwrap());
    assert_eq!(fs::metadata(&file).unwrap().ino(), number);
    configuration.port = 0;
    assert!(node_balancer::write(&folder, &configuration).is_err());
    // The path of the socket is longer than the address of a socket may be.
    let refused = format!("{:#}", node_balancer::read_status(&folder).await.unwrap_err());
    assert!(refused.contains("the balancer does not run: No such file"), "{refused}");
}
