//! Converts a checked Container Linux Config into an Ignition configuration.

use serde_json::{Value, json};

use super::data_url;
use super::parts::text;
use super::size::mebibytes;

/// The bits of a file for which none are given.
const FILE_MODE: u32 = 0o644;
/// The bits of a directory for which none are given.
const DIRECTORY_MODE: u32 = 0o755;
/// The words for types of partitions, and their GUIDs.
pub(super) const PARTITION_TYPES: &[(&str, &str)] = &[
    ("raid_containing_root", "be9067b9-ea49-4f15-b4f6-f36f8c9e1818"),
    ("linux_filesystem_data", "0fc63daf-8483-4772-8e79-3d69d8477de4"),
    ("raid_partition", "a19d880f-05fc-4d3b-a006-743f0f84911e"),
    ("swap_partition", "0657fd6d-a4ab-43c4-84e5-0933c84b4f4f"),
];

/// Returns the Ignition configuration.
///
/// # Errors
/// Names the size that cannot be expressed.
pub fn convert(mut config: Value) -> Result<Value, String> {
    if let Some(root) = config.as_object_mut() {
        root.remove("version");
    }
    for (list, mode) in [
        ("/storage/files", Some(FILE_MODE)),
        ("/storage/directories", Some(DIRECTORY_MODE)),
        ("/storage/links", None),
    ] {
        for node in entries(&mut config, list) {
            default(node, "filesystem", "root".into());
            if let Some(mode) = mode {
                default(node, "mode", mode.into());
            }
        }
    }
    for file in entries(&mut config, "/storage/files") {
        file["contents"] = contents(&file["contents"]);
    }
    for (index, disk) in entries(&mut config, "/storage/disks").iter_mut().enumerate() {
        for (number, partition) in entries(disk, "/partitions").iter_mut().enumerate() {
            sizes_and_type(partition).map_err(|(field, why)| {
                format!("storage.disks[{index}].partitions[{number}].{field} {why}")
            })?;
        }
    }
    for list in ["/ignition/config/append", "/ignition/security/tls/certificate_authorities"] {
        entries(&mut config, list).iter_mut().for_each(verified);
    }
    config.pointer_mut("/ignition/config/replace").into_iter().for_each(verified);
    Ok(in_camel_case(config))
}

fn entries<'a>(value: &'a mut Value, list: &str) -> &'a mut [Value] {
    value.pointer_mut(list).and_then(Value::as_array_mut).map(Vec::as_mut_slice).unwrap_or_default()
}

/// Sets a field that is absent or empty.
fn default(node: &mut Value, field: &str, value: Value) {
    if node[field].is_null() || node[field] == "" {
        node[field] = value;
    }
}

/// Returns where the content of a file comes from.
fn contents(given: &Value) -> Value {
    let remote = &given["remote"];
    let source = match (text(given, "inline"), text(remote, "url")) {
        ("", "") => "data:,".to_owned(),
        ("", url) => url.to_owned(),
        (inline, _) => data_url(inline.as_bytes()),
    };
    let mut out = json!({"source": source});
    if !text(remote, "compression").is_empty() {
        out["compression"] = remote["compression"].clone();
    }
    if let Some(verification) = verification(&remote["verification"]) {
        out["verification"] = verification;
    }
    out
}

fn verification(given: &Value) -> Option<Value> {
    let hash = &given["hash"];
    let (function, sum) = (text(hash, "function"), text(hash, "sum"));
    (!function.is_empty()).then(|| json!({"hash": format!("{function}-{sum}")}))
}

/// Writes the verification of a reference as Ignition has it.
fn verified(reference: &mut Value) {
    let verification = verification(&reference["verification"]);
    let Some(fields) = reference.as_object_mut() else { return };
    fields.remove("verification");
    fields.extend(verification.map(|verification| ("verification".to_owned(), verification)));
}

/// Writes sizes in MiB, and words for types as GUIDs.
fn sizes_and_type(partition: &mut Value) -> Result<(), (&'static str, String)> {
    for (field, ignition) in [("size", "size_MiB"), ("start", "start_MiB")] {
        let given = text(partition, field).to_owned();
        if let Some(fields) = partition.as_object_mut() {
            fields.remove(field);
        }
        if !given.is_empty() {
            partition[ignition] = mebibytes(&given).map_err(|why| (field, why))?.into();
        }
    }
    let word = text(partition, "type_guid");
    if let Some((_, guid)) = PARTITION_TYPES.iter().find(|(known, _)| *known == word) {
        partition["type_guid"] = Value::from(*guid);
    }
    Ok(())
}

/// Writes all fields in camel case.
fn in_camel_case(value: Value) -> Value {
    match value {
        Value::Array(entries) => entries.into_iter().map(in_camel_case).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter();
            fields.map(|(name, value)| (camel_case(&name), in_camel_case(value))).collect()
        }
        other => other,
    }
}

fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let mut letters = word.chars();
        let capital = letters.next().map(|letter| letter.to_ascii_uppercase());
        name + &capital.into_iter().chain(letters).collect::<String>()
    })
}
