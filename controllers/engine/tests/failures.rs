//! Tests of `engine::failures`.

use engine::testing::Failures;
use engine::{Error, Request};

#[test]
fn the_repetitions_of_a_failure_are_counted() {
    let failures = Failures::default();
    let (first, second) = (Request::new("default", "first"), Request::new("default", "second"));
    let (missing, refused) = (Error::failed("missing"), Error::failed("refused"));
    assert_eq!(failures.times(&first, &missing), 1);
    assert_eq!(failures.times(&first, &missing), 2);
    assert_eq!(failures.times(&second, &missing), 1);
    assert_eq!(failures.times(&first, &refused), 1);
    failures.forget(&first);
    assert_eq!(failures.times(&first, &refused), 1);
}
