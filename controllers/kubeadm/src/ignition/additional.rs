//! Reads a Container Linux Config and converts it into an Ignition configuration: fields have other names, and a few
//! have another form.

use serde_json::{Map, Value, json};

use super::config::{Config, data_url};

/// The form of a field.
enum Form {
    /// The value is kept.
    Same,
    /// Each entry of the list, or the object, has these fields.
    Fields(&'static [Field]),
    /// The content of a file.
    Contents,
    /// A size: a number of sectors, or a number with `KiB`, `MiB`, `GiB` or `TiB`.
    Sectors,
    /// A GUID, or one of the words of [`PARTITION_TYPES`].
    PartitionType,
}

/// The words for types of partitions.
const PARTITION_TYPES: &[(&str, &str)] = &[
    ("linux_filesystem_data", "0fc63daf-8483-4772-8e79-3d69d8477de4"),
    ("raid_partition", "a19d880f-05fc-4d3b-a006-743f0f84911e"),
    ("swap_partition", "0657fd6d-a4ab-43c4-84e5-0933c84b4f4f"),
];

/// A field: its name, its name in Ignition, its form.
type Field = (&'static str, &'static str, Form);

const fn same(name: &'static str) -> Field {
    (name, name, Form::Same)
}

const fn renamed(name: &'static str, ignition: &'static str) -> Field {
    (name, ignition, Form::Same)
}

const USERS: &[Field] = &[
    same("name"),
    renamed("password_hash", "passwordHash"),
    renamed("ssh_authorized_keys", "sshAuthorizedKeys"),
    same("uid"),
    same("gecos"),
    renamed("home_dir", "homeDir"),
    renamed("no_create_home", "noCreateHome"),
    renamed("primary_group", "primaryGroup"),
    same("groups"),
    renamed("no_user_group", "noUserGroup"),
    renamed("no_log_init", "noLogInit"),
    same("shell"),
    same("system"),
];
const GROUPS: &[Field] =
    &[same("name"), same("gid"), renamed("password_hash", "passwordHash"), same("system")];
const DROPINS: &[Field] = &[same("name"), same("contents")];
const UNITS: &[Field] = &[
    same("name"),
    same("enable"),
    same("enabled"),
    same("mask"),
    same("contents"),
    ("dropins", "dropins", Form::Fields(DROPINS)),
];
const NETWORKS: &[Field] = &[same("name"), same("contents"), ("dropins", "dropins", Form::Fields(DROPINS))];
const PARTITIONS: &[Field] = &[
    same("label"),
    same("number"),
    ("size", "size", Form::Sectors),
    ("start", "start", Form::Sectors),
    same("guid"),
    ("type_guid", "typeGuid", Form::PartitionType),
    renamed("wipe_partition_entry", "wipePartitionEntry"),
    renamed("should_exist", "shouldExist"),
];
const DISKS: &[Field] = &[
    same("device"),
    renamed("wipe_table", "wipeTable"),
    ("partitions", "partitions", Form::Fields(PARTITIONS)),
];
const ARRAYS: &[Field] = &[same("name"), same("level"), same("devices"), same("spares"), same("options")];
const MOUNT: &[Field] = &[
    same("device"),
    same("format"),
    renamed("wipe_filesystem", "wipeFilesystem"),
    same("label"),
    same("uuid"),
    same("options"),
];
const FILESYSTEMS: &[Field] = &[same("name"), ("mount", "mount", Form::Fields(MOUNT)), same("path")];
const OWNER: &[Field] = &[same("id"), same("name")];
const FILES: &[Field] = &[
    same("filesystem"),
    same("path"),
    same("mode"),
    ("user", "user", Form::Fields(OWNER)),
    ("group", "group", Form::Fields(OWNER)),
    same("append"),
    same("overwrite"),
    ("contents", "contents", Form::Contents),
];
const DIRECTORIES: &[Field] = &[
    same("filesystem"),
    same("path"),
    same("mode"),
    ("user", "user", Form::Fields(OWNER)),
    ("group", "group", Form::Fields(OWNER)),
    same("overwrite"),
];
const LINKS: &[Field] = &[
    same("filesystem"),
    same("path"),
    ("user", "user", Form::Fields(OWNER)),
    ("group", "group", Form::Fields(OWNER)),
    same("hard"),
    same("target"),
    same("overwrite"),
];
const SECTIONS: &[Field] = &[
    (
        "passwd",
        "passwd",
        Form::Fields(&[("users", "users", Form::Fields(USERS)), ("groups", "groups", Form::Fields(GROUPS))]),
    ),
    ("systemd", "systemd", Form::Fields(&[("units", "units", Form::Fields(UNITS))])),
    ("networkd", "networkd", Form::Fields(&[("units", "units", Form::Fields(NETWORKS))])),
    (
        "storage",
        "storage",
        Form::Fields(&[
            ("disks", "disks", Form::Fields(DISKS)),
            ("raid", "raid", Form::Fields(ARRAYS)),
            ("filesystems", "filesystems", Form::Fields(FILESYSTEMS)),
            ("files", "files", Form::Fields(FILES)),
            ("directories", "directories", Form::Fields(DIRECTORIES)),
            ("links", "links", Form::Fields(LINKS)),
        ]),
    ),
];

/// Sections for programs of Container Linux that are made into units. Nothing here does that.
const NOT_SUPPORTED: &[&str] = &["docker", "etcd", "flannel", "ignition", "locksmith", "update"];

/// Reads a Container Linux Config. If it is not `strict`, unknown fields are left out.
///
/// # Errors
/// Names the field that is wrong.
pub fn parse(text: &str, strict: bool) -> Result<Config, String> {
    // Modes are written as in YAML 1.1: 0644 is octal.
    let options = serde_saphyr::options! { legacy_octal_numbers: true };
    let parsed = serde_saphyr::from_str_with_options::<Value>(text, options);
    let parsed = parsed.map_err(|error| format!("is not YAML: {error}"))?;
    let root = match parsed {
        Value::Null => Map::new(),
        Value::Object(root) => root,
        _ => return Err("must be a map".to_owned()),
    };
    if let Some(name) = NOT_SUPPORTED.iter().find(|name| root.contains_key(**name)) {
        return Err(format!("{name} is not supported: write its units and files instead"));
    }
    let Value::Object(sections) = fields(Value::Object(root), SECTIONS, "", strict)? else {
        return Err("must be a map".to_owned());
    };
    let mut config = Config::default();
    for (section, lists) in sections {
        let Value::Object(lists) = lists else { return Err(format!("{section} must be a map")) };
        for (list, entries) in lists {
            let Value::Array(entries) = entries else {
                return Err(format!("{section}.{list} must be a list"));
            };
            entries.into_iter().for_each(|entry| config.push(&section, &list, entry));
        }
    }
    Ok(config)
}

/// Converts an object, or each object of a list.
fn fields(value: Value, known: &[Field], path: &str, strict: bool) -> Result<Value, String> {
    match value {
        Value::Null => Ok(Value::Null),
        Value::Array(entries) => {
            let entries = entries.into_iter().enumerate();
            let entries =
                entries.map(|(index, entry)| fields(entry, known, &format!("{path}[{index}]"), strict));
            Ok(Value::Array(entries.collect::<Result<_, _>>()?))
        }
        Value::Object(map) => {
            let mut out = Map::new();
            for (key, value) in map {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                match known.iter().find(|(name, _, _)| *name == key) {
                    None if strict => return Err(format!("{path} is not known")),
                    None => {}
                    // An empty value is the same as none.
                    Some(_) if value.is_null() => {}
                    Some((_, name, form)) => {
                        out.insert((*name).to_owned(), converted(value, form, &path, strict)?);
                    }
                }
            }
            // Files of a host are on its root filesystem unless they name another one.
            if out.contains_key("path")
                && (path.contains(".files[") || path.contains(".directories[") || path.contains(".links["))
            {
                out.entry("filesystem").or_insert_with(|| "root".into());
            }
            Ok(Value::Object(out))
        }
        _ => Err(format!("{path} must be a map")),
    }
}

fn converted(value: Value, form: &Form, path: &str, strict: bool) -> Result<Value, String> {
    match form {
        Form::Same => Ok(value),
        Form::Fields(known) => fields(value, known, path, strict),
        Form::Contents => contents(&value, path),
        Form::PartitionType => {
            let known = PARTITION_TYPES.iter().find(|(word, _)| value.as_str() == Some(*word));
            Ok(known.map_or(value, |(_, guid)| Value::from(*guid)))
        }
        Form::Sectors => {
            sectors(&value).ok_or_else(|| format!("{path} is no size, such as 512MiB")).map(Value::from)
        }
    }
}

fn contents(value: &Value, path: &str) -> Result<Value, String> {
    if let Some(inline) = value.get("inline") {
        let text = inline.as_str().ok_or_else(|| format!("{path}.inline must be text"))?;
        return Ok(json!({"source": data_url(text.as_bytes())}));
    }
    let remote = value.get("remote").ok_or_else(|| format!("{path} must have inline or remote"))?;
    let url = remote.get("url").and_then(Value::as_str);
    let mut out = json!({"source": url.ok_or_else(|| format!("{path}.remote.url is missing"))?});
    if let Some(compression) = remote.get("compression") {
        out["compression"] = compression.clone();
    }
    let hash = remote.get("verification").and_then(|verification| verification.get("hash"));
    let text = |key: &str| hash.and_then(|hash| hash.get(key)).and_then(Value::as_str);
    if let (Some(function), Some(sum)) = (text("function"), text("sum")) {
        out["verification"] = json!({"hash": format!("{function}-{sum}")});
    }
    Ok(out)
}

const SECTOR: u64 = 512;

fn sectors(value: &Value) -> Option<u64> {
    let Some(text) = value.as_str() else { return value.as_u64() };
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let bytes: u64 = match text.get(digits.len()..)?.trim() {
        "" => SECTOR,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        _ => return None,
    };
    Some(digits.trim().parse::<u64>().ok()?.checked_mul(bytes)? / SECTOR)
}
