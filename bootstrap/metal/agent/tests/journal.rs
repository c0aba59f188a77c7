//! Tests of `journal`.

use agent::testing::{Journal, LINES_MAX};
use machinery::clock::Clock;

#[test]
fn lines_are_kept_in_order_and_within_bounds() {
    let journal = Journal::new(Clock::system());
    for number in 0..LINES_MAX + 5 {
        journal.line(format!("line {number}\nof two"));
    }
    let (lines, number) = journal.oldest(2);
    assert!(lines[0].ends_with("line 5 of two"), "{}", lines[0]);
    // One of the two lines is dropped before they have been sent; `forget` must not remove another one in its place.
    journal.line("newer");
    journal.forget(number);
    let (rest, number) = journal.oldest(LINES_MAX);
    assert!(rest[0].ends_with("line 7 of two"), "{}", rest[0]);
    assert_eq!(rest.len(), LINES_MAX - 1);
    journal.forget(number);
    assert_eq!(journal.oldest(1).0, Vec::<String>::new());
}
