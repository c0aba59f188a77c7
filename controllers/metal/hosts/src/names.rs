//! Names that Metal3's clients know, and our own beside them (`contract/metal3`, §0).

/// Keeps a BareMetalHost until its machine has been released.
pub const HOST_FINALIZER: &str = "baremetalhost.metal3.io";
/// Keeps a HardwareData until its host is gone.
pub const HARDWARE_FINALIZER: &str = "baremetalhost.metal3.io/hardwareData";
/// Keeps the Secret of a BMC until its host is gone.
pub const SECRET_FINALIZER: &str = "baremetalhost.metal3.io/secret";
/// Keeps a DataImage until it was taken out of the machine's drive.
pub const DATA_IMAGE_FINALIZER: &str = "dataimage.metal3.io";
/// Keeps a BMCEventSubscription until the BMC has ended it.
pub const SUBSCRIPTION_FINALIZER: &str = "bmceventsubscription.metal3.io";
/// On a PreprovisioningImage for which something was made; nothing is made for one alone here.
pub const PREPROVISIONING_FINALIZER: &str = "preprovisioningimage.metal3.io";
/// Nothing is reconciled while it is there, deletion included.
pub const PAUSED: &str = "baremetalhost.metal3.io/paused";
/// The machine is not touched while it is there.
pub const DETACHED: &str = "baremetalhost.metal3.io/detached";
/// A status to take over, for hosts that come from another management cluster.
pub const STATUS: &str = "baremetalhost.metal3.io/status";
/// `disabled`: never inspect; anything else: inspect once more.
pub const INSPECT: &str = "inspect.metal3.io";
/// What the machine has, told by hand.
pub const HARDWARE_DETAILS: &str = "inspect.metal3.io/hardwaredetails";
/// Restart the machine, or keep it off (`reboot.metal3.io/<suffix>`) until the key is removed.
pub const REBOOT: &str = "reboot.metal3.io";
/// On hosts without a BMC, how the machine is switched on: `manual` or `wake-on-lan`. Without it they are left alone, as Metal3 does.
pub const POWER: &str = "metal.firstlight.dev/power";
/// On hosts without a BMC, what a person did last: `on` or `off`.
pub const POWERED: &str = "metal.firstlight.dev/powered";
/// When the machine was last started into the agent, RFC 3339.
pub const BOOTING: &str = "metal.firstlight.dev/booting";
/// On a host that was made ready for another management cluster: the value of [`POWER`], when a BMC of nobody stands in for none.
pub const HANDED_OVER: &str = "metal.firstlight.dev/handed-over";
/// On hosts without spec.bootMACAddress: the serial number of the machine that it is.
pub const SERIAL_NUMBER: &str = "metal.firstlight.dev/serial-number";
/// On hosts without spec.bootMACAddress: the system UUID of the machine that it is.
pub const SYSTEM_UUID: &str = "metal.firstlight.dev/system-uuid";
/// `everything`: at the end of a provisioning all of the host's disks is erased, and not only what is known as partitions and file systems.
pub const ERASE: &str = "metal.firstlight.dev/erase";
/// Why the host's machine may be another host's.
pub const CONFLICT: &str = "metal.firstlight.dev/conflict";
/// How far a change of the machine's firmware is.
pub const FIRMWARE: &str = "metal.firstlight.dev/firmware";
/// Says what a person has to do at the machine.
pub const WAITING_FOR_OPERATOR: &str = "WaitingForOperator";
/// `Agent.status.provenBy` of a machine that a person vouched for.
pub const APPROVAL: &str = "Approval";
/// The component that events come from.
pub const COMPONENT: &str = "metal3-baremetal-controller";

/// `status.operationalStatus`.
pub mod operational {
    #![allow(missing_docs, reason = "the names say it")]
    pub const OK: &str = "OK";
    pub const DISCOVERED: &str = "discovered";
    pub const ERROR: &str = "error";
    pub const DELAYED: &str = "delayed";
    pub const DETACHED: &str = "detached";
    pub const SERVICING: &str = "servicing";
}

/// `status.errorType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorType {
    /// The BMC can't be used, before the host was ever known.
    Registration,
    /// The same, of a host that is provisioned.
    ProvisionedRegistration,
    /// The agent did not come, or could not look.
    Inspection,
    /// Settings could not be made.
    Preparation,
    /// An image could not be written or removed.
    Provisioning,
    /// Switching on or off failed.
    PowerManagement,
    /// The firmware of a provisioned machine could not be changed.
    Servicing,
}

impl ErrorType {
    /// As it stands in the status.
    pub fn name(self) -> &'static str {
        match self {
            Self::Registration => "registration error",
            Self::ProvisionedRegistration => "provisioned registration error",
            Self::Inspection => "inspection error",
            Self::Preparation => "preparation error",
            Self::Provisioning => "provisioning error",
            Self::PowerManagement => "power management error",
            Self::Servicing => "servicing error",
        }
    }

    /// Reason of its event.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Registration => "RegistrationError",
            Self::ProvisionedRegistration => "ProvisionedRegistrationError",
            Self::Inspection => "InspectionError",
            Self::Preparation => "PreparationError",
            Self::Provisioning => "ProvisioningError",
            Self::PowerManagement => "PowerManagementError",
            Self::Servicing => "ServicingError",
        }
    }
}
