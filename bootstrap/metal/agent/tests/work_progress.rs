//! Tests of `work::progress`.

use std::time::Duration;

use agent::testing::{Journal, Reporter};
use agent_protocol::{Progress, State};
use machinery::clock::Clock;
use serde_json::json;

fn progress(state: State) -> Progress {
    Progress { id: "1".into(), state, message: String::new(), done: 0, total: 0 }
}

#[tokio::test]
async fn an_inventory_is_reported_until_the_server_has_it() {
    let reporter = Reporter::new(Journal::new(Clock::system()));
    reporter.set(progress(State::Running), None);
    reporter.set(progress(State::Done), Some(json!({"hostname": "a"})));
    let lost = reporter.report();
    assert!(lost.inventory.is_some());
    let report = reporter.report();
    assert!(report.inventory.is_some());
    reporter.reported(&report);
    reporter.known(Duration::from_secs(60)).await;
    let next = reporter.report();
    assert_eq!((next.inventory, next.instruction), (None, Some(progress(State::Done))));
}

#[tokio::test]
async fn another_state_is_told_at_once_and_bytes_are_not() {
    let reporter = Reporter::new(Journal::new(Clock::system()));
    let is_told = async || tokio::time::timeout(Duration::ZERO, reporter.turned()).await.is_ok();
    reporter.set(progress(State::Running), None);
    assert!(is_told().await);
    reporter.set(Progress { done: 7, ..progress(State::Running) }, None);
    assert!(!is_told().await);
    reporter.set(progress(State::Done), None);
    assert!(is_told().await && !is_told().await);
}
