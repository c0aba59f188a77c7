//! Describes the machine's processors.

use serde_json::{Value, json};

use super::files::Files;

/// Returns `cpu` of Metal3's hardware details.
pub fn describe(files: &Files) -> Value {
    let text = files.text("proc/cpuinfo").unwrap_or_default();
    let field = |wanted: &str| field(&text, wanted);
    let count = text
        .lines()
        .filter(|line| line.split_once(':').is_some_and(|(name, _)| name.trim() == "processor"))
        .count();
    let flags = field("flags").or_else(|| field("Features")).unwrap_or_default();
    let mut flags: Vec<&str> = flags.split_whitespace().collect();
    flags.sort_unstable();
    json!({
        "arch": std::env::consts::ARCH,
        "model": field("model name"),
        "clockMegahertz": megahertz(files, field("cpu MHz")),
        "count": count,
        "flags": flags,
    })
}

/// Returns whether the processors report the flag `hypervisor`, which exists on x86 only.
pub fn is_virtual(files: &Files) -> bool {
    let text = files.text("proc/cpuinfo").unwrap_or_default();
    field(&text, "flags").is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"))
}

fn field<'a>(text: &'a str, wanted: &str) -> Option<&'a str> {
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    lines.find(|(name, _)| name.trim() == wanted).map(|(_, value)| value.trim())
}

/// Returns the highest frequency, or else the current one, rounded to MHz.
fn megahertz(files: &Files, present: Option<&str>) -> Option<f64> {
    let highest = files.text("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
    let highest = highest.and_then(|kilohertz| Some(kilohertz.parse::<f64>().ok()? / 1000.0));
    Some(highest.or_else(|| present?.parse().ok())?.round())
}
