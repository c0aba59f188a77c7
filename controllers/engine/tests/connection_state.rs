//! Tests of `engine::connection_state`.

use std::time::Duration;

use engine::testing::ConnectionState;

#[tokio::test(start_paused = true)]
async fn a_cause_is_told_when_it_lasts() {
    let (mut state, start) =
        (ConnectionState::<()>::default(), machinery::clock::Clock::system().monotonic());
    let mut fail = |seconds: u64, cause: &str, at_once: bool| {
        let has_changed = state.fail(cause.to_owned(), at_once, start + Duration::from_secs(seconds));
        (has_changed, state.problem.clone().unwrap_or_default(), state.health.failures)
    };
    let told = |has_changed: bool, problem: &str, failures: u32| (has_changed, problem.to_owned(), failures);
    assert_eq!(fail(0, "refused", false), told(false, "", 1));
    assert_eq!(fail(9, "refused", false), told(false, "", 2));
    assert_eq!(fail(10, "refused", false), told(true, "refused", 3));
    assert_eq!(fail(20, "refused", false), told(false, "refused", 4));
    // Causes that take turns.
    assert_eq!(fail(30, "closed", false), told(false, "refused", 5));
    assert_eq!(fail(40, "refused", false), told(false, "refused", 6));
    assert_eq!(fail(50, "closed", false), told(false, "refused", 7));
    assert_eq!(fail(60, "closed", false), told(true, "closed", 8));
    // What somebody must correct.
    assert_eq!(fail(61, "no key", true), told(true, "no key", 9));
    assert_eq!(fail(62, "refused", false), told(false, "no key", 10));
    assert_eq!(fail(63, "refused", false), told(true, "refused", 11));
}
