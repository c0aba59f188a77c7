//! Tests of `engine::quota`.

use std::sync::Arc;

use engine::testing::Counted::{No, NoAgain, Yes};
use engine::testing::{Budget, CLUSTERS_TOGETHER_BYTES, Quota};

const HALF: usize = CLUSTERS_TOGETHER_BYTES / 2;

#[test]
fn what_is_above_the_limit_is_not_kept() {
    let quota = Quota::default();
    assert_eq!(quota.count("Node", "a", HALF - 10), Yes, "below");
    assert_eq!(quota.count("Pod", "a", 10), Yes, "at the limit");
    assert_eq!(quota.count("Pod", "b", 1), No, "above");
    assert_eq!(quota.count("Pod", "a", 11), NoAgain, "a change counts, too");
    assert_eq!(quota.count("Node", "a", 5), Yes, "an object may become smaller");
    assert_eq!(quota.count("Pod", "b", 1), Yes);
    quota.forget("Node", "a");
    quota.retain("Pod", |name| name == "b");
    assert_eq!(quota.count("Node", "c", HALF - 1), Yes, "only b is left");
    assert_eq!(quota.count("Node", "d", 1), NoAgain);
}

#[test]
fn clusters_together_have_one_budget_and_leave_room_for_another() {
    const STEP: usize = 1 << 20;
    let budget = Arc::<Budget>::default();
    let hostile: Vec<Quota> = (0..9).map(|_| Quota::of(&budget)).collect();
    for quota in &hostile {
        for number in 0.. {
            if quota.count("Pod", &number.to_string(), STEP) != Yes {
                break;
            }
        }
    }
    assert!(budget.used() <= CLUSTERS_TOGETHER_BYTES);
    let honest = Quota::of(&budget);
    assert_eq!(honest.count("Node", "a", 200_000), Yes, "what one leaves is for the next ones");
    let left = budget.used();
    drop(hostile);
    assert!(budget.used() < left, "a cluster that is gone takes nothing");
    assert_eq!(budget.used(), 200_000);
}
