//! Tests of `engine::batch`.

use engine::batch::to_create;

#[test]
fn no_reconcile_creates_more_than_the_limit() {
    let rows = [
        (3, 1, 2),
        (3, 3, 0),
        (3, 5, 0),
        (-1, 0, 0),
        (500, 0, 500),
        (501, 0, 500),
        (501, 1, 500),
        (i32::MAX, 0, 500),
    ];
    for (replicas, present, expected) in rows {
        assert_eq!(to_create(replicas, present), expected, "{replicas} {present}");
    }
}
