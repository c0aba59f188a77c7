//! A faulty BMC of a real machine, one fault after the other: the host reports each fault, and is provisioned
//! in the end.

use anyhow::Result;
use serde_json::{Value, json};

use super::redfish;
use crate::machine::Firmware;
use crate::redfish::{Fault, Order};
use crate::scenario::Scenario;
use crate::wait::DEADLINE;

/// The faults, each permanent until the host reports it: the request, the fault, and a part of the report.
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

/// Returns a fault that reports a wrong power state.
fn power(state: &str) -> Fault {
    Fault::Lie("/PowerState", state.into())
}

/// All faults; then the machine starts, and while it restarts the BMC reports that it is off.
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

/// Triggers a reconcile: the host retries a failure only after minutes, unless something has changed.
async fn again(scenario: &Scenario, host: &Value, number: usize) -> Result<()> {
    let annotation = json!({"metadata": {"annotations": {"tests/again": number.to_string()}}});
    scenario.server.merge(host, annotation).await
}
