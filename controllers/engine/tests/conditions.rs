//! Tests of `engine::conditions`.

mod aggregate;
mod mirror;
mod summary;

use chrono::DateTime;
use engine::conditions::{is_false, is_true, set_in};

#[test]
fn the_time_moves_with_the_status_only() {
    let at = |seconds| DateTime::from_timestamp(seconds, 0).unwrap();
    let mut list = Vec::new();
    set_in(&mut list, at(1), is_false("Ready", "NotReady", "a"));
    set_in(&mut list, at(2), is_false("Ready", "Other", "b"));
    assert_eq!(list[0].last_transition_time, "1970-01-01T00:00:01Z");
    set_in(&mut list, at(3), is_true("Ready", "Ready"));
    assert_eq!(list[0].last_transition_time, "1970-01-01T00:00:03Z");
}

#[test]
fn a_message_is_no_longer_than_the_api_server_accepts() {
    for (length, expected) in [(32767, 32767), (32768, 32768), (32769, 32768), (100_000, 32768)] {
        for letter in ["a", "é"] {
            let mut list = Vec::new();
            set_in(&mut list, DateTime::UNIX_EPOCH, is_false("Ready", "NotReady", letter.repeat(length)));
            assert_eq!(list[0].message.chars().count(), expected, "{length} {letter}");
            assert_eq!(list[0].message.ends_with('…'), length > expected);
        }
    }
}

#[test]
fn the_order_is_canonical() {
    let mut list = Vec::new();
    for type_ in ["Deleting", "Zeta", "Paused", "Ready", "Alpha", "Available"] {
        set_in(&mut list, DateTime::UNIX_EPOCH, is_true(type_, "R"));
    }
    let order: Vec<&str> = list.iter().map(|condition| condition.type_.as_str()).collect();
    assert_eq!(order, ["Available", "Ready", "Alpha", "Zeta", "Paused", "Deleting"]);
}
