//! The conditions of these objects: types and reasons as upstream's, and reasons for what upstream does not report.

/// Whether the object can be installed.
pub const PREFLIGHT: &str = "PreflightCheckPassed";
/// Whether the wanted components are installed.
pub const INSTALLED: &str = "ProviderInstalled";
/// Whether the last upgrade succeeded.
pub const UPGRADED: &str = "ProviderUpgraded";
/// Whether the provider runs.
pub const READY: &str = "Ready";

/// All conditions that only this crate writes.
pub(crate) const OWNED: &[&str] = &[PREFLIGHT, INSTALLED, UPGRADED, READY];

pub(crate) const MORE_THAN_ONE: &str = "MoreThanOneExists";
pub(crate) const INCORRECT_VERSION: &str = "IncorrectVersionFormat";
pub(crate) const INCORRECT_CORE_NAME: &str = "IncorrectCoreProviderNameReason";
pub(crate) const INVALID_SOURCE: &str = "FetchConfigValidationError";
pub(crate) const UNKNOWN_PROVIDER: &str = "UnknownProvider";
pub(crate) const INCOMPATIBLE: &str = "CAPIVersionIncompatibility";
pub(crate) const FETCH_FAILED: &str = "ComponentsFetchError";
pub(crate) const CUSTOMIZATION_FAILED: &str = "ComponentsCustomizationError";
pub(crate) const PATCH_FAILED: &str = "ComponentsPatchError";
pub(crate) const UPGRADE_FAILED: &str = "ComponentsUpgradeError";
pub(crate) const DELETION_FAILED: &str = "OldComponentsDeletionError";
pub(crate) const WAITING_FOR_CORE: &str = "WaitingForCoreProviderReady";
pub(crate) const NO_AVAILABLE_CONDITION: &str = "NoDeploymentAvailableConditionReason";
pub(crate) const DOWNGRADE: &str = "UnsupportedProviderDowngradeReason";
pub(crate) const INSTALL_FAILED: &str = "InstallFailed";

/// The Secret of the variables does not exist; upstream reports nothing then.
pub(crate) const NO_SECRET: &str = "ConfigSecretNotFound";
/// An upgrade is on its way.
pub(crate) const UPGRADING: &str = "Upgrading";
/// The components are being written.
pub(crate) const INSTALLING: &str = "Installing";
/// The controllers of the provider run in the process of the server.
pub(crate) const IN_PROCESS: &str = "RunsInServer";
/// The provider has nothing that could run.
pub(crate) const NO_DEPLOYMENT: &str = "NoDeployment";
/// All Deployments are available.
pub(crate) const AVAILABLE: &str = "DeploymentsAvailable";
/// All checks have passed.
pub(crate) const CHECKED: &str = "PreflightChecksPassed";
