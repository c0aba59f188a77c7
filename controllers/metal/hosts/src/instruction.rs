//! Translates instructions between `Agent.spec.instruction` and the messages to agents ([`Instruction`]). No other module does.

use agent_protocol::{Action, Deployment, Erase, Image, Instruction, RootDeviceHints};
use schemas::metal3::RootDeviceHints as StoredHints;
use schemas::netboot::{AgentInstruction, InstructionImage};
use serde_json::{Value, json};

/// Returns the identifier of the restart that ends the provisioning with the start time `begun`.
pub fn restart(begun: &str) -> String {
    format!("restart/{begun}")
}

/// Returns whether the instruction restarts the machine.
pub fn is_restart(stored: &AgentInstruction) -> bool {
    Action::from_name(&stored.action) == Some(Action::Restart)
}

/// Returns whether the instruction is the restart that ends the provisioning with the start time `begun`.
pub fn is_restart_of(stored: &AgentInstruction, begun: &str) -> bool {
    is_restart(stored) && stored.id == restart(begun)
}

/// Returns the stored form of the instruction for the start `boot` of the machine. After another start the agent does not get it.
pub fn store(instruction: &Instruction, boot: Option<String>) -> AgentInstruction {
    let (erase, deployment) = match &instruction.action {
        Action::Clean { erase } => (Some(erase.name().to_owned()), None),
        Action::Deploy(deployment) => (None, Some(deployment)),
        Action::Wait | Action::Inspect | Action::Restart | Action::PowerOff => (None, None),
    };
    AgentInstruction {
        id: instruction.id.clone(),
        action: instruction.action.name().to_owned(),
        boot_id: boot,
        erase,
        image: deployment.map(|deployment| {
            let Image { url, checksum, checksum_type, format } = deployment.image.clone();
            let given = |text: String| Some(text).filter(|text| !text.is_empty());
            InstructionImage {
                url,
                checksum: given(checksum),
                checksum_type: given(checksum_type),
                format: given(format),
            }
        }),
        root_device_hints: deployment.map(|deployment| stored_hints(&deployment.root_device_hints)),
        config_drive: deployment.map(|deployment| deployment.config_drive),
    }
}

/// Returns the instruction of the stored form; `None` if its action is unknown or its details are incomplete.
pub fn read(stored: &AgentInstruction) -> Option<Instruction> {
    let action = match Action::from_name(&stored.action)? {
        Action::Clean { .. } if stored.erase.as_deref() == Some(Erase::Everything.name()) => {
            Action::Clean { erase: Erase::Everything }
        }
        Action::Deploy(_) => Action::Deploy(Box::new(deployment(stored)?)),
        action => action,
    };
    Some(Instruction { id: stored.id.clone(), action })
}

fn deployment(stored: &AgentInstruction) -> Option<Deployment> {
    let image = stored.image.as_ref()?;
    Some(Deployment {
        image: Image {
            url: image.url.clone(),
            checksum: image.checksum.clone().unwrap_or_default(),
            checksum_type: image.checksum_type.clone().unwrap_or_default(),
            format: image.format.clone().unwrap_or_default(),
        },
        root_device_hints: stored.root_device_hints.as_ref().map_or(Some(Default::default()), hints)?,
        config_drive: stored.config_drive.unwrap_or(false),
    })
}

/// Returns the root device hints of a host in the form for agents; `None` if the size is negative.
pub fn hints(stored: &StoredHints) -> Option<RootDeviceHints> {
    let stored = stored.clone();
    Some(RootDeviceHints {
        device_name: stored.device_name,
        hctl: stored.hctl,
        model: stored.model,
        vendor: stored.vendor,
        serial_number: stored.serial_number,
        min_size_gigabytes: stored.min_size_gigabytes.map(u64::try_from).transpose().ok()?,
        wwn: stored.wwn,
        wwn_with_extension: stored.wwn_with_extension,
        wwn_vendor_extension: stored.wwn_vendor_extension,
        rotational: stored.rotational,
    })
}

fn stored_hints(hints: &RootDeviceHints) -> StoredHints {
    let hints = hints.clone();
    StoredHints {
        device_name: hints.device_name,
        hctl: hints.hctl,
        model: hints.model,
        vendor: hints.vendor,
        serial_number: hints.serial_number,
        min_size_gigabytes: hints.min_size_gigabytes.map(|size| i64::try_from(size).unwrap_or(i64::MAX)),
        wwn: hints.wwn,
        wwn_with_extension: hints.wwn_with_extension,
        wwn_vendor_extension: hints.wwn_vendor_extension,
        rotational: hints.rotational,
    }
}

/// Returns a merge patch for an Agent that replaces its instruction by `wanted`, including all nested fields.
pub fn replacement(wanted: &AgentInstruction) -> Value {
    json!({ "spec": { "instruction": replacing(&every_field(), &json!(wanted)) } })
}

/// Returns a merge patch that sets the fields of `wanted`, and deletes all other fields of `every`.
fn replacing(every: &Value, wanted: &Value) -> Value {
    match (every, wanted) {
        (Value::Object(every), Value::Object(wanted)) => {
            let field = |(name, inner): (&String, &Value)| {
                (name.clone(), wanted.get(name).map_or(Value::Null, |wanted| replacing(inner, wanted)))
            };
            Value::Object(every.iter().map(field).collect())
        }
        _ => wanted.clone(),
    }
}

/// Returns an instruction with all fields. The compiler reports a new field that is missing here.
fn every_field() -> Value {
    let text = || Some(String::new());
    json!(AgentInstruction {
        id: String::new(),
        action: String::new(),
        boot_id: text(),
        erase: text(),
        image: Some(InstructionImage {
            url: String::new(),
            checksum: text(),
            checksum_type: text(),
            format: text(),
        }),
        root_device_hints: Some(StoredHints {
            device_name: text(),
            hctl: text(),
            model: text(),
            vendor: text(),
            serial_number: text(),
            min_size_gigabytes: Some(0),
            wwn: text(),
            wwn_with_extension: text(),
            wwn_vendor_extension: text(),
            rotational: Some(false),
        }),
        config_drive: Some(false),
    })
}
