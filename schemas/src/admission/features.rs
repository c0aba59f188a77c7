//! Feature gates with Cluster API's names and syntax.

use std::str::FromStr;

/// Optional features of Cluster API. The defaults are those of Cluster API's feature gates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Features {
    /// `ClusterTopology`: ClusterClasses, and Clusters created from them.
    pub cluster_topology: bool,
    /// `MachinePool`.
    pub machine_pool: bool,
    /// `MachineSetPreflightChecks`.
    pub machine_set_preflight_checks: bool,
    /// `MachineTaintPropagation`: the field `taints` of Machines.
    pub machine_taint_propagation: bool,
    /// `KubeadmBootstrapFormatIgnition`.
    pub kubeadm_bootstrap_format_ignition: bool,
    /// `RuntimeSDK`: ExtensionConfig.
    pub runtime_sdk: bool,
}

impl Default for Features {
    fn default() -> Self {
        Self {
            cluster_topology: false,
            machine_pool: true,
            machine_set_preflight_checks: true,
            machine_taint_propagation: false,
            kubeadm_bootstrap_format_ignition: false,
            runtime_sdk: false,
        }
    }
}

/// The feature gates of Cluster API 1.14, each with its name and whether it is alpha. Gates that only upstream's managers use are included,
/// so that the same flag value works for both.
const GATES: &[(&str, bool)] = &[
    ("ClusterResourceSet", false),
    ("ClusterTopology", true),
    ("InPlaceUpdates", true),
    ("KubeadmBootstrapFormatIgnition", true),
    ("MachinePool", false),
    ("MachineSetPreflightChecks", false),
    ("MachineTaintPropagation", true),
    ("MachineWaitForVolumeDetachConsiderVolumeAttachments", false),
    ("PriorityQueue", false),
    ("ReconcilerRateLimiting", false),
    ("RuntimeSDK", true),
];

/// Feature gates that the controllers of this program do not implement, each with the family of controllers (`--controllers`) that would
/// implement it. If such a gate were on while that family runs, the server would accept objects and nothing would happen.
const NOT_IMPLEMENTED: &[(&str, &str)] = &[
    ("ClusterTopology", "core"),
    ("InPlaceUpdates", "core"),
    ("KubeadmBootstrapFormatIgnition", "kubeadm"),
    ("MachineTaintPropagation", "core"),
    ("RuntimeSDK", "core"),
];

/// Feature gates turned on or off by the user: `ClusterTopology=true,MachinePool=false`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gates(Vec<(&'static str, bool)>);

impl FromStr for Gates {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut gates = Self::default();
        for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
            let (name, value) = pair
                .split_once('=')
                .ok_or_else(|| format!("{pair:?} has no value; write {pair}=true or {pair}=false"))?;
            let value = boolean(value.trim())
                .ok_or_else(|| format!("{value:?} is not a valid value of {name}; write true or false"))?;
            gates.set(name.trim(), value)?;
        }
        Ok(gates)
    }
}

/// Parses a boolean as Go's `strconv.ParseBool` does.
fn boolean(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

impl Gates {
    /// On without being asked for: what only families of controllers can implement that are not `running` here. Whoever runs them
    /// decides.
    pub fn left_to_others(running: &[&str]) -> Self {
        let theirs = NOT_IMPLEMENTED.iter().filter(|(_, family)| !running.contains(family));
        Self(theirs.map(|(name, _)| (*name, true)).collect())
    }

    /// Combines both sets of gates; `others` takes precedence.
    #[must_use]
    pub fn and(mut self, others: &Self) -> Self {
        self.0.extend(&others.0);
        self
    }

    fn set(&mut self, name: &str, value: bool) -> Result<(), String> {
        let is_meant = |(gate, alpha): &&(&'static str, bool)| match name {
            "AllAlpha" => *alpha,
            "AllBeta" => !*alpha,
            name => *gate == name,
        };
        let found: Vec<_> = GATES.iter().filter(is_meant).map(|(gate, _)| (*gate, value)).collect();
        if found.is_empty() {
            let known: Vec<&str> = GATES.iter().map(|(name, _)| *name).collect();
            return Err(format!("there is no feature gate {name:?}; there are {}", known.join(", ")));
        }
        self.0.extend(found);
        Ok(())
    }

    fn get(&self, name: &str) -> Option<bool> {
        self.0.iter().rev().find(|(gate, _)| *gate == name).map(|(_, value)| *value)
    }

    /// Gates that are on and that the families of controllers which are `running` do not implement.
    pub fn not_implemented(&self, running: &[&str]) -> Vec<&'static str> {
        let ours = NOT_IMPLEMENTED.iter().filter(|(_, family)| running.contains(family));
        ours.map(|(name, _)| *name).filter(|name| self.get(name) == Some(true)).collect()
    }

    /// Returns the features: Cluster API's defaults, changed by these gates.
    pub fn features(&self) -> Features {
        let default = Features::default();
        let get = |name: &str, default: bool| self.get(name).unwrap_or(default);
        Features {
            cluster_topology: get("ClusterTopology", default.cluster_topology),
            machine_pool: get("MachinePool", default.machine_pool),
            machine_set_preflight_checks: get(
                "MachineSetPreflightChecks",
                default.machine_set_preflight_checks,
            ),
            machine_taint_propagation: get("MachineTaintPropagation", default.machine_taint_propagation),
            kubeadm_bootstrap_format_ignition: get(
                "KubeadmBootstrapFormatIgnition",
                default.kubeadm_bootstrap_format_ignition,
            ),
            runtime_sdk: get("RuntimeSDK", default.runtime_sdk),
        }
    }
}

/// Returns the error for using a feature whose gate is off.
pub(super) fn off(gate: &str) -> String {
    if NOT_IMPLEMENTED.iter().any(|(name, _)| *name == gate) {
        return format!(
            "the feature gate {gate} is off: the controllers of this program do not implement it; where upstream's managers run \
             instead, start the server with --controllers none --feature-gates {gate}=true"
        );
    }
    format!("the feature gate {gate} is off: start the server with --feature-gates {gate}=true")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_read_as_upstream_reads_them() {
        let features = |text: &str| text.parse::<Gates>().map(|gates| gates.features());
        assert_eq!(features(""), Ok(Features::default()));
        let expected = Features { cluster_topology: true, machine_pool: false, ..Features::default() };
        assert_eq!(features("ClusterTopology=true, MachinePool=F,PriorityQueue=0"), Ok(expected));
        assert_eq!(
            features("RuntimeSDK=true,RuntimeSDK=false"),
            Ok(Features::default()),
            "the last one counts"
        );
        let all = features("AllAlpha=true").unwrap();
        assert_eq!(all, Gates::left_to_others(&[]).features());
        assert!(all.runtime_sdk && all.machine_pool && all.machine_taint_propagation);
        assert!(!features("AllBeta=false").unwrap().machine_pool);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let wrong = |text: &str| text.parse::<Gates>().unwrap_err();
        let unknown = wrong("ClusterTopologies=true");
        assert!(
            unknown.starts_with("there is no feature gate \"ClusterTopologies\"; there are "),
            "{unknown}"
        );
        assert!(unknown.contains("ClusterTopology, ") && unknown.ends_with("RuntimeSDK"), "{unknown}");
        assert!(wrong("MachinePool").contains("write MachinePool=true"));
        assert!(wrong("MachinePool=on").contains("write true or false"));
    }

    #[test]
    fn gates_without_a_controller_here() {
        let gates: Gates = "ClusterTopology=true,MachinePool=true,RuntimeSDK=false".parse().unwrap();
        let both = ["core", "kubeadm", "simulated"];
        assert_eq!(gates.not_implemented(&both), ["ClusterTopology"]);
        assert!(gates.not_implemented(&["kubeadm"]).is_empty());
        assert_eq!(Gates::left_to_others(&both), Gates::default());
        let left = Gates::left_to_others(&["kubeadm"]).and(&"RuntimeSDK=false".parse().unwrap()).features();
        assert!(left.cluster_topology && !left.runtime_sdk && !left.kubeadm_bootstrap_format_ignition);
        assert!(off("RuntimeSDK").ends_with("--controllers none --feature-gates RuntimeSDK=true"));
    }
}
