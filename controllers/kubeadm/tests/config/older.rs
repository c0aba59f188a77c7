//! Conditions of KubeadmConfigs for older clients.

use chrono::DateTime;
use engine::conditions;
use kubeadm::config::v1beta1::set;
use kubeadm::names::condition::DATA_SECRET_AVAILABLE;
use schemas::bootstrap::KubeadmConfig;

/// The reasons were recorded from Cluster API 1.14.
#[test]
fn older_clients_see_their_conditions() {
    let data = |message: &str| conditions::is_false(DATA_SECRET_AVAILABLE, "NotAvailable", message);
    let done = conditions::is_true(DATA_SECRET_AVAILABLE, "Available");
    // Columns: the condition, severity and reason of `Ready`.
    let rows = [
        (
            data("Waiting for Cluster control plane to be initialized"),
            "Info",
            "WaitingForControlPlaneAvailable",
        ),
        (
            data("Waiting for Cluster status.initialization.infrastructureProvisioned to be true"),
            "Info",
            "WaitingForClusterInfrastructure",
        ),
        (data("no version"), "Warning", "DataSecretGenerationFailed"),
        (done, "", ""),
    ];
    for (condition, severity, reason) in rows {
        let mut config = KubeadmConfig::default();
        conditions::set(&mut config, DateTime::UNIX_EPOCH, condition);
        set(&mut config, DateTime::UNIX_EPOCH);
        let older = config.status.unwrap().deprecated.unwrap().v1beta1.unwrap().conditions;
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        assert_eq!(older[0].type_, "Ready");
        assert_eq!((text(&older[0].severity).as_str(), text(&older[0].reason).as_str()), (severity, reason));
    }
}
