//! Names of containers, which are also the names of hosts and of Nodes. Pure.

use machinery::hash::fnv1a_64;
use system_containers::check_name;
use system_containers::limits::NAME;

/// The length of what follows the last hyphen of a name that was cut or was taken.
const SUFFIX: usize = 8;

/// Returns the name of a machine's container as Cluster API's provider makes it: that of the Machine if it begins with the name of the
/// Cluster, otherwise both. A name that is too long, or has other characters than those of a host name, ends with a hash of it.
pub fn of_machine(cluster: &str, machine: &str) -> String {
    match machine.starts_with(cluster) {
        true => fit(machine),
        false => fit(&format!("{cluster}-{machine}")),
    }
}

/// Returns the name of a load balancer.
pub fn of_balancer(cluster: &str) -> String {
    fit(&format!("{cluster}-lb"))
}

/// Returns the name for a container whose first name another object's container has: of the same Cluster's name in another namespace.
pub fn other(name: &str, uid: &str) -> String {
    with_suffix(name, uid)
}

/// Returns whether an object has the second of two names, the first of which may be another's. Each is `Some` if there is a container of that
/// name, with whether it is the object's own: that stays its own after the other one is gone.
pub fn is_second(first: Option<bool>, second: Option<bool>) -> bool {
    match (first, second) {
        (Some(true), _) => false,
        (_, Some(true)) | (Some(false), _) => true,
        (None, _) => false,
    }
}

fn fit(name: &str) -> String {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '-' }).collect();
    match plain == name && check_name(name).is_ok() {
        true => plain,
        false => with_suffix(&plain, name),
    }
}

fn with_suffix(name: &str, of: &str) -> String {
    let hash = format!("{:016x}", fnv1a_64(of.as_bytes()));
    let kept: String = name.chars().take(NAME - SUFFIX - 1).collect();
    format!("{}-{}", kept.trim_matches('-'), &hash[..SUFFIX]).trim_start_matches('-').to_owned()
}
