//! What changed in CoreDNS for the plugins of a cluster's configuration: data.

use super::migrate::Rule;

/// The versions of CoreDNS for which the changes are known. 1.6.8, 1.8.1 and 1.8.2 have no images.
pub const VERSIONS: &[&str] = &[
    "1.1.3", "1.1.4", "1.2.0", "1.2.1", "1.2.2", "1.2.3", "1.2.4", "1.2.5", "1.2.6", "1.3.0", "1.3.1",
    "1.4.0", "1.5.0", "1.5.1", "1.5.2", "1.6.0", "1.6.1", "1.6.2", "1.6.3", "1.6.4", "1.6.5", "1.6.6",
    "1.6.7", "1.6.9", "1.7.0", "1.7.1", "1.8.0", "1.8.3", "1.8.4", "1.8.5", "1.8.6", "1.8.7", "1.9.0",
    "1.9.1", "1.9.2", "1.9.3", "1.9.4", "1.10.0", "1.10.1", "1.11.0", "1.11.1", "1.11.3", "1.11.4", "1.12.0",
    "1.12.1", "1.12.2", "1.12.3", "1.12.4", "1.13.0", "1.13.1", "1.13.2", "1.14.0", "1.14.1", "1.14.2",
    "1.14.3", "1.14.4", "1.14.6",
];

/// The changes, each with the version that made it. A deprecated option or plugin is kept until it has no effect
/// or prevents the start.
pub const RULES: &[(&str, Rule)] = &[
    // The protocol https_google has no effect any more.
    ("1.1.4", Rule::RemoveOption("proxy", &["protocol", "https_google"])),
    // Default since this version: it ends CoreDNS if it forwards to itself.
    ("1.2.1", Rule::AddPlugin("loop", &["forward", "proxy"])),
    // Only the first endpoint is used.
    ("1.4.0", Rule::KeepFirstArgument("kubernetes", "endpoint")),
    // Names are resolved by CoreDNS itself.
    ("1.5.0", Rule::RemoveOption("kubernetes", &["upstream"])),
    // Default since this version: the probe of its Deployment asks it.
    ("1.5.0", Rule::AddPlugin("ready", &["kubernetes"])),
    // The plugin proxy is gone, and a server can forward only one zone.
    ("1.5.0", Rule::ProxyToForward),
    ("1.5.0", Rule::SplitForwardedZones),
    ("1.6.0", Rule::RemoveOption("kubernetes", &["resyncperiod"])),
    ("1.6.5", Rule::AddOption("health", &["lameduck", "5s"])),
    ("1.7.0", Rule::AddOption("forward", &["max_concurrent", "1000"])),
    // Zone transfers have a plugin of their own.
    ("1.8.0", Rule::TransferPlugin),
    ("1.8.0", Rule::RemoveOption("kubernetes", &["transfer"])),
];
