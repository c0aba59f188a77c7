//! Tests of `host::conditions`.

use engine::conditions::FALSE;
use metal::host::conditions::of_state;
use metal::state::HostState;

#[test]
fn a_host_is_never_available_and_provisioned() {
    for name in ["", "inspecting", "available", "ready", "provisioning", "provisioned", "deleting"] {
        let [_, available, provisioned, ..] = of_state(HostState::from_name(name), false);
        assert!(available.0 == FALSE || provisioned.0 == FALSE, "{name}");
    }
}
