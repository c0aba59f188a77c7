//! Differences between two texts.

use kinds::limits::DIFFERENCE_LINES_MAX;
use kinds::types::unified;

#[test]
fn changes_stand_among_three_lines_on_each_side() {
    let old = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm";
    let new = "a\nb\nc\nd\nE\nf\ng\nh\ni\nj\nk\nl";
    let first = "@@ -2,7 +2,7 @@\n b\n c\n d\n-e\n+E\n f\n g\n h\n";
    let expected = format!("{first}@@ -10,4 +10,3 @@\n j\n k\n l\n-m\n");
    assert_eq!(unified(old, new), expected);
    assert_eq!(unified(old, old), "");
    assert_eq!(unified("a", "b"), "@@ -1 +1 @@\n-a\n+b\n");
}

#[test]
fn long_texts_are_not_compared() {
    let lines = |count: usize| "x\n".repeat(count);
    for (count, shown) in
        [(DIFFERENCE_LINES_MAX - 1, true), (DIFFERENCE_LINES_MAX, true), (DIFFERENCE_LINES_MAX + 1, false)]
    {
        assert_eq!(!unified(&lines(count), "y").is_empty(), shown, "{count}");
    }
}

#[test]
fn what_is_too_much_work_is_not_compared() {
    // Both texts contain each line as often as the limit for frequent lines allows, in different order.
    let lines = |step: usize| -> String {
        (0..DIFFERENCE_LINES_MAX).map(|at| format!("{}\n", at * step % 97)).collect()
    };
    assert!(unified(&lines(1), &lines(31)).is_empty());
    let few = |step: usize| -> String { (0..97).map(|at| format!("{}\n", at * step % 97)).collect() };
    assert!(!unified(&few(1), &few(31)).is_empty());
}
