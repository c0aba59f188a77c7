//! Feature gates with Cluster API's names and syntax.

use std::str::FromStr;

use machinery::go::parse_bool;

/// Optional features of Cluster API, for admission and for the controllers. Every feature is on by default,
/// also those that are alpha upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Features {
    /// `ClusterTopology`: ClusterClasses, and Clusters created from them.
    pub cluster_topology: bool,
    /// `InPlaceUpdates`: extensions can change machines instead of a rollout.
    pub in_place_updates: bool,
    /// `KubeadmBootstrapFormatIgnition`.
    pub kubeadm_bootstrap_format_ignition: bool,
    /// `MachinePool`.
    pub machine_pool: bool,
    /// `MachineSetPreflightChecks`.
    pub machine_set_preflight_checks: bool,
    /// `MachineTaintPropagation`: the field `taints` of Machines.
    pub machine_taint_propagation: bool,
    /// `MachineWaitForVolumeDetachConsiderVolumeAttachments`: a deleted Machine waits for VolumeAttachments, too.
    pub volume_attachments: bool,
    /// `RuntimeSDK`: ExtensionConfig.
    pub runtime_sdk: bool,
}

impl Default for Features {
    fn default() -> Self {
        Gates::default().features()
    }
}

/// A feature gate of Cluster API 1.14.
struct Gate {
    name: &'static str,
    /// The variable of clusterctl's provider manifests that sets the gate.
    variable: &'static str,
    is_alpha: bool,
}

const fn gate(name: &'static str, variable: &'static str) -> Gate {
    Gate { name, variable, is_alpha: false }
}

impl Gate {
    const fn alpha(self) -> Self {
        Self { is_alpha: true, ..self }
    }
}

/// All gates. ClusterResourceSet is always on since Cluster API 1.10, and the two about queues only concern upstream's managers; they are known
/// so that the same flag value works for both.
const GATES: &[Gate] = &[
    gate("ClusterResourceSet", "EXP_CLUSTER_RESOURCE_SET"),
    gate("ClusterTopology", "CLUSTER_TOPOLOGY").alpha(),
    gate("InPlaceUpdates", "EXP_IN_PLACE_UPDATES").alpha(),
    gate("KubeadmBootstrapFormatIgnition", "EXP_KUBEADM_BOOTSTRAP_FORMAT_IGNITION").alpha(),
    gate("MachinePool", "EXP_MACHINE_POOL"),
    gate("MachineSetPreflightChecks", "EXP_MACHINE_SET_PREFLIGHT_CHECKS"),
    gate("MachineTaintPropagation", "EXP_MACHINE_TAINT_PROPAGATION").alpha(),
    gate(VOLUME_ATTACHMENTS, "EXP_MACHINE_WAITFORVOLUMEDETACH_CONSIDER_VOLUMEATTACHMENTS"),
    gate("PriorityQueue", "EXP_PRIORITY_QUEUE"),
    gate("ReconcilerRateLimiting", "EXP_RECONCILER_RATE_LIMITING"),
    gate("RuntimeSDK", "EXP_RUNTIME_SDK").alpha(),
];
const VOLUME_ATTACHMENTS: &str = "MachineWaitForVolumeDetachConsiderVolumeAttachments";

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
            let value = parse_bool(value.trim())
                .ok_or_else(|| format!("{value:?} is not a valid value of {name}; write true or false"))?;
            gates.set(name.trim(), value)?;
        }
        Ok(gates)
    }
}

impl Gates {
    /// Reads the variables with which clusterctl sets the gates of upstream's managers, such as `EXP_MACHINE_POOL=false`.
    ///
    /// # Errors
    /// The value of a variable is no boolean.
    pub fn from_environment(read: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let mut gates = Self::default();
        for gate in GATES {
            let Some(value) = read(gate.variable).filter(|value| !value.is_empty()) else { continue };
            let value = parse_bool(&value)
                .ok_or_else(|| format!("{}: {value:?} is not valid; write true or false", gate.variable))?;
            gates.0.push((gate.name, value));
        }
        Ok(gates)
    }

    /// Combines both sets of gates; `others` takes precedence.
    #[must_use]
    pub fn and(mut self, others: &Self) -> Self {
        self.0.extend(&others.0);
        self
    }

    fn set(&mut self, name: &str, value: bool) -> Result<(), String> {
        let is_meant = |gate: &&Gate| match name {
            "AllAlpha" => gate.is_alpha,
            "AllBeta" => !gate.is_alpha,
            name => gate.name == name,
        };
        let found: Vec<_> = GATES.iter().filter(is_meant).map(|gate| (gate.name, value)).collect();
        if found.is_empty() {
            let known: Vec<&str> = GATES.iter().map(|gate| gate.name).collect();
            return Err(format!("there is no feature gate {name:?}; there are {}", known.join(", ")));
        }
        self.0.extend(found);
        Ok(())
    }

    fn get(&self, name: &str) -> Option<bool> {
        self.0.iter().rev().find(|(gate, _)| *gate == name).map(|(_, value)| *value)
    }

    /// Returns the features: all, changed by these gates.
    pub fn features(&self) -> Features {
        let is_on = |name: &str| self.get(name).unwrap_or(true);
        Features {
            cluster_topology: is_on("ClusterTopology"),
            in_place_updates: is_on("InPlaceUpdates"),
            kubeadm_bootstrap_format_ignition: is_on("KubeadmBootstrapFormatIgnition"),
            machine_pool: is_on("MachinePool"),
            machine_set_preflight_checks: is_on("MachineSetPreflightChecks"),
            machine_taint_propagation: is_on("MachineTaintPropagation"),
            volume_attachments: is_on(VOLUME_ATTACHMENTS),
            runtime_sdk: is_on("RuntimeSDK"),
        }
    }
}

/// Returns the error for using a feature whose gate is off.
pub(super) fn off(gate: &str) -> String {
    format!("the feature gate {gate} is off: start the server with --feature-gates {gate}=true")
}
