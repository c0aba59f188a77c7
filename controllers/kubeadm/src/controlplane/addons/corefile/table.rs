//! What changed in CoreDNS for the plugins of a cluster's configuration: data.

use super::migrate::Rule;

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
