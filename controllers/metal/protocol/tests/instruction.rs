//! Instructions on the wire.

use agent_protocol::{Action, Erase};

#[test]
fn names_are_those_of_the_wire() {
    for name in ["Wait", "Inspect", "Clean", "Deploy", "Restart", "PowerOff"] {
        let action = Action::from_name(name).unwrap();
        assert_eq!((action.name(), &serde_json::to_value(&action).unwrap()["type"]), (name, &name.into()));
    }
    assert_eq!(Action::from_name("Dance"), None);
    for erase in [Erase::Metadata, Erase::Everything] {
        assert_eq!(serde_json::to_value(erase).unwrap(), erase.name());
    }
}
