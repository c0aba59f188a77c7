//! What conditions say about errors.

use cluster_core::report;
use engine::Error;
use engine::conditions::{is_false, is_true};
use schemas::HasConditions;
use schemas::cluster::MachineSet;

#[test]
fn what_failed_stands_where_the_work_is_that_it_holds_up() {
    let mut set = MachineSet::default();
    *set.conditions_mut() = vec![is_true("ScalingUp", "ScalingUp"), is_false("Deleting", "NotDeleting", "")];
    set.conditions_mut()[0].message = "Scaling up from 0 to 1 replicas".to_owned();
    let (one, two) = (Error::failed("create Machine: refused"), Error::failed("no"));
    report(&mut set, &["ScalingUp", "Deleting"], &[&one, &two]);
    let messages: Vec<&str> = set.conditions().iter().map(|condition| condition.message.as_str()).collect();
    assert_eq!(messages, ["Scaling up from 0 to 1 replicas\n* create Machine: refused\n* no", ""]);
}
