//! The writable resources.

use serde_json::{Value, json};

use super::answers::{Answer, answer, error, json as json_answer};
use super::resources::RESET_TYPES;
use super::service::Service;

/// The path of the only task.
pub(super) const TASK: &str = "/TaskService/Tasks/1";

impl Service {
    /// Handles a PATCH.
    pub(super) fn patch(&self, path: &str, body: &Value) -> Answer {
        let refused = {
            let mut state = self.state();
            state.version += 1;
            match path {
                "/Systems/1" => {
                    drop(state);
                    self.patch_boot(&body["Boot"])
                }
                "/Systems/1/SecureBoot" => body["SecureBootEnable"]
                    .as_bool()
                    .map(|on| state.secure_boot = on)
                    .ok_or("SecureBootEnable"),
                "/Systems/1/Bios/Settings" => {
                    for (name, value) in body["Attributes"].as_object().into_iter().flatten() {
                        state.pending[name] = value.clone();
                    }
                    Ok(())
                }
                "/Managers/1/VirtualMedia/Cd" if body["Oem"]["Hpe"]["BootOnNextServerReset"] == true => {
                    state.media_boots = true;
                    Ok(())
                }
                "/Managers/1/VirtualMedia/Cd" if self.behaviour.media_by_patch => {
                    let image = body["Image"].as_str().filter(|_| body["Inserted"] == true);
                    state.media = image.map(str::to_owned);
                    Ok(())
                }
                "/Managers/1/Oem/Dell/DellAttributes/iDRAC.Embedded.1" => {
                    for (name, value) in body["Attributes"].as_object().into_iter().flatten() {
                        state.dell[name] = value.clone();
                    }
                    Ok(())
                }
                _ => return error(405, "The method is not allowed."),
            }
        };
        match refused {
            Ok(()) => self.done(),
            Err(property) => error(400, &format!("The property {property} has a value that is not taken.")),
        }
    }

    /// Sets the boot device, or names the invalid property.
    fn patch_boot(&self, boot: &Value) -> Result<(), &'static str> {
        let named = |name: &str| boot[name].as_str().map(str::to_owned);
        if self.behaviour.no_continuous && boot["BootSourceOverrideEnabled"] == "Continuous" {
            return Err("BootSourceOverrideEnabled");
        }
        // As in Supermicro's services.
        if self.behaviour.vendor == Some("Supermicro") && named("BootSourceOverrideEnabled").is_none() {
            return Err("BootSourceOverrideEnabled");
        }
        if self.behaviour.no_http_boot && boot["BootSourceOverrideTarget"] == "UefiHttp" {
            return Err("BootSourceOverrideTarget");
        }
        let mut state = self.state();
        for name in
            ["BootSourceOverrideTarget", "BootSourceOverrideEnabled", "BootSourceOverrideMode", "HttpBootUri"]
        {
            if let Some(value) = boot.get(name) {
                state.boot.insert(name, value.clone());
            }
        }
        Ok(())
    }

    /// Handles a POST.
    pub(super) async fn post(&self, path: &str, body: &Value) -> Answer {
        match path {
            "/Systems/1/Actions/ComputerSystem.Reset" => match body["ResetType"].as_str() {
                Some(kind) if RESET_TYPES.contains(&kind) => self.reset(kind).await,
                _ => error(400, "The value of the parameter ResetType is not in the list."),
            },
            "/Managers/1/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia" => self.insert(body),
            "/Managers/1/VirtualMedia/Cd/Actions/VirtualMedia.EjectMedia" => {
                self.state().media = None;
                match self.machine.ejected().await {
                    Ok(()) => self.done(),
                    Err(reason) => error(500, &reason.to_string()),
                }
            }
            "/UpdateService/Actions/UpdateService.SimpleUpdate" => {
                self.state().looks_at_task = 2;
                answer(202, &[("location", &format!("/redfish/v1{TASK}"))], "")
            }
            "/EventService/Subscriptions" => {
                let mut state = self.state();
                let path = format!("/EventService/Subscriptions/{}", state.subscriptions.len() + 1);
                let location = format!("/redfish/v1{path}");
                state.subscriptions.insert(path, body.clone());
                json_answer(201, &[("location", &location)], body)
            }
            _ => error(404, "The resource was not found."),
        }
    }

    /// Handles a DELETE.
    pub(super) fn delete(&self, path: &str) -> Answer {
        let mut state = self.state();
        let token = path.strip_prefix("/SessionService/Sessions/").unwrap_or_default();
        let before = state.sessions.len();
        state.sessions.retain(|session| session != token);
        if state.sessions.len() < before || state.subscriptions.remove(path).is_some() {
            return answer(204, &[], "");
        }
        error(404, "The resource was not found.")
    }

    async fn reset(&self, kind: &str) -> Answer {
        let on = self.machine.is_on().await;
        let outcome = match kind {
            "On" | "ForceOn" if on => Ok(()),
            "On" | "ForceOn" => self.machine.start(self.start()).await,
            "GracefulShutdown" if on => self.machine.ask_to_stop().await,
            "ForceOff" if on => self.machine.stop().await,
            "GracefulRestart" | "ForceRestart" if on => match self.machine.stop().await {
                Ok(()) => self.machine.start(self.start()).await,
                failed => failed,
            },
            "Nmi" if on => Ok(()),
            _ => return error(409, "The machine is off."),
        };
        match outcome {
            Ok(()) => self.done(),
            Err(reason) => error(500, &reason.to_string()),
        }
    }

    fn insert(&self, body: &Value) -> Answer {
        let Some(image) = body["Image"].as_str() else {
            return error(400, "The parameter Image is missing.");
        };
        let missing =
            ["TransferProtocolType", "TransferMethod"].into_iter().find(|name| body.get(name).is_none());
        if let Some(missing) = missing.filter(|_| self.behaviour.media_wants_transfer) {
            return error(400, &format!("The action requires the parameter {missing} to be in the request."));
        }
        let mut state = self.state();
        if state.media.is_some() {
            return error(409, &format!("The device holds an image: {image} cannot be inserted."));
        }
        state.media = Some(image.to_owned());
        drop(state);
        self.done()
    }

    /// Returns the response for a completed write: success, or a task.
    pub(super) fn done(&self) -> Answer {
        if !self.behaviour.tasks {
            return answer(204, &[], "");
        }
        self.state().looks_at_task = 1;
        let body = json!({"@odata.id": format!("/redfish/v1{TASK}"), "TaskState": "New"});
        json_answer(202, &[("location", &format!("/redfish/v1{TASK}"))], &body)
    }

    /// Returns the task, which is reported as running for some reads.
    pub(super) fn task(&self) -> Answer {
        let mut state = self.state();
        if state.looks_at_task == 0 {
            return json_answer(200, &[], &json!({"TaskState": "Completed", "TaskStatus": "OK"}));
        }
        state.looks_at_task -= 1;
        json_answer(202, &[], &json!({"TaskState": "Running", "PercentComplete": 50}))
    }
}
