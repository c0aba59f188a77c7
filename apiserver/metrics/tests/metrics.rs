//! Metrics that several parts share.

use metrics::{Limits, Metrics};
use prometheus_client::metrics::counter::Counter;

#[derive(Clone, Default)]
struct Doors(Counter);

#[test]
fn two_of_a_kind_count_together() {
    let metrics = Metrics::default();
    let doors = || {
        metrics.part(|registry| {
            let doors = Doors::default();
            registry.register("doors_opened", "Doors opened", doors.0.clone());
            doors
        })
    };
    doors().0.inc();
    doors().0.inc();
    let expected =
        "# HELP doors_opened Doors opened.\n# TYPE doors_opened counter\ndoors_opened_total 2\n# EOF\n";
    assert_eq!(metrics.text(), expected);
}

#[test]
fn all_parts_count_in_one_family() {
    let metrics = Metrics::default();
    Limits::of(&metrics).reached("body");
    Limits::of(&metrics).reached("body");
    Limits::of(&metrics).reached("netboot_offers");
    let text = metrics.text();
    assert_eq!(text.matches("# TYPE firstlight_limit_reached counter").count(), 1, "{text}");
    for line in [
        "firstlight_limit_reached_total{limit=\"body\"} 2\n",
        "firstlight_limit_reached_total{limit=\"netboot_offers\"} 1\n",
    ] {
        assert!(text.contains(line), "{text}");
    }
}
