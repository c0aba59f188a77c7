//! Who keeps a connection, and when one ends.

use std::net::IpAddr;
use std::time::Duration;

use futures::FutureExt;
use serving::testing::limits;
use serving::testing::{Connection, Connections, Verdict};

fn peer(last: u8) -> Option<IpAddr> {
    Some(IpAddr::from([192, 0, 2, last]))
}

fn is_ended(connection: &Connection) -> bool {
    connection.ended().now_or_never().is_some()
}

#[tokio::test(start_paused = true)]
async fn whoever_holds_most_makes_room() {
    let (table, clock) =
        (Connections::default(), machinery::clock::Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap()));
    let (other, _) = table.enter(peer(2), clock.monotonic());
    tokio::time::advance(Duration::from_secs(1)).await;
    let held: Vec<Connection> =
        (1..limits::STRANGERS).map(|_| table.enter(peer(1), clock.monotonic()).0).collect();
    let answering = held[0].presence().begin(clock.monotonic());
    let (newest, full) = table.enter(peer(3), clock.monotonic());
    assert_eq!(full, Some("strangers"));
    let ended: Vec<usize> = (0..held.len()).filter(|at| is_ended(&held[*at])).collect();
    assert_eq!(ended, [1], "the first one is busy");
    assert!(!is_ended(&other) && !is_ended(&newest));
    drop(answering);
    // A connection that signs in frees a place for a stranger.
    assert_eq!(other.presence().sign_in("bob"), None);
    let (more, full) = table.enter(peer(3), clock.monotonic());
    assert_eq!(full, None);
    // A connection keeps its first user.
    assert_eq!(other.presence().sign_in("eve"), None);
    assert_eq!(other.user().as_deref(), Some("bob"));
    drop((held, other, newest, more));
    assert!(table.is_empty());
}

#[tokio::test(start_paused = true)]
async fn users_share_their_room() {
    let (table, clock) =
        (Connections::default(), machinery::clock::Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap()));
    let sign_in = |user: &str| {
        let (connection, _) = table.enter(peer(1), clock.monotonic());
        let full = connection.presence().sign_in(user);
        (connection, full)
    };
    let held: Vec<_> = (0..limits::CONNECTIONS).map(|_| sign_in("eve")).collect();
    assert!(held.iter().all(|(connection, full)| full.is_none() && !is_ended(connection)));
    let (bob, full) = sign_in("bob");
    assert_eq!(full, Some("connections"));
    assert!(!is_ended(&bob));
    assert_eq!(held.iter().filter(|(connection, _)| is_ended(connection)).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn idle_and_stalled_connections_end() {
    let (table, clock) =
        (Connections::default(), machinery::clock::Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap()));
    let (connection, _) = table.enter(peer(1), clock.monotonic());
    let verdict = |unsent| connection.verdict(clock.monotonic(), unsent);
    assert_eq!(verdict(None), Verdict::Later(limits::STRANGER_IDLE));
    let sending = connection.presence().begin(clock.monotonic()).send(clock.monotonic());
    tokio::time::advance(limits::STRANGER_IDLE - Duration::from_secs(1)).await;
    assert_eq!(verdict(None), Verdict::Later(Duration::from_secs(1)));
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(verdict(None), Verdict::Idle, "an answer that a stranger does not take");
    connection.presence().sign_in("bob");
    assert_eq!(verdict(None), Verdict::Later(limits::STALLED), "a watch without events");
    sending.waits(Some(clock.monotonic()));
    tokio::time::advance(limits::STALLED - Duration::from_secs(1)).await;
    assert_eq!(verdict(None), Verdict::Later(Duration::from_secs(1)));
    sending.waits(None);
    let unsent = Some(clock.monotonic());
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(verdict(None), Verdict::Later(limits::STALLED));
    tokio::time::advance(limits::STALLED).await;
    assert_eq!(verdict(unsent), Verdict::Stalled);
    drop(sending);
    tokio::time::advance(limits::IDLE).await;
    assert_eq!(verdict(None), Verdict::Idle);
}
