//! The limits of a container, and the files in which the kernel has them.

use super::Version;

/// The period in which a container gets its time of the CPU, in microseconds; that of Kubernetes.
const PERIOD: u64 = 100_000;
/// The least time that the kernel accepts, in microseconds.
const SHORTEST: u64 = 1000;

/// The limits of a container.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Memory in bytes.
    pub memory: Option<u64>,
    /// Time of CPUs in thousandths of one CPU.
    pub cpu: Option<u64>,
}

/// A value of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) file: &'static str,
    pub(super) value: String,
    /// Whether a kernel that refuses it does not limit the container.
    pub(super) is_needed: bool,
}

impl Limits {
    /// Returns whether there is no limit.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns what is written to files, in this order.
    pub(super) fn settings(&self, version: Version) -> Vec<Setting> {
        let needed = |file, value| Setting { file, value, is_needed: true };
        // Kernels without accounting of swap do not have these files.
        let wanted = |file, value| Setting { file, value, is_needed: false };
        let memory = self.memory.map(|bytes| bytes.to_string());
        let quota = self.cpu.map(|cpu| (cpu.saturating_mul(PERIOD / 1000)).max(SHORTEST));
        let mut settings = Vec::new();
        match version {
            Version::One => {
                settings.extend(memory.clone().map(|bytes| needed("memory.limit_in_bytes", bytes)));
                settings.extend(memory.map(|bytes| wanted("memory.memsw.limit_in_bytes", bytes)));
                settings.extend(quota.map(|_| needed("cpu.cfs_period_us", PERIOD.to_string())));
                settings.extend(quota.map(|quota| needed("cpu.cfs_quota_us", quota.to_string())));
            }
            Version::Two => {
                settings.extend(memory.clone().map(|bytes| needed("memory.max", bytes)));
                settings.extend(memory.clone().map(|_| wanted("memory.swap.max", "0".to_owned())));
                // As a kubelet's: a container ends as a whole.
                settings.extend(memory.map(|_| wanted("memory.oom.group", "1".to_owned())));
                settings.extend(quota.map(|quota| needed("cpu.max", format!("{quota} {PERIOD}"))));
            }
        }
        settings
    }
}
