//! A BMC that goes wrong in front of a real machine, one way after the other: the host says what is wrong, and is provisioned in the end.

use anyhow::Result;
use serde_json::{Value, json};

use super::redfish;
use crate::machine::Firmware;
use crate::redfish::{Fault, Order};
use crate::scenario::Scenario;
use crate::wait::DEADLINE;

/// What goes wrong, always, until the host says so: the request, how, and a part of what the host says.
fn faults() -> Vec<(&'static str, &'static str, Fault, &'static str)> {
    vec![
        ("GET", "/Systems/1", Fault::Status(401), "check user, password"),
        ("GET", "/Systems/1", Fault::Status(500), "status 500"),
        ("GET", "/Systems/1", Fault::Busy(None), "status 503"),
        ("GET", "/Systems/1", Fault::Silent, "no answer within"),
        ("PATCH", "/Systems/1", Fault::Ignore, "was not stored"),
        ("PATCH", "/Systems/1", Fault::Status(500), "status 500"),
        ("POST", "ComputerSystem.Reset", Fault::Status(503), "status 503"),
        ("POST", "ComputerSystem.Reset", Fault::Ignore, "its BMC says that it is off"),
    ]
}

/// A lie about the power.
fn power(state: &str) -> Fault {
    Fault::Lie("/PowerState", state.into())
}

/// All of them; then the machine starts, and while it restarts the BMC says that it is off.
pub async fn all() -> Result<()> {
    let (scenario, [first, _]) = Scenario::start().await?;
    let (machine, service, mut host) =
        redfish::described(&scenario, Scenario::design(0, Firmware::UefiHttp)).await?;
    host["spec"]["image"] = first.spec();
    for (number, (method, path, fault, part)) in faults().into_iter().enumerate() {
        service.clear_orders();
        service.order(Order { method, path, times: usize::MAX, fault });
        if number == 0 {
            scenario.server.apply(&host).await?;
        } else {
            again(&scenario, &host, number).await?;
        }
        let says =
            |host: &Value| host["status"]["errorMessage"].as_str().is_some_and(|said| said.contains(part));
        scenario.wait(part, DEADLINE, (&host, &machine), says).await?;
    }
    service.clear_orders();
    again(&scenario, &host, faults().len()).await?;
    let on = (&host, machine.as_ref());
    scenario.state("provisioning", DEADLINE, on).await?;
    service.order(Order { method: "GET", path: "/Systems/1", times: 4, fault: power("Off") });
    scenario.state("provisioned", DEADLINE, on).await?;
    scenario.console("small image: first runs", DEADLINE, &machine).await
}

/// A failure is waited out for minutes, unless something has changed that it may have come from.
async fn again(scenario: &Scenario, host: &Value, number: usize) -> Result<()> {
    let annotation = json!({"metadata": {"annotations": {"tests/again": number.to_string()}}});
    scenario.server.merge(host, annotation).await
}
