//! Firmware versions and updates: `UpdateService`.

use http::Method;
use serde_json::json;

use super::links::{link, paths, text, texts};
use super::service::Service;
use super::tasks;
use crate::{Error, FirmwareComponent, Result, Task};

/// Returns the installed versions.
pub(super) async fn installed(service: &Service) -> Result<Vec<FirmwareComponent>> {
    let system = service.system().await?;
    let manager = service.manager(&system).await?;
    let mut found = vec![
        ("bios".to_owned(), text(&system.body, "/BiosVersion")),
        ("bmc".to_owned(), text(&manager.body, "/FirmwareVersion")),
    ];
    let chassis = system.body.pointer("/Links/Chassis").map(paths).unwrap_or_default();
    if let Some(path) = chassis.first() {
        found.extend(adapters(service, path).await?);
    }
    let named = found.into_iter().filter(|(_, version)| !version.is_empty());
    Ok(named.map(|(component, version)| FirmwareComponent { component, version }).collect())
}

/// Returns the network adapters of a chassis, each with the firmware version of its first controller.
async fn adapters(service: &Service, chassis: &str) -> Result<Vec<(String, String)>> {
    let Some(collection) = link(&service.get(chassis).await?.body, "/NetworkAdapters") else {
        return Ok(Vec::new());
    };
    let adapters = match service.members(&collection).await {
        Err(Error::Status { status: 404 | 501, .. }) => Vec::new(),
        adapters => adapters?,
    };
    let version = |body| text(body, "/Controllers/0/FirmwarePackageVersion");
    Ok(adapters
        .iter()
        .map(|each| (format!("nic:{}", text(&each.body, "/Id")), version(&each.body)))
        .collect())
}

/// Starts an update by `UpdateService.SimpleUpdate`: the service fetches the image, and determines by itself which component it is
/// for.
pub(super) async fn install(service: &Service, component: &str, url: &str) -> Result<Task> {
    let none = || service.unsupported("updating firmware", "the service has no UpdateService.SimpleUpdate");
    if component != "bios" && component != "bmc" && !component.starts_with("nic:") {
        return Err(Error::Input(format!("{component:?} is not a component: bios, bmc and nic:NAME are")));
    }
    let path = link(service.root().await?, "/UpdateService").ok_or_else(none)?;
    let updates = service.get(&path).await?.body;
    let update = &updates["Actions"]["#UpdateService.SimpleUpdate"];
    let target = update["target"].as_str().ok_or_else(none)?;
    let scheme = url.split(':').next().unwrap_or_default().to_uppercase();
    let mut body = json!({"ImageURI": url});
    let offered = texts(&update["TransferProtocol@Redfish.AllowableValues"]);
    if offered.contains(&scheme) {
        body["TransferProtocol"] = json!(scheme);
    } else if !offered.is_empty() {
        let reason = format!("the service fetches by {} only", offered.join(", "));
        return Err(service.unsupported(&format!("updating firmware by {scheme}"), &reason));
    }
    let answer = service.send(Method::POST, target, Some(&body)).await;
    let answer = answer.map_err(|error| error.without(url))?;
    // If the service creates no task, the returned task counts as done, and only the versions show the result.
    Ok(tasks::begun(&answer).unwrap_or(Task { path: String::new() }))
}
