//! The names that Metal3's clients know, and firstlight's own (`contract/metal3`, §0).

pub use schemas::reboot::REBOOT;

/// Finalizer of a BareMetalHost, until its machine has been released.
pub const HOST_FINALIZER: &str = "baremetalhost.metal3.io";
/// Finalizer of a HardwareData, until its host is deleted.
pub const HARDWARE_FINALIZER: &str = "baremetalhost.metal3.io/hardwareData";
/// Finalizer of a BMC's Secret, until its host is deleted.
pub const SECRET_FINALIZER: &str = "baremetalhost.metal3.io/secret";
/// Finalizer of a DataImage, until it has been ejected from the machine's drive.
pub const DATA_IMAGE_FINALIZER: &str = "dataimage.metal3.io";
/// Finalizer of a BMCEventSubscription, until it has been removed from the BMC.
pub const SUBSCRIPTION_FINALIZER: &str = "bmceventsubscription.metal3.io";
/// Metal3's finalizer of a PreprovisioningImage. firstlight builds nothing for a single image, and only removes the finalizer.
pub const PREPROVISIONING_FINALIZER: &str = "preprovisioningimage.metal3.io";
/// While this annotation exists, the host is not reconciled, not even for its deletion.
pub const PAUSED: &str = "baremetalhost.metal3.io/paused";
/// The value of [`PAUSED`] with which Metal3's provider for Cluster API pauses a host; the provider removes such a pause by itself.
pub const PAUSED_BY_PROVIDER: &str = "metal3.io/capm3";
/// While this annotation exists, the machine is not touched.
pub const DETACHED: &str = "baremetalhost.metal3.io/detached";
/// A status to restore, on hosts that come from another management cluster.
pub const STATUS: &str = "baremetalhost.metal3.io/status";
/// `disabled`: the machine is never inspected; any other value: it is inspected again.
pub const INSPECT: &str = "inspect.metal3.io";
/// Hardware details that a person provides instead of an inspection.
pub const HARDWARE_DETAILS: &str = "inspect.metal3.io/hardwaredetails";
/// On hosts without a BMC, how the machine is switched on: `manual` or `wake-on-lan`. Without it such hosts are not managed, as in
/// Metal3.
pub const POWER: &str = "metal.firstlight.dev/power";
/// On hosts without a BMC, the last known power state: `on` or `off`.
pub const POWERED: &str = "metal.firstlight.dev/powered";
/// The time at which the machine was last started to boot its agent, in RFC 3339.
pub const BOOTING: &str = "metal.firstlight.dev/booting";
/// The last report of the host's system about its bootstrap ([`crate::bootstrap`]), in JSON.
pub const BOOTSTRAP: &str = "metal.firstlight.dev/bootstrap";
/// On a host that was handed over to another management cluster: the value of [`POWER`] if dummy BMC data were set, otherwise empty.
pub const HANDED_OVER: &str = "metal.firstlight.dev/handed-over";
/// On hosts without `spec.bootMACAddress`: the serial number of the host's machine.
pub const SERIAL_NUMBER: &str = "metal.firstlight.dev/serial-number";
/// On hosts without `spec.bootMACAddress`: the system UUID of the host's machine.
pub const SYSTEM_UUID: &str = "metal.firstlight.dev/system-uuid";
/// `everything`: at the end of a provisioning the host's disks are erased completely, and not only their partition tables and
/// signatures.
pub const ERASE: &str = "metal.firstlight.dev/erase";
/// While this annotation exists, nothing is written to the host's disks: no image, and no cleaning.
pub const PROTECT_DISKS: &str = "metal.firstlight.dev/protect-disks";
/// The message of a conflict: another host claims the same machine.
pub const CONFLICT: &str = "metal.firstlight.dev/conflict";
/// The progress of a change of the machine's firmware.
pub const FIRMWARE: &str = "metal.firstlight.dev/firmware";
/// Condition with the task of a person at the machine.
pub const WAITING_FOR_OPERATOR: &str = "WaitingForOperator";
/// The value of `Agent.status.provenBy` of a machine that a person has approved.
pub const APPROVAL: &str = "Approval";
/// The component that reports events.
pub const COMPONENT: &str = "metal3-baremetal-controller";

/// The values of `status.operationalStatus`.
pub mod operational {
    #![allow(missing_docs, reason = "the names say it")]
    pub const OK: &str = "OK";
    pub const DISCOVERED: &str = "discovered";
    pub const ERROR: &str = "error";
    pub const DELAYED: &str = "delayed";
    pub const DETACHED: &str = "detached";
    pub const SERVICING: &str = "servicing";
}

/// The values of `status.errorType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorType {
    /// The BMC cannot be used, and the host has not been provisioned.
    Registration,
    /// The BMC of a provisioned host cannot be used.
    ProvisionedRegistration,
    /// The agent did not appear in time, or failed to inspect the machine.
    Inspection,
    /// The machine could not be prepared.
    Preparation,
    /// An image could not be written or removed.
    Provisioning,
    /// The machine could not be switched on or off.
    PowerManagement,
    /// The firmware of a provisioned machine could not be changed.
    Servicing,
}

impl ErrorType {
    /// Returns the value of `status.errorType`.
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

    /// Returns the reason of the event.
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
