//! Container Linux Configs: values are read as by Go's decoder, refused as by Ignition, and nothing disappears.

use schemas::container_linux::ignition;
use serde_json::{Value, json};

fn converted(text: &str) -> Value {
    ignition(text, false).unwrap()
}

#[test]
fn files_and_directories_have_a_mode() {
    let config = converted(
        "storage: {files: [{path: /f}], directories: [{path: /d}], links: [{path: /l, target: /f}]}",
    );
    let storage = &config["storage"];
    assert_eq!(storage["files"][0]["mode"], 0o644);
    assert_eq!(storage["directories"][0]["mode"], 0o755);
    assert_eq!(storage["links"][0], json!({"filesystem": "root", "path": "/l", "target": "/f"}));
}

#[test]
fn the_field_decides_what_a_scalar_is() {
    let inline = |text: &str| {
        let config = converted(&format!("storage: {{files: [{{path: /f, contents: {{inline: {text}}}}}]}}"));
        config["storage"]["files"][0]["contents"]["source"].as_str().unwrap().to_owned()
    };
    for (text, expected) in [
        ("y", "y"),
        ("1", "1"),
        ("1.0", "1.0"),
        ("0x10", "0x10"),
        ("true", "true"),
        ("2026-01-01", "2026-01-01"),
        ("~", ""),
        ("'~'", "%7E"),
        ("!!binary aGk=", "hi"),
    ] {
        assert_eq!(inline(text).replace("data:,", "").replace('~', "%7E"), expected, "{text}");
    }
    let mode = |text: &str| {
        let config = ignition(&format!("storage: {{files: [{{path: /f, mode: {text}}}]}}"), false);
        config.map(|config| config["storage"]["files"][0]["mode"].as_u64().unwrap())
    };
    for (text, expected) in [("0644", 0o644), ("0o644", 0o644), ("420", 420), ("0x1a4", 420), ("~", 0o644)] {
        assert_eq!(mode(text), Ok(expected), "{text}");
    }
    for text in ["'0644'", "rw", "true", "[1]"] {
        assert_eq!(mode(text).unwrap_err(), "storage.files[0].mode must be a whole number", "{text}");
    }
    assert_eq!(mode("010000").unwrap_err(), "storage.files[0].mode must be from 0 to 07777");
    let flags = "systemd: {units: [{name: a.service, enable: yes, mask: 'on', enabled: n}]}";
    let unit = json!({"name": "a.service", "enable": true, "mask": true, "enabled": false});
    assert_eq!(converted(flags)["systemd"]["units"][0], unit);
    let flag = ignition("systemd: {units: [{name: a.service, mask: 1}]}", false);
    assert_eq!(flag.unwrap_err(), "systemd.units[0].mask must be true or false");
}

#[test]
fn a_download_is_verified_or_refused() {
    let remote = |verification: &str| {
        let remote = format!("{{url: 'https://a/b', verification: {verification}}}");
        ignition(&format!("storage: {{files: [{{path: /f, contents: {{remote: {remote}}}}}]}}"), false)
    };
    let digits = "1234567890".repeat(13).chars().take(128).collect::<String>();
    for sum in [digits.clone(), "ab".repeat(64)] {
        let config = remote(&format!("{{hash: {{function: sha512, sum: {sum}}}}}")).unwrap();
        let contents = &config["storage"]["files"][0]["contents"];
        assert_eq!(contents["verification"], json!({"hash": format!("sha512-{sum}")}));
    }
    let none = remote("{hash: {}}").unwrap();
    assert_eq!(none["storage"]["files"][0]["contents"], json!({"source": "https://a/b"}));
    let field = "storage.files[0].contents.remote.verification";
    for (verification, expected) in [
        (format!("{{hash: sha512-{digits}}}"), "hash must be a map"),
        (format!("sha512-{digits}"), " must be a map"),
        (format!("{{hash: {{sum: {digits}}}}}"), "hash.function must be set"),
        (format!("{{hash: {{function: sha1, sum: {digits}}}}}"), "hash.function must be sha512"),
        ("{hash: {function: sha512}}".to_owned(), "hash.sum must have 128 hexadecimal digits"),
        ("{hash: {function: sha512, sum: 12}}".to_owned(), "hash.sum must have 128 hexadecimal digits"),
    ] {
        let expected = if expected.starts_with(' ') { expected.to_owned() } else { format!(".{expected}") };
        assert_eq!(remote(&verification).unwrap_err(), format!("{field}{expected}"));
    }
}

#[test]
fn partitions_are_measured_in_mebibytes() {
    let partition = |fields: &str| {
        ignition(&format!("storage: {{disks: [{{device: /dev/a, partitions: [{{{fields}}}]}}]}}"), false)
    };
    for (size, expected) in [
        ("512MiB", 512),
        ("1GiB", 1024),
        ("1.5GiB", 1536),
        ("1GiB512MiB", 1536),
        ("2048KB", 2),
        ("1048576B", 1),
        ("0", 0),
    ] {
        let config =
            partition(&format!("size: {size}, start: 1MiB, type_guid: raid_containing_root")).unwrap();
        let guid = "be9067b9-ea49-4f15-b4f6-f36f8c9e1818";
        let partition = json!({"sizeMiB": expected, "startMiB": 1, "typeGuid": guid});
        assert_eq!(config["storage"]["disks"][0]["partitions"][0], partition, "{size}");
    }
    for (fields, expected) in [
        ("size: big", "size is no size, such as 512MiB"),
        ("size: 2048", "size is no size, such as 512MiB"),
        ("size: -1MiB", "size is no size, such as 512MiB"),
        ("start: 1KiB", "start must be whole MiB"),
        ("guid: x", "guid must have the form 01234567-89AB-CDEF-EDCB-A98765432101"),
    ] {
        let expected = format!("storage.disks[0].partitions[0].{expected}");
        assert_eq!(partition(fields).unwrap_err(), expected, "{fields}");
    }
}

#[test]
fn what_ignition_refuses_is_refused() {
    for (text, expected) in [
        ("storage: {files: {}}", "storage.files must be a list"),
        ("storage: {files: [{path: a}]}", "storage.files[0].path must be an absolute path"),
        (
            "storage: {files: [{path: /a, user: {id: 1, name: x}}]}",
            "storage.files[0].user can have only one of id and name",
        ),
        (
            "storage: {files: [{path: /a, append: true, overwrite: true}]}",
            "storage.files[0] can have only one of append and overwrite",
        ),
        (
            "storage: {files: [{path: /a, contents: {local: a}}]}",
            "storage.files[0].contents.local is not possible: there is no folder with such files",
        ),
        (
            "storage: {files: [{path: /a, contents: {inline: a, remote: {url: 'http://a'}}}]}",
            "storage.files[0].contents can have only one of inline and remote.url",
        ),
        (
            "storage: {files: [{path: /a, contents: {remote: {url: 'ftp://a'}}}]}",
            "storage.files[0].contents.remote.url must begin with one of: http, https, oem, tftp, s3, data",
        ),
        ("storage: {raid: [{name: a, level: raid7}]}", "storage.raid[0].level is not known: \"raid7\""),
        ("storage: {filesystems: [{name: a}]}", "storage.filesystems[0] must have mount or path"),
        (
            "storage: {filesystems: [{name: a, mount: {device: /a, format: ntfs}}]}",
            "storage.filesystems[0].mount.format is not known: \"ntfs\"",
        ),
        (
            "systemd: {units: [{name: a}]}",
            "systemd.units[0].name must end in one of: service, socket, device, mount, automount, swap, target, path, timer, snapshot, slice, scope",
        ),
        (
            "systemd: {units: [{name: a.service, contents: \"[Service]\\nExec\"}]}",
            "systemd.units[0].contents has a line that is neither section nor option: Exec",
        ),
        (
            "systemd: {units: [{name: a.service, dropins: [{name: a.service}]}]}",
            "systemd.units[0].dropins[0].name must end in one of: conf",
        ),
        (
            "passwd: {users: [{name: a, shell: x, create: {uid: 1}}]}",
            "passwd.users[0] cannot have both create and shell",
        ),
        ("passwd: {groups: [{name: a, gid: -1}]}", "passwd.groups[0].gid must not be negative"),
        ("version: 1", "version must be 0"),
        ("update: {group: beta}", "update is not supported: write its units and files instead"),
    ] {
        assert_eq!(ignition(text, false).unwrap_err(), expected, "{text}");
    }
}

#[test]
fn a_strict_configuration_has_no_warnings() {
    for (text, expected) in [
        ("storage: {files: [{path: /a, mode: 0644, color: red}]}", "storage.files[0].color is not known"),
        ("storage: {files: [{path: /a}]}", "storage.files[0].mode must be set"),
        (
            "storage: {directories: [{path: /a, mode: 0755, filesystem: x}]}",
            "storage.directories[0].filesystem names no filesystem of the configuration",
        ),
        (
            "systemd: {units: [{name: a.service, enabled: true, contents: '[Unit]'}]}",
            "systemd.units[0] is enabled, but its contents have no section Install",
        ),
        (
            "passwd: {users: [{name: a, create: {uid: 1}}]}",
            "passwd.users[0].create is obsolete: write its fields into the user",
        ),
    ] {
        assert_eq!(ignition(text, true).unwrap_err(), expected, "{text}");
        assert!(ignition(text, false).is_ok(), "{text}");
    }
}
