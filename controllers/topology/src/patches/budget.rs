//! What the patches of a class may cost for one Cluster.

use serde_json::Value;

use super::size::measure;
use crate::limits::{PATCH_BYTES_MAX, PATCH_STEPS_MAX};

/// The work that patches may still make.
pub struct Budget {
    /// Steps of rendering templates.
    pub steps: u64,
    bytes: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { steps: PATCH_STEPS_MAX, bytes: PATCH_BYTES_MAX }
    }
}

impl Budget {
    /// Counts bytes that are written or measured.
    pub fn bytes(&mut self, count: usize) -> Result<(), String> {
        let left = self.bytes.checked_sub(count);
        self.bytes = left.ok_or_else(|| {
            format!("the patches of the class make more than {PATCH_BYTES_MAX} bytes for one Cluster")
        })?;
        Ok(())
    }

    /// Counts variables that are read once more. That is much faster than what is written.
    pub fn read(&mut self, variables: &Value) -> Result<(), String> {
        self.bytes(measure(variables).bytes / 16)
    }
}
