//! What extensions answer: `hooks.runtime.cluster.x-k8s.io/v1alpha1`.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::hooks::Hook;
use crate::limits::{MESSAGE_CHARACTERS, PLAIN_ANSWER_BYTES};
use crate::names::HOOKS_VERSION;

/// The status of an answer to which there is no objection.
pub const SUCCESS: &str = "Success";
/// The status of an answer that says no.
pub const FAILURE: &str = "Failure";

/// What every answer has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// `Success` or `Failure`.
    pub status: String,
    /// What the extension has to say, cut to [`MESSAGE_CHARACTERS`].
    pub message: String,
    /// When to ask again; `None` also if the hook cannot block.
    pub retry_after: Option<Duration>,
}

/// What an extension says of itself.
#[derive(Deserialize, Debug, Clone, Default, PartialEq, Eq)]
#[serde(default)]
pub struct Discovered {
    /// The handlers, in any order.
    pub handlers: Option<Vec<Handler>>,
}

/// A handler, as an extension describes it.
#[derive(Deserialize, Debug, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Handler {
    /// Its name.
    pub name: String,
    /// The hook that it answers.
    pub request_hook: RequestHook,
    /// How long a call may take.
    #[serde(default)]
    pub timeout_seconds: Option<i32>,
    /// What a failed call means.
    #[serde(default)]
    pub failure_policy: Option<String>,
}

/// A hook in one version of its API.
#[derive(Deserialize, Debug, Clone, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct RequestHook {
    /// The version.
    pub api_version: String,
    /// The name of the hook.
    pub hook: String,
}

/// A patch for an object of a request.
#[derive(Serialize, Deserialize, Debug, Clone, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Patch {
    /// `JSONPatch` or `JSONMergePatch`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub patch_type: String,
    /// The patch in JSON, in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Envelope {
    api_version: Option<String>,
    kind: Option<String>,
    status: Option<String>,
    message: Option<String>,
    retry_after_seconds: Option<i32>,
}

#[derive(Serialize, Deserialize)]
struct Patches {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    items: Option<Vec<Item>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Item {
    uid: String,
    patch_type: String,
    patch: String,
}

#[derive(Serialize, Deserialize)]
struct Variables {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    variables: Option<Vec<Value>>,
}

#[derive(Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct UpgradePlan {
    #[serde(skip_serializing_if = "Option::is_none")]
    control_plane_upgrades: Option<Vec<UpgradeStep>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    workers_upgrades: Option<Vec<UpgradeStep>>,
}

#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
struct UpgradeStep {
    version: String,
}

/// What can be changed of a Machine without a new one.
#[derive(Serialize, Deserialize, Debug, Clone, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct MachinePatches {
    /// For the Machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_patch: Option<Patch>,
    /// For its infrastructure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub infrastructure_machine_patch: Option<Patch>,
    /// For its bootstrap configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootstrap_config_patch: Option<Patch>,
}

/// What can be changed of a MachineSet without new Machines.
#[derive(Serialize, Deserialize, Debug, Clone, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineSetPatches {
    /// For the MachineSet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_set_patch: Option<Patch>,
    /// For the template of its infrastructure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub infrastructure_machine_template_patch: Option<Patch>,
    /// For the template of its bootstrap configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootstrap_config_template_patch: Option<Patch>,
}

/// Reads what all answers have.
///
/// # Errors
/// It is no JSON, is an answer to another hook, or a field has the wrong type.
pub fn read(hook: Hook, body: &[u8]) -> Result<Answer, String> {
    if hook != Hook::GeneratePatches && body.len() > PLAIN_ANSWER_BYTES {
        return Err(format!("the answer is longer than {} MiB", PLAIN_ANSWER_BYTES >> 20));
    }
    let envelope: Envelope = parse(body)?;
    let kind = format!("{}Response", hook.name());
    is_expected("apiVersion", envelope.api_version, HOOKS_VERSION)?;
    is_expected("kind", envelope.kind, &kind)?;
    let seconds = envelope.retry_after_seconds.unwrap_or_default();
    let seconds = u64::try_from(seconds)
        .map_err(|_| format!("retryAfterSeconds in the answer must not be negative, but is {seconds}"))?;
    Ok(Answer {
        status: cut(envelope.status.unwrap_or_default()),
        message: cut(envelope.message.unwrap_or_default()),
        retry_after: (hook.can_block() && seconds > 0).then(|| Duration::from_secs(seconds)),
    })
}

/// Reads what only an answer to this hook has, as JSON without any other field.
///
/// # Errors
/// A field has the wrong type, or a patch is not in base64.
pub fn content(hook: Hook, body: &[u8]) -> Result<Value, String> {
    match hook {
        Hook::GeneratePatches => {
            let patches: Patches = parse(body)?;
            patches.items.iter().flatten().try_for_each(|item| is_base64(&item.patch))?;
            written(patches)
        }
        Hook::DiscoverVariables => written(parse::<Variables>(body)?),
        Hook::GenerateUpgradePlan => written(parse::<UpgradePlan>(body)?),
        Hook::CanUpdateMachine => written(parse::<MachinePatches>(body)?),
        Hook::CanUpdateMachineSet => written(parse::<MachineSetPatches>(body)?),
        _ => Ok(json!({})),
    }
}

/// Reads JSON of an extension.
///
/// # Errors
/// Where it is no JSON, or a field has the wrong type.
pub fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    // Serde would also read a list, as the fields in order.
    if body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[') {
        return Err("the answer is a list, not an object".to_owned());
    }
    serde_json::from_slice(body).map_err(|error| format!("the answer cannot be read: {error}"))
}

fn written(content: impl Serialize) -> Result<Value, String> {
    serde_json::to_value(content).map_err(|error| error.to_string())
}

fn is_base64(patch: &str) -> Result<(), String> {
    STANDARD.decode(patch).map(drop).map_err(|error| format!("a patch in the answer is not base64: {error}"))
}

/// Extensions need not say what their answer is, but must not say something else.
fn is_expected(field: &str, found: Option<String>, expected: &str) -> Result<(), String> {
    match found.filter(|found| !found.is_empty() && found != expected) {
        Some(found) => Err(format!("{field} of the answer is {:?}, not {expected:?}", cut(found))),
        None => Ok(()),
    }
}

/// Cuts a text that came from an extension.
pub(crate) fn cut(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(MESSAGE_CHARACTERS) {
        text.truncate(end);
        text.push('…');
    }
    text
}
