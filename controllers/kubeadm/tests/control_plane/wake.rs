//! Table tests of what happens without an event.

use super::*;

/// Returns when the control plane is reconciled again.
fn wakes(fixture: &Fixture) -> Option<Duration> {
    plan(&fixture.observed, now()).requeue.map(|wait| Duration::from_std(wait).unwrap())
}

fn rollout(fixture: &mut Fixture, rollout: Value) {
    Arc::make_mut(&mut fixture.observed.control_plane).spec.rollout = Some(from(rollout));
}

#[test]
fn rollout_dates() {
    let mut fixture = Fixture::new(1, "v1.36.0", vec![machine("a", "v1.36.0", 30)]);
    let rollout = |after: i64, days: i32| {
        from(
            json!({"after": (now() + Duration::minutes(after)).to_rfc3339(), "before": {"certificatesExpiryDays": days}}),
        )
    };
    let expires = (now() + Duration::days(20)).to_rfc3339();
    fixture.change(0, |machine| machine.status.as_mut().unwrap().certificates_expiry_date = Some(expires));
    for (after, days, outdated) in [(10, 7, false), (-10, 7, true), (-40, 7, false), (10, 21, true)] {
        Arc::make_mut(&mut fixture.observed.control_plane).spec.rollout = Some(rollout(after, days));
        assert_eq!(fixture.condition("RollingOut").0 == "True", outdated, "{after} {days}");
    }
}

#[test]
fn certificates_that_live_no_longer_than_asked_for_are_renewed_in_the_middle_of_their_life() {
    let mut fixture = Fixture::new(1, "v1.36.0", vec![machine("a", "v1.36.0", 30)]);
    for (days, validity, left, outdated) in [
        (400, None, 365, false),
        (400, None, 183, false),
        (400, None, 182, true),
        (365, None, 365, false),
        (364, None, 363, true),
        (40, Some(30), 30, false),
        (40, Some(30), 14, true),
        (400, Some(500), 399, true),
    ] {
        rollout(&mut fixture, json!({"before": {"certificatesExpiryDays": days}}));
        let spec = json!({"clusterConfiguration": {"certificateValidityPeriodDays": validity}});
        fixture.change(0, |machine| {
            let expires = (now() + Duration::days(left)).to_rfc3339();
            machine.status.as_mut().unwrap().certificates_expiry_date = Some(expires);
        });
        Arc::make_mut(&mut fixture.observed.control_plane).spec.kubeadm_config_spec =
            Some(from(spec.clone()));
        let config = Arc::make_mut(fixture.observed.machines[0].config.as_mut().unwrap());
        config.spec.cluster_configuration = Some(from(spec["clusterConfiguration"].clone()));
        assert_eq!(fixture.condition("RollingOut").0 == "True", outdated, "{days} {validity:?} {left}");
    }
}

#[test]
fn a_rollout_begins_at_its_time() {
    let mut fixture = Fixture::new(1, "v1.36.0", vec![machine("a", "v1.36.0", 30)]);
    let kubeconfig = Duration::days(365 - 365 / 2);
    assert_eq!(wakes(&fixture), Some(kubeconfig));
    rollout(&mut fixture, json!({"after": (now() + Duration::hours(3)).to_rfc3339()}));
    assert_eq!(wakes(&fixture), Some(Duration::hours(3)));
    rollout(&mut fixture, json!({"after": (now() - Duration::hours(3)).to_rfc3339()}));
    assert_eq!(wakes(&fixture), Some(kubeconfig), "that was before the Machine");
    rollout(&mut fixture, json!({"after": now().to_rfc3339()}));
    assert_eq!(wakes(&fixture), Some(kubeconfig), "what is due now is in this plan");

    rollout(&mut fixture, json!({"before": {"certificatesExpiryDays": 7}}));
    assert_eq!(wakes(&fixture), Some(kubeconfig), "the expiry is not known yet");
    let expires = now() + Duration::days(20);
    fixture.change(0, |machine| {
        machine.status.as_mut().unwrap().certificates_expiry_date = Some(expires.to_rfc3339());
    });
    let wait = wakes(&fixture).unwrap();
    assert_eq!(wait, Duration::days(13) + Duration::seconds(1));
    let steps = plan(&fixture.observed, now() + wait).steps;
    assert_eq!(steps[1], Step::CreateMachine(Entry::Join, None), "before the certificates expire");
}

#[test]
fn what_has_no_events_is_looked_at_again() {
    let mut fixture = Fixture::new(3, "v1.36.0", three("v1.36.0"));
    fixture.view().pods.remove("kube-scheduler-a");
    assert_eq!(wakes(&fixture), Some(Duration::seconds(20)));
    fixture.observed.machines.clear();
    assert_eq!(wakes(&fixture), None);
    fixture.observed.template = Template::Missing;
    assert_eq!(wakes(&fixture), Some(Duration::seconds(20)));
}
