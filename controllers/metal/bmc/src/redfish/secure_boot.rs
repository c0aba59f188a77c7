//! Secure Boot: the resource `SecureBoot` of the system.

use serde_json::json;

use super::http::Resource;
use super::links::link;
use super::service::Service;
use super::tasks::ReadBack;
use crate::{Error, Result};

async fn resource(service: &Service) -> Result<Resource> {
    let system = service.system().await?;
    let path = link(&system.body, "/SecureBoot");
    let path =
        path.ok_or_else(|| service.unsupported("Secure Boot", "the system has no SecureBoot resource"))?;
    service.get(&path).await
}

/// Returns whether Secure Boot is enabled in the settings.
pub(super) async fn read(service: &Service) -> Result<bool> {
    let resource = resource(service).await?;
    resource.body["SecureBootEnable"].as_bool().ok_or_else(|| Error::Answer {
        call: service.call(&resource.path),
        reason: "SecureBootEnable is missing".to_owned(),
    })
}

/// Sets Secure Boot for the next start.
pub(super) async fn set(service: &Service, on: bool) -> Result<()> {
    let resource = resource(service).await?;
    if resource.body["SecureBootEnable"] == on {
        return Ok(());
    }
    let answer = service.patch(&resource, &json!({"SecureBootEnable": on})).await?;
    service.settle(&answer).await?;
    let mut attempts = ReadBack::default();
    loop {
        let found = read(service).await?;
        if found == on {
            return Ok(());
        }
        if !attempts.again().await {
            let what = "SecureBootEnable".to_owned();
            let (wanted, found) = (on.to_string(), found.to_string());
            return Err(Error::NotStored { call: answer.call, what, wanted, found });
        }
    }
}
