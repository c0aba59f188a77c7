//! Tests of `redfish::power`.

use bmc::redfish::power::{choose, power};
use bmc::{Power, PowerAction, Reset};
use serde_json::{Value, json};

#[test]
fn power_states() {
    for (state, expected) in [
        (json!("On"), Power::On),
        (json!("PoweringOn"), Power::On),
        (json!("PoweringOff"), Power::On),
        (json!("Off"), Power::Off),
        (json!("Reset"), Power::Unknown),
        (Value::Null, Power::Unknown),
        (json!(1), Power::Unknown),
    ] {
        assert_eq!(power(&json!({"PowerState": state})), expected, "{state}");
    }
}

#[test]
fn the_best_type_that_is_offered_is_sent() {
    let all = ["On", "ForceOff", "GracefulShutdown", "GracefulRestart", "ForceRestart", "Nmi"];
    let few = ["ForceOn", "ForceOff", "PowerCycle"];
    for (action, power, offered, expected) in [
        (PowerAction::On, Power::Off, &all[..], Some("On")),
        (PowerAction::On, Power::Off, &few, Some("ForceOn")),
        (PowerAction::SoftOff, Power::On, &all, Some("GracefulShutdown")),
        (PowerAction::SoftOff, Power::On, &few, None),
        (PowerAction::HardOff, Power::On, &few, Some("ForceOff")),
        (PowerAction::Reset(Reset::Hard), Power::On, &all, Some("ForceRestart")),
        (PowerAction::Reset(Reset::Hard), Power::On, &few, Some("PowerCycle")),
        (PowerAction::Reset(Reset::Hard), Power::Off, &all, Some("On")),
        (PowerAction::Reset(Reset::Soft), Power::On, &all, Some("GracefulRestart")),
        (PowerAction::Reset(Reset::Soft), Power::On, &few, None),
        (PowerAction::Interrupt, Power::On, &[], Some("Nmi")),
    ] {
        let offered: Vec<String> = offered.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(choose(action, power, &offered), expected, "{action} {offered:?}");
    }
}
