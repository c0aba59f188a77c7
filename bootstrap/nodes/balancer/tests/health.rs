//! Servers that are ready, are not, die, and come back.

use std::time::Duration;

use machinery::clock::Clock;
use system_containers::balancer::Health;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::nodes_balancer::fixture::{Answer, Api, Fixture, of, why, within};

#[tokio::test]
async fn a_server_that_dies_is_left_within_two_seconds_and_found_again() {
    let (one, two) = (Api::new("one").await, Api::new("two").await);
    let fixture = Fixture::new(&[&one, &two], 100).await;
    fixture.until_healthy(2).await;
    let clock = Clock::system();
    one.stop().await;
    let died = clock.monotonic();
    let status = fixture.until("its death", |status| status.healthy().count() == 1).await;
    assert!(clock.monotonic() - died < Duration::from_secs(2));
    assert!(why(&status, "one").contains("refused"), "{status:?}");
    one.start().await;
    fixture.until_healthy(2).await;
}

#[tokio::test]
async fn a_connection_goes_on_to_the_next_server_before_the_death_of_one_is_known() {
    let (one, two) = (Api::new("one").await, Api::new("two").await);
    let fixture = Fixture::new(&[&one, &two], 100).await;
    fixture.until_healthy(2).await;
    one.stop().await;
    for _ in 0..4 {
        assert_eq!(fixture.served().await.1, "two");
    }
    // The first attempt has shown it.
    assert_ne!(of(&fixture.status().await, "one").health, Health::Healthy);
}

#[tokio::test]
async fn a_server_gets_connections_only_while_it_says_that_it_is_ready() {
    let (one, two) = (Api::new("one").await, Api::new("two").await);
    let fixture = Fixture::new(&[&one, &two], 100).await;
    fixture.until_healthy(2).await;
    let (mut before, _) = fixture.served().await;
    for (answer, expected) in [
        (Answer::Code(500), "/readyz is answered with 500"),
        (Answer::Silent, "no answer to /readyz within 1 s"),
        (Answer::Plain, "corrupt message"),
    ] {
        *one.answer.lock() = answer;
        let status = fixture
            .until("one is not ready", |status| {
                matches!(&of(status, "one").health, Health::Unhealthy(why) if why.contains(expected))
            })
            .await;
        assert_eq!(of(&status, "two").health, Health::Healthy);
        for _ in 0..3 {
            assert_eq!(fixture.served().await.1, "two", "{answer:?}");
        }
    }
    assert_eq!(before.ask("still").await.unwrap(), "still", "connections do not end with readiness");
}

#[tokio::test]
async fn a_server_that_refuses_anonymous_requests_is_ready_after_a_while() {
    let (one, two, starting) = (Api::new("one").await, Api::new("two").await, Api::new("starting").await);
    for (api, code) in [(&one, 401), (&two, 403), (&starting, 403)] {
        *api.answer.lock() = Answer::Code(code);
    }
    let fixture = Fixture::new(&[&one, &two, &starting], 100).await;
    let status = fixture.until("all answer", |status| {
        status.servers.iter().all(|server| matches!(server.health, Health::Unhealthy(_)))
    });
    assert_eq!(why(&status.await, "one"), "/readyz is answered with 401");
    // An API server that starts refuses them too, until it has its roles, and then says that it is not ready.
    *starting.answer.lock() = Answer::Code(500);
    let status = fixture.until_healthy(2).await;
    assert_eq!(why(&status, "starting"), "/readyz is answered with 500");
    *starting.answer.lock() = Answer::Code(200);
    fixture.until_healthy(3).await;
    *starting.answer.lock() = Answer::Code(403);
    one.stop().await;
    assert_eq!(of(&fixture.until_healthy(2).await, "starting").health, Health::Healthy);
}

#[tokio::test]
async fn where_no_server_is_ready_all_are_tried() {
    let (dead, starting) = (Api::stopped("dead").await, Api::new("starting").await);
    *starting.answer.lock() = Answer::Code(500);
    let fixture = Fixture::new(&[&dead, &starting], 100).await;
    fixture
        .until("both are known", |status| {
            status.servers.iter().all(|server| matches!(server.health, Health::Unhealthy(_)))
        })
        .await;
    for _ in 0..3 {
        assert_eq!(fixture.served().await.1, "starting");
    }
}

#[tokio::test]
async fn a_client_waits_for_a_server_that_starts() {
    let late = Api::stopped("late").await;
    let fixture = Fixture::with(Vec::new(), 100).await;
    let mut first = fixture.connect().await;
    first.0.write_all(b"name\n").await.unwrap();
    fixture.configure(vec![late.server()]).await;
    let mut second = fixture.connect().await;
    second.0.write_all(b"name\n").await.unwrap();
    fixture.until("both wait", |status| status.connections == 2).await;
    late.start().await;
    for client in [&mut first, &mut second] {
        assert_eq!(within(client.0.read_u8()).await.unwrap(), b'l');
    }
}

#[tokio::test]
async fn a_client_does_not_wait_for_ever() {
    let fixture = Fixture::with(vec![Api::stopped("dead").await.server()], 100).await;
    let clock = Clock::system();
    let begun = clock.monotonic();
    let mut client = fixture.connect().await;
    assert_eq!(within(client.0.read(&mut [0; 8])).await.unwrap(), 0);
    let waited = clock.monotonic() - begun;
    assert!(waited >= node_balancer::limits::HOLD - Duration::from_secs(1), "{waited:?}");
    assert!(waited < node_balancer::limits::HOLD + Duration::from_secs(5), "{waited:?}");
}
