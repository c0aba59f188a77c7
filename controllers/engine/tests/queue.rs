//! Tests of `engine::queue`.

use std::time::Duration;

use engine::queue::{BACK_OFF_BASE, Cause, Load, QueueMetrics, SPACING};
use engine::{Queue, Request};
use machinery::clock::Clock;

fn request(name: &str) -> Request {
    Request::new("default", name)
}

fn event() -> Cause {
    Cause::Changed("Machine".into())
}

#[tokio::test(start_paused = true)]
async fn the_cause_is_the_first_event_since_the_reconcile_began() {
    let queue = Queue::new(Clock::system(), QueueMetrics::default());
    let one = request("one");
    let mut causes = Vec::new();
    queue.add(one.clone(), event());
    queue.add(one.clone(), Cause::Connection);
    for cause in [Some(Cause::Connection), Some(Cause::Outside), None] {
        let (request, began_for) = queue.next().await;
        assert_eq!(request, one);
        causes.push(began_for.to_string());
        cause.into_iter().for_each(|cause| queue.add(one.clone(), cause));
        queue.done(&one);
    }
    assert_eq!(causes, ["Machine changed", "connection changed", "work outside of the API"]);
    queue.add_after_failure(one.clone());
    assert_eq!(queue.next().await, (one.clone(), Cause::Retry));
    queue.done(&one);
    queue.add_after(one.clone(), Duration::from_secs(9), Cause::Resync);
    queue.add(one.clone(), event());
    assert_eq!(queue.next().await, (one, event()), "the time has not come yet");
}

#[tokio::test(start_paused = true)]
async fn each_object_once_and_never_twice_at_a_time() {
    let metrics = QueueMetrics::default();
    let queue = Queue::new(Clock::system(), metrics.clone());
    queue.add(request("a"), event());
    queue.add(request("a"), event());
    queue.add(request("b"), event());
    assert_eq!(queue.next().await.0, request("a"));
    queue.add(request("a"), event());
    assert_eq!(queue.next().await.0, request("b"));
    assert!(queue.is_empty(), "a is worked on and must wait");
    tokio::time::advance(Duration::from_secs(3)).await;
    let expected = Load { waiting: 0, unfinished: Duration::from_secs(6), longest: Duration::from_secs(3) };
    assert_eq!(queue.load(), expected);
    assert_eq!(metrics.adds.get(), 3);
    queue.done(&request("a"));
    assert_eq!(queue.next().await.0, request("a"));
}

#[tokio::test(start_paused = true)]
async fn delays_and_back_off() {
    let clock = Clock::system();
    let start = clock.monotonic();
    let queue = Queue::new(clock.clone(), QueueMetrics::default());
    queue.add_after(request("late"), Duration::from_secs(9), Cause::Requeue);
    queue.add_after(request("late"), Duration::from_secs(3), Cause::Requeue);
    assert_eq!(queue.next().await.0, request("late"));
    assert_eq!(clock.monotonic() - start, Duration::from_secs(3));
    queue.done(&request("late"));
    let delays: Vec<u64> =
        (0..3).map(|_| queue.add_after_failure(request("bad")).as_millis() as u64).collect();
    assert_eq!(delays, [5, 10, 20]);
    queue.forget(&request("bad"));
    assert_eq!(queue.add_after_failure(request("bad")), BACK_OFF_BASE);
}

#[tokio::test(start_paused = true)]
async fn an_event_of_a_failing_reconcile_repeats_it_at_most_once_a_second() {
    let clock = Clock::system();
    let queue = Queue::new(clock.clone(), QueueMetrics::default());
    queue.add(request("bad"), event());
    let mut waited = Vec::new();
    let mut last = clock.monotonic();
    for _ in 0..12 {
        assert_eq!(queue.next().await.0, request("bad"));
        waited.push((clock.monotonic() - last).as_millis());
        last = clock.monotonic();
        // The reconcile writes what failed, which is an event.
        queue.add(request("bad"), event());
        queue.add_after_failure(request("bad"));
        queue.done(&request("bad"));
    }
    assert_eq!(waited, [0, 5, 10, 20, 40, 80, 160, 320, 640, 1000, 1000, 1000]);
    // After a success, there is no delay but that of all events.
    assert_eq!(queue.next().await.0, request("bad"));
    queue.add(request("bad"), event());
    queue.forget(&request("bad"));
    queue.done(&request("bad"));
    last = clock.monotonic();
    assert_eq!(queue.next().await.0, request("bad"));
    assert_eq!(clock.monotonic() - last, SPACING);
}

#[tokio::test(start_paused = true)]
async fn a_burst_of_events_is_reconciled_at_once_and_a_last_time() {
    let clock = Clock::system();
    let queue = Queue::new(clock.clone(), QueueMetrics::default());
    let (first, mut waited) = (clock.monotonic(), Vec::new());
    for _ in 0..3 {
        for _ in 0..100 {
            queue.add(request("one"), event());
            queue.add(request("other"), event());
        }
        for _ in 0..2 {
            let request = queue.next().await.0;
            // The reconcile writes something.
            queue.add(request.clone(), event());
            queue.done(&request);
        }
        waited.push((clock.monotonic() - first).as_millis());
    }
    assert_eq!(waited, [0, 20, 40]);
}

#[tokio::test(start_paused = true)]
async fn without_a_burst_an_event_is_answered_at_once_and_starts_are_forgotten() {
    let clock = Clock::system();
    let queue = Queue::new(clock.clone(), QueueMetrics::default());
    for name in ["a", "b", "a", "a"] {
        let begin = clock.monotonic();
        queue.add(request(name), event());
        assert_eq!(queue.next().await.0, request(name));
        queue.done(&request(name));
        assert_eq!(clock.monotonic(), begin, "{name}");
        tokio::time::advance(SPACING).await;
    }
    assert_eq!(queue.spaced(), 1, "the last one");
}

#[tokio::test(start_paused = true)]
async fn what_was_there_at_the_beginning_is_expected_until_it_is_reconciled() {
    let queue = Queue::new(Clock::system(), QueueMetrics::default());
    let (first, second) = (Request::new("default", "first"), Request::new("default", "second"));
    queue.add(first.clone(), event());
    queue.begin();
    queue.add(second.clone(), event());
    assert_eq!(queue.expected(), [(first.clone(), None)]);
    assert_eq!(queue.next().await.0, first);
    assert!(!queue.tried(&first, Some("refused".to_owned())));
    queue.done(&first);
    assert_eq!(queue.expected(), [(first.clone(), Some("refused".to_owned()))]);
    // An event during the reconcile: only the next one has seen it.
    assert_eq!(queue.next().await.0, second);
    queue.add_expected(second.clone(), event());
    assert!(!queue.tried(&second, None));
    queue.done(&second);
    assert_eq!(queue.next().await.0, second);
    assert!(queue.tried(&second, None) && queue.tried(&first, None) && queue.expected().is_empty());
    assert!(!queue.tried(&first, None), "it is told once");
}
