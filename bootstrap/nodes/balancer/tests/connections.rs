//! Connections: forwarded, distributed, counted, and ended.

use std::collections::BTreeMap;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::nodes_balancer::fixture::{Api, Fixture, of, within};

#[tokio::test]
async fn both_directions_are_forwarded_and_end_for_themselves() {
    let one = Api::new("one").await;
    let fixture = Fixture::new(&[&one], 10).await;
    let (mut client, name) = fixture.served().await;
    assert_eq!(name, "one");
    assert_eq!(client.ask("hello").await.unwrap(), "hello");
    let count = 5_000_000;
    client.0.write_all(format!("send {count}\n").as_bytes()).await.unwrap();
    // The client has nothing more to say, and the answer arrives whole.
    client.0.shutdown().await.unwrap();
    let mut answer = Vec::new();
    within(client.0.read_to_end(&mut answer)).await.unwrap();
    assert_eq!(answer.len(), count + "bye".len());
    assert!(answer.ends_with(b"xbye"));
    fixture.until("the end of the connection", |status| status.connections == 0).await;
}

#[tokio::test]
async fn a_client_that_ends_is_seen_by_its_server() {
    let one = Api::new("one").await;
    let fixture = Fixture::new(&[&one], 10).await;
    let (client, _) = fixture.served().await;
    assert_eq!(of(&fixture.status().await, "one").connections, 1);
    drop(client);
    fixture.until("the end", |status| status.connections == 0 && of(status, "one").connections == 0).await;
}

#[tokio::test]
async fn the_server_with_the_fewest_connections_is_next() {
    let (one, two, three) = (Api::new("one").await, Api::new("two").await, Api::new("three").await);
    let fixture = Fixture::new(&[&one, &two, &three], 100).await;
    fixture.until_healthy(3).await;
    let mut clients = Vec::new();
    let mut counts = BTreeMap::<String, usize>::new();
    for _ in 0..12 {
        let (client, name) = fixture.served().await;
        clients.push(client);
        *counts.entry(name).or_default() += 1;
    }
    assert!(counts.len() == 3 && counts.values().all(|count| *count == 4), "{counts:?}");
}

#[tokio::test]
async fn a_server_that_drains_gets_connections_only_if_no_other_takes_them() {
    let (old, new) = (Api::new("old").await, Api::new("new").await);
    let fixture = Fixture::with(vec![old.draining(), new.server()], 100).await;
    fixture.until_healthy(2).await;
    let mut kept = Vec::new();
    for _ in 0..5 {
        let (client, name) = fixture.served().await;
        assert_eq!(name, "new");
        kept.push(client);
    }
    new.stop().await;
    assert_eq!(fixture.served().await.1, "old");
    fixture.configure(vec![old.draining()]).await;
    assert_eq!(fixture.served().await.1, "old");
}

#[tokio::test]
async fn connections_beyond_the_limit_wait_until_one_ends() {
    let one = Api::new("one").await;
    let fixture = Fixture::new(&[&one], 4).await;
    fixture.until_healthy(1).await;
    let mut clients = Vec::new();
    for number in 1..=4 {
        let mut client = fixture.connect_from(number).await;
        assert_eq!(client.ask("name").await.unwrap(), "one");
        clients.push(client);
    }
    let mut waiting = fixture.connect_from(5).await;
    waiting.0.write_all(b"name\n").await.unwrap();
    // The others still have their server.
    for client in &mut clients {
        assert_eq!(client.ask("still").await.unwrap(), "still");
    }
    let status = fixture.status().await;
    assert_eq!((status.connections, status.most_connections), (4, 4));
    assert_eq!(of(&status, "one").connections, 4);
    assert_eq!(waiting.0.try_read(&mut [0; 8]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    clients.pop();
    assert_eq!(within(waiting.0.read_u8()).await.unwrap(), b'o');
}

#[tokio::test]
async fn one_client_does_not_get_all_connections() {
    let one = Api::new("one").await;
    let fixture = Fixture::new(&[&one], 12).await;
    fixture.until_healthy(1).await;
    let mut clients = Vec::new();
    for _ in 0..3 {
        clients.push(fixture.served().await.0);
    }
    for _ in 0..10 {
        assert_eq!(fixture.connect().await.ask("name").await, None, "it has its share");
    }
    // Not even three take all.
    for number in [2, 2, 2, 3, 3, 3, 4, 4] {
        let mut other = fixture.connect_from(number).await;
        assert_eq!(other.ask("name").await.unwrap(), "one");
        clients.push(other);
    }
    assert_eq!(fixture.status().await.connections, 11);
    clients.remove(0);
    fixture.until("the end of one", |status| status.connections == 10).await;
    assert_eq!(fixture.served().await.1, "one");
}

#[tokio::test]
async fn a_client_that_says_nothing_gets_no_server_and_is_closed() {
    let one = Api::new("one").await;
    let fixture = Fixture::new(&[&one], 4).await;
    fixture.until_healthy(1).await;
    let mut silent = Vec::new();
    for number in 1..=4 {
        silent.push(fixture.connect_from(number).await);
    }
    let status = fixture.until("all are there", |status| status.connections == 4).await;
    assert_eq!(of(&status, "one").connections, 0);
    let (mut client, name) = fixture.served().await;
    assert_eq!(name, "one");
    for mut silent in silent {
        assert_eq!(within(silent.0.read(&mut [0; 8])).await.unwrap(), 0);
    }
    // Whoever has spoken once may be silent for as long as it likes.
    machinery::clock::Clock::system().sleep(node_balancer::limits::SPEAK).await;
    assert_eq!(client.ask("still").await.unwrap(), "still");
}

#[tokio::test]
async fn many_connections_are_served_at_once() {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let most = rustix::process::Rlimit { current: limit.maximum, maximum: limit.maximum };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, most).unwrap();
    let (one, two) = (Api::new("one").await, Api::new("two").await);
    let fixture = Fixture::new(&[&one, &two], 1000).await;
    fixture.until_healthy(2).await;
    let mut clients = Vec::new();
    for number in (1..=4).cycle().take(1000) {
        let mut client = fixture.connect_from(number).await;
        client.ask("name").await.unwrap();
        clients.push(client);
    }
    let status = fixture.status().await;
    assert_eq!(status.connections, 1000);
    assert_eq!((of(&status, "one").connections, of(&status, "two").connections), (500, 500));
    for client in &mut clients {
        assert_eq!(client.ask("hello").await.unwrap(), "hello");
    }
    drop(clients);
    fixture.until("the end of all", |status| status.connections == 0).await;
}

#[tokio::test]
async fn a_client_that_does_not_read_holds_up_nobody_else() {
    let one = Api::new("one").await;
    let fixture = Fixture::new(&[&one], 10).await;
    let (mut slow, _) = fixture.served().await;
    let count = 64 << 20;
    slow.0.write_all(format!("send {count}\n").as_bytes()).await.unwrap();
    let (mut other, _) = fixture.served().await;
    for _ in 0..100 {
        assert_eq!(other.ask("hello").await.unwrap(), "hello");
    }
    let (mut piece, mut read) = (vec![0; 1 << 20], 0);
    while read < count {
        read += within(slow.0.read(&mut piece)).await.unwrap();
    }
    assert_eq!(slow.ask("still").await.unwrap(), "still");
}
