//! What the patches of a class may cost for one Cluster.

use serde_json::Value;

use crate::limits::{ALL_TEMPLATES_BYTES_MAX, PATCH_BYTES_MAX, PATCH_STEPS_MAX};
use crate::size::measure;

/// The work that patches may still make.
pub struct Budget {
    /// Steps of rendering templates and of comparing selectors.
    pub steps: u64,
    bytes: usize,
    /// Bytes of all templates as they are now.
    held: usize,
}

impl Budget {
    /// The budget for patches of templates that have so many bytes together.
    pub fn new(held: usize) -> Self {
        Self { steps: PATCH_STEPS_MAX, bytes: PATCH_BYTES_MAX, held }
    }

    /// Counts steps.
    pub fn steps(&mut self, count: usize) -> Result<(), String> {
        let left = u64::try_from(count).ok().and_then(|count| self.steps.checked_sub(count));
        self.steps = left.ok_or_else(|| {
            format!("the patches of the class make more than {PATCH_STEPS_MAX} steps for one Cluster")
        })?;
        Ok(())
    }

    /// Counts bytes that are written or measured.
    pub fn bytes(&mut self, count: usize) -> Result<(), String> {
        let left = self.bytes.checked_sub(count);
        self.bytes = left.ok_or_else(|| {
            format!("the patches of the class make more than {PATCH_BYTES_MAX} bytes for one Cluster")
        })?;
        Ok(())
    }

    /// Counts variables that are read once more. That is faster than what is written.
    pub fn read(&mut self, variables: &Value) -> Result<(), String> {
        self.bytes(measure(variables).bytes / 4)
    }

    /// Counts that a template with `before` bytes gets `after`.
    pub fn resize(&mut self, before: usize, after: usize) -> Result<(), String> {
        self.held = self.held.saturating_sub(before).saturating_add(after);
        if self.held > ALL_TEMPLATES_BYTES_MAX {
            return Err(format!(
                "the patched templates of the Cluster have more than {ALL_TEMPLATES_BYTES_MAX} bytes together"
            ));
        }
        Ok(())
    }
}
