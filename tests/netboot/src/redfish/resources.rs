//! The readable resources.

use serde_json::{Value, json};

use super::orders::Behaviour;
use super::service::State;

/// The allowed reset types.
pub(super) const RESET_TYPES: [&str; 7] =
    ["On", "ForceOff", "GracefulShutdown", "GracefulRestart", "ForceRestart", "Nmi", "ForceOn"];

/// Returns a collection with links to `members`.
fn collection(path: &str, members: &[String]) -> Value {
    let links: Vec<Value> = members.iter().map(|member| json!({"@odata.id": member})).collect();
    json!({"@odata.id": path, "Name": "Collection", "Members@odata.count": links.len(), "Members": links})
}

/// What the resources say of the machine.
pub(super) struct Seen {
    pub(super) is_on: bool,
    pub(super) macs: Vec<String>,
}

/// Returns the resource at a path below `/redfish/v1`.
pub(super) fn resource(behaviour: &Behaviour, state: &State, seen: &Seen, path: &str) -> Option<Value> {
    let below = |name: &str| format!("/redfish/v1{path}/{name}");
    Some(match path {
        "" => root(behaviour),
        "/Systems" => collection("/redfish/v1/Systems", &[below("1")]),
        "/Systems/1" => system(behaviour, state, seen.is_on),
        "/Systems/1/ResetActionInfo" => json!({
            "Id": "ResetActionInfo", "Name": "Reset",
            "Parameters": [{"Name": "ResetType", "Required": true, "DataType": "String", "AllowableValues": RESET_TYPES}],
        }),
        "/Systems/1/SecureBoot" => json!({
            "Id": "SecureBoot", "Name": "UEFI Secure Boot",
            "SecureBootEnable": state.secure_boot, "SecureBootMode": "DeployedMode",
        }),
        "/Systems/1/EthernetInterfaces" => {
            let cards: Vec<String> = (1..=seen.macs.len()).map(|card| below(&card.to_string())).collect();
            collection(&format!("/redfish/v1{path}"), &cards)
        }
        "/Systems/1/Bios" => json!({
            "Id": "Bios", "Name": "BIOS", "AttributeRegistry": "BiosAttributeRegistry.v1_0_0", "Attributes": state.attributes,
            "@Redfish.Settings": {"SettingsObject": {"@odata.id": below("Settings")}, "SupportedApplyTimes": ["OnReset"]},
        }),
        "/Systems/1/Bios/Settings" => {
            let mut attributes = state.attributes.clone();
            for (name, value) in state.pending.as_object().into_iter().flatten() {
                attributes[name] = value.clone();
            }
            json!({"Id": "Settings", "Name": "BIOS", "Attributes": attributes})
        }
        "/Registries" => collection("/redfish/v1/Registries", &[below("BiosAttributeRegistry.v1_0_0")]),
        "/Registries/BiosAttributeRegistry.v1_0_0" => {
            json!({"Id": "File", "Location": [{"Language": "en-US", "Uri": "/redfish/v1/Registries/Bios.json"}]})
        }
        "/Registries/Bios.json" => json!({"RegistryEntries": {"Attributes": [
            {"AttributeName": "BootMode", "Type": "Enumeration", "Value": [{"ValueName": "Bios"}, {"ValueName": "Uefi"}]},
            {"AttributeName": "Cores", "Type": "Integer", "LowerBound": 1, "UpperBound": 64},
        ]}}),
        "/Managers" => collection("/redfish/v1/Managers", &[below("1")]),
        "/Managers/1" => manager(behaviour),
        "/Managers/1/VirtualMedia" => {
            collection(&format!("/redfish/v1{path}"), &[below("Floppy"), below("Cd")])
        }
        "/Managers/1/VirtualMedia/Floppy" => {
            json!({"Id": "Floppy", "MediaTypes": ["Floppy"], "Inserted": false})
        }
        "/Managers/1/VirtualMedia/Cd" => cd(behaviour, state),
        "/Managers/1/Oem/Dell/DellAttributes/iDRAC.Embedded.1" if behaviour.vendor == Some("Dell") => {
            json!({"Id": "iDRACAttributes", "Attributes": state.dell})
        }
        "/Chassis/1" => json!({
            "@odata.id": "/redfish/v1/Chassis/1", "Id": "1", "Name": "Chassis", "ChassisType": "RackMount",
            "NetworkAdapters": {"@odata.id": below("NetworkAdapters")},
        }),
        "/Chassis/1/NetworkAdapters" => collection(&format!("/redfish/v1{path}"), &[below("NIC1")]),
        "/Chassis/1/NetworkAdapters/NIC1" => {
            json!({"Id": "NIC1", "Controllers": [{"FirmwarePackageVersion": "22.1"}]})
        }
        "/UpdateService" => json!({"Actions": {"#UpdateService.SimpleUpdate": {
            "target": below("Actions/UpdateService.SimpleUpdate"), "TransferProtocol@Redfish.AllowableValues": ["HTTP", "HTTPS"],
        }}}),
        "/EventService" => {
            json!({"Id": "EventService", "Subscriptions": {"@odata.id": below("Subscriptions")}})
        }
        "/EventService/Subscriptions" => {
            let members: Vec<String> =
                state.subscriptions.keys().map(|path| format!("/redfish/v1{path}")).collect();
            collection(&format!("/redfish/v1{path}"), &members)
        }
        _ => return numbered(state, seen, path),
    })
}

fn numbered(state: &State, seen: &Seen, path: &str) -> Option<Value> {
    if let Some(card) = path.strip_prefix("/Systems/1/EthernetInterfaces/") {
        let mac = seen.macs.get(card.parse::<usize>().ok()?.checked_sub(1)?)?;
        return Some(json!({"Id": card, "MACAddress": mac.to_uppercase()}));
    }
    state.subscriptions.get(path).cloned()
}

fn root(behaviour: &Behaviour) -> Value {
    let link = |name: &str| json!({"@odata.id": format!("/redfish/v1/{name}")});
    let mut root = json!({
        "@odata.id": "/redfish/v1", "Id": "RootService", "Name": "Root Service", "RedfishVersion": "1.8.0",
        "Systems": link("Systems"), "Managers": link("Managers"), "Registries": link("Registries"),
        "UpdateService": link("UpdateService"), "EventService": link("EventService"),
        "Links": {"Sessions": link("SessionService/Sessions")},
    });
    if let Some(vendor) = behaviour.vendor {
        root["Vendor"] = json!(vendor);
    }
    root
}

fn system(behaviour: &Behaviour, state: &State, power: bool) -> Value {
    let link = |name: &str| json!({"@odata.id": format!("/redfish/v1/{name}")});
    let mut boot = json!(state.boot);
    let targets: &[&str] = if behaviour.no_http_boot {
        &["None", "Pxe", "Cd", "Hdd"]
    } else {
        &["None", "Pxe", "Cd", "UsbCd", "Hdd", "UefiHttp"]
    };
    boot["BootSourceOverrideTarget@Redfish.AllowableValues"] = json!(targets);
    if behaviour.once_is_continuous && boot["BootSourceOverrideEnabled"] == "Once" {
        boot["BootSourceOverrideEnabled"] = json!("Continuous");
    }
    let mut reset = json!({"target": "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset"});
    if behaviour.action_info {
        reset["@Redfish.ActionInfo"] = json!("/redfish/v1/Systems/1/ResetActionInfo");
    } else {
        reset["ResetType@Redfish.AllowableValues"] = json!(RESET_TYPES);
    }
    json!({
        "@odata.id": "/redfish/v1/Systems/1", "Id": "1", "Name": "System", "SystemType": "Physical",
        "Manufacturer": behaviour.vendor.unwrap_or("Contoso"), "Model": "3500RX", "SerialNumber": "437XR1138R2", "SKU": "8675309",
        "UUID": "38947555-7742-3448-3784-823347823834", "PowerState": if power { "On" } else { "Off" }, "BiosVersion": "P79 v1.33",
        "Boot": boot, "SecureBoot": link("Systems/1/SecureBoot"), "Bios": link("Systems/1/Bios"),
        "EthernetInterfaces": link("Systems/1/EthernetInterfaces"),
        "Links": {"ManagedBy": [link("Managers/1")], "Chassis": [link("Chassis/1")]},
        "Actions": {"#ComputerSystem.Reset": reset},
    })
}

fn manager(behaviour: &Behaviour) -> Value {
    let mut manager = json!({
        "Id": "1", "Name": "Manager", "ManagerType": "BMC", "FirmwareVersion": "1.45.455b66",
        "VirtualMedia": {"@odata.id": "/redfish/v1/Managers/1/VirtualMedia"},
    });
    if behaviour.vendor == Some("Dell") {
        let path = "/redfish/v1/Managers/1/Oem/Dell/DellAttributes/iDRAC.Embedded.1";
        manager["Links"] = json!({"Oem": {"Dell": {"DellAttributes": [{"@odata.id": path}]}}});
    }
    manager
}

fn cd(behaviour: &Behaviour, state: &State) -> Value {
    let mut cd = json!({
        "Id": "Cd", "Name": "Virtual CD", "MediaTypes": ["CD", "DVD"], "Inserted": state.media.is_some(),
        "Image": state.media, "WriteProtected": true,
    });
    if behaviour.vendor == Some("HPE") {
        cd["Oem"] = json!({"Hpe": {"BootOnNextServerReset": state.media_boots}});
    }
    if !behaviour.media_by_patch {
        let target = |name: &str| json!({"target": format!("/redfish/v1/Managers/1/VirtualMedia/Cd/Actions/VirtualMedia.{name}")});
        cd["Actions"] = json!({"#VirtualMedia.InsertMedia": target("InsertMedia"), "#VirtualMedia.EjectMedia": target("EjectMedia")});
    }
    cd
}
