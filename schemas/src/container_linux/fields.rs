//! The fields of a Container Linux Config. Ignition has the same ones, in camel case, unless `convert` says otherwise.

use super::read::Form::{Flag, List, Map, Number, Text};
use super::read::{Field, Form};

const TEXTS: Form = List(&Text);

const USER_CREATE: &[Field] = &[
    ("uid", Number),
    ("gecos", Text),
    ("home_dir", Text),
    ("no_create_home", Flag),
    ("primary_group", Text),
    ("groups", TEXTS),
    ("no_user_group", Flag),
    ("system", Flag),
    ("no_log_init", Flag),
    ("shell", Text),
];
const USER: &[Field] = &[
    ("name", Text),
    ("password_hash", Text),
    ("ssh_authorized_keys", TEXTS),
    ("create", Map(USER_CREATE)),
    ("uid", Number),
    ("gecos", Text),
    ("home_dir", Text),
    ("no_create_home", Flag),
    ("primary_group", Text),
    ("groups", TEXTS),
    ("no_user_group", Flag),
    ("no_log_init", Flag),
    ("shell", Text),
    ("system", Flag),
];
const GROUP: &[Field] = &[("name", Text), ("gid", Number), ("password_hash", Text), ("system", Flag)];
const DROPINS: Form = List(&Map(&[("name", Text), ("contents", Text)]));
const UNIT: &[Field] = &[
    ("name", Text),
    ("enable", Flag),
    ("enabled", Flag),
    ("mask", Flag),
    ("contents", Text),
    ("dropins", DROPINS),
];
const NETWORK: &[Field] = &[("name", Text), ("contents", Text), ("dropins", DROPINS)];
// The transpiler does not know the last two, which Ignition has.
const PARTITION: &[Field] = &[
    ("label", Text),
    ("number", Number),
    ("size", Text),
    ("start", Text),
    ("guid", Text),
    ("type_guid", Text),
    ("wipe_partition_entry", Flag),
    ("should_exist", Flag),
];
const DISK: &[Field] = &[("device", Text), ("wipe_table", Flag), ("partitions", List(&Map(PARTITION)))];
const ARRAY: &[Field] =
    &[("name", Text), ("level", Text), ("devices", TEXTS), ("spares", Number), ("options", TEXTS)];
const MOUNT: &[Field] = &[
    ("device", Text),
    ("format", Text),
    ("create", Map(&[("force", Flag), ("options", TEXTS)])),
    ("wipe_filesystem", Flag),
    ("label", Text),
    ("uuid", Text),
    ("options", TEXTS),
];
const FILESYSTEM: &[Field] = &[("name", Text), ("mount", Map(MOUNT)), ("path", Text)];
const OWNER: Form = Map(&[("id", Number), ("name", Text)]);
const VERIFICATION: Form = Map(&[("hash", Map(&[("function", Text), ("sum", Text)]))]);
const REMOTE: &[Field] = &[("url", Text), ("compression", Text), ("verification", VERIFICATION)];
const FILE: &[Field] = &[
    ("filesystem", Text),
    ("path", Text),
    ("user", OWNER),
    ("group", OWNER),
    ("mode", Number),
    ("contents", Map(&[("remote", Map(REMOTE)), ("inline", Text), ("local", Text)])),
    ("overwrite", Flag),
    ("append", Flag),
];
const DIRECTORY: &[Field] = &[
    ("filesystem", Text),
    ("path", Text),
    ("user", OWNER),
    ("group", OWNER),
    ("mode", Number),
    ("overwrite", Flag),
];
const LINK: &[Field] = &[
    ("filesystem", Text),
    ("path", Text),
    ("user", OWNER),
    ("group", OWNER),
    ("hard", Flag),
    ("target", Text),
    ("overwrite", Flag),
];
const STORAGE: &[Field] = &[
    ("disks", List(&Map(DISK))),
    ("raid", List(&Map(ARRAY))),
    ("filesystems", List(&Map(FILESYSTEM))),
    ("files", List(&Map(FILE))),
    ("directories", List(&Map(DIRECTORY))),
    ("links", List(&Map(LINK))),
];
const SOURCE: Form = Map(&[("source", Text), ("verification", VERIFICATION)]);
const IGNITION: &[Field] = &[
    ("config", Map(&[("append", List(&SOURCE)), ("replace", SOURCE)])),
    ("timeouts", Map(&[("http_response_headers", Number), ("http_total", Number)])),
    ("security", Map(&[("tls", Map(&[("certificate_authorities", List(&SOURCE))]))])),
];

/// The whole configuration. The sections for programs of Container Linux are missing: `check` refuses them.
pub const CONFIG: &[Field] = &[
    ("version", Number),
    ("ignition", Map(IGNITION)),
    ("storage", Map(STORAGE)),
    ("systemd", Map(&[("units", List(&Map(UNIT)))])),
    ("networkd", Map(&[("units", List(&Map(NETWORK)))])),
    ("passwd", Map(&[("users", List(&Map(USER))), ("groups", List(&Map(GROUP)))])),
];
