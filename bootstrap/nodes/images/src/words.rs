//! How far a pull is, in words.

use std::sync::atomic::{AtomicU64, Ordering};

use container_images::Progress;

use crate::limits;

/// Makes words of a pull's progress, seldom enough for a condition of an object.
pub(crate) struct Words<'a> {
    name: &'a str,
    /// The last step that was told, beginning with 1.
    told: AtomicU64,
}

impl<'a> Words<'a> {
    pub(crate) fn new(name: &'a str) -> Self {
        Self { name, told: AtomicU64::new(0) }
    }

    /// Returns what is to be told; `None` if the last words still say enough.
    pub(crate) fn of(&self, progress: Progress) -> Option<String> {
        let name = self.name;
        match progress {
            Progress::Unpacking => Some(format!("unpacking {name}")),
            Progress::Pulling { layer, layers, received, bytes } => {
                let step = received.saturating_mul(limits::STEPS) / bytes.max(1) + 1;
                let is_new = self.told.fetch_max(step, Ordering::Relaxed) < step;
                let (received, bytes) = (megabytes(received), megabytes(bytes));
                is_new.then(|| format!("pulling {name}: layer {layer} of {layers}, {received} of {bytes} MB"))
            }
        }
    }
}

fn megabytes(bytes: u64) -> u64 {
    bytes.div_ceil(1_000_000)
}
