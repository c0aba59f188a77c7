//! Tests of `kubelet::pod::stop`.

use kubelet::pod::stop::grace_of_probe;
use kubelet::probe::Purpose;
use serde_json::json;

#[test]
fn grace_periods_are_those_of_the_pod_and_of_the_probe() {
    for (pod, container, purpose, expected) in [
        (json!({}), json!({}), Purpose::Liveness, 30),
        (json!({"spec": {"terminationGracePeriodSeconds": 5}}), json!({}), Purpose::Liveness, 5),
        (
            json!({"spec": {"terminationGracePeriodSeconds": 5}}),
            json!({"livenessProbe": {"terminationGracePeriodSeconds": 1}}),
            Purpose::Liveness,
            1,
        ),
        (json!({}), json!({"livenessProbe": {"terminationGracePeriodSeconds": 1}}), Purpose::Startup, 30),
        (json!({}), json!({"startupProbe": {"terminationGracePeriodSeconds": 2}}), Purpose::Startup, 2),
        (
            json!({"metadata": {"deletionGracePeriodSeconds": 3}, "spec": {"terminationGracePeriodSeconds": 5}}),
            json!({}),
            Purpose::Liveness,
            3,
        ),
    ] {
        let mut whole = json!({"metadata": {}, "spec": {"containers": []}});
        for (key, value) in pod.as_object().into_iter().flatten() {
            for (name, value) in value.as_object().into_iter().flatten() {
                whole[key][name] = value.clone();
            }
        }
        let mut named = container.clone();
        named["name"] = json!("c");
        let (pod, container) =
            (serde_json::from_value(whole).unwrap(), serde_json::from_value(named).unwrap());
        assert_eq!(grace_of_probe(&pod, &container, purpose).as_secs(), expected, "{pod:?}");
    }
}
