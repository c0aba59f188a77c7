//! Power: the property `PowerState` and the action `ComputerSystem.Reset`.

use http::Method;
use serde_json::{Value, json};

use super::links::{link, texts};
use super::service::Service;
use crate::{Power, PowerAction, Reset, Result};

/// Returns the power state; a machine that is shutting down still counts as on.
pub fn power(system: &Value) -> Power {
    match system["PowerState"].as_str() {
        Some("On" | "PoweringOn" | "PoweringOff" | "Paused") => Power::On,
        Some("Off") => Power::Off,
        _ => Power::Unknown,
    }
}

/// Returns the reset types for an action, the preferred one first.
fn reset_types(action: PowerAction, power: Power) -> &'static [&'static str] {
    match action {
        PowerAction::On => &["On", "ForceOn"],
        PowerAction::Reset(_) if power == Power::Off => &["On", "ForceOn"],
        PowerAction::SoftOff => &["GracefulShutdown"],
        PowerAction::HardOff => &["ForceOff"],
        PowerAction::Reset(Reset::Soft) => &["GracefulRestart"],
        PowerAction::Reset(Reset::Hard) => &["ForceRestart", "PowerCycle"],
        PowerAction::Interrupt => &["Nmi"],
    }
}

/// Returns the reset type to send, or `None` if the service offers no suitable one. If the service does not list its types, the
/// preferred one is sent.
pub fn choose(action: PowerAction, power: Power, offered: &[String]) -> Option<&'static str> {
    let fitting = reset_types(action, power);
    if offered.is_empty() {
        return fitting.first().copied();
    }
    fitting.iter().find(|name| offered.iter().any(|offer| offer == *name)).copied()
}

/// Sends `ComputerSystem.Reset`.
pub(super) async fn reset(service: &Service, action: PowerAction) -> Result<()> {
    let system = service.system().await?;
    // In a transitional state the action is sent even if the target state seems to be reached, because the machine may be leaving
    // it.
    let settled = matches!(system.body["PowerState"].as_str(), Some("On" | "Off"));
    let moves = matches!(action, PowerAction::On | PowerAction::SoftOff | PowerAction::HardOff);
    if settled && moves && action.outcome() == Some(power(&system.body)) {
        return Ok(());
    }
    let reset = &system.body["Actions"]["#ComputerSystem.Reset"];
    let offered = offered(service, reset).await?;
    let Some(kind) = choose(action, power(&system.body), &offered) else {
        let reason = format!("the service offers only {}", offered.join(", "));
        return Err(service.unsupported(&action.to_string(), &reason));
    };
    let target = match reset["target"].as_str().and_then(|target| service.path_of(target)) {
        Some(target) => target,
        None => format!("{}/Actions/ComputerSystem.Reset", system.path),
    };
    let answer = service.send(Method::POST, &target, Some(&json!({"ResetType": kind}))).await?;
    service.settle(&answer).await
}

/// Returns the reset types that the service offers, from the action itself or from its `ActionInfo`.
async fn offered(service: &Service, reset: &Value) -> Result<Vec<String>> {
    let here = texts(&reset["ResetType@Redfish.AllowableValues"]);
    if !here.is_empty() {
        return Ok(here);
    }
    let elsewhere = reset["@Redfish.ActionInfo"].as_str().map(str::to_owned);
    let Some(path) = elsewhere.or_else(|| link(reset, "/@Redfish.ActionInfo")) else {
        return Ok(Vec::new());
    };
    let info = service.get(&path).await?.body;
    let parameters = info["Parameters"].as_array().into_iter().flatten();
    let kind = parameters.into_iter().find(|parameter| parameter["Name"] == "ResetType");
    Ok(kind.map(|parameter| texts(&parameter["AllowableValues"])).unwrap_or_default())
}
