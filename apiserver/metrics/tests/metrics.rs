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

/// As Prometheus' Go client decides: OpenMetrics is only for those who ask for it.
#[test]
fn the_format_is_the_one_that_a_client_accepts() {
    let metrics = Metrics::default();
    Limits::of(&metrics).reached("body");
    let open = "application/openmetrics-text";
    let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
    for (accept, is_open) in [
        (None, false),
        (Some("*/*"), false),
        (Some("text/plain;version=0.0.4"), false),
        (Some("application/openmetrics-text;version=2.0.0"), false),
        (Some("application/openmetrics-text;q=0, text/plain"), false),
        (Some("text/plain, application/openmetrics-text;q=0.5"), false),
        (Some(open), true),
        (Some(prometheus), true),
    ] {
        let (media, text) = metrics.answer(accept);
        assert_eq!(media.starts_with(open), is_open, "{accept:?}");
        assert_eq!(text.ends_with("# EOF\n"), is_open, "{accept:?}: {text}");
        let name = if is_open { "firstlight_limit_reached" } else { "firstlight_limit_reached_total" };
        assert!(text.contains(&format!("# TYPE {name} counter\n")), "{accept:?}: {text}");
        assert!(text.contains("firstlight_limit_reached_total{limit=\"body\"} 1\n"), "{text}");
    }
}
