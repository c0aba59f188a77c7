//! Errors of the embedded engine. They distinguish damaged files from failures of the disk.

use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::backend::Disk;
use crate::error::EngineError;

pub(super) fn cannot(step: &'static str, disk: &dyn Disk, error: impl fmt::Display) -> EngineError {
    EngineError::Failed { step, file: disk.name(), reason: error.to_string() }
}

pub(super) fn damaged(disk: &dyn Disk, reason: impl fmt::Display) -> EngineError {
    EngineError::Damaged { file: disk.name(), reason: reason.to_string() }
}

/// Runs `work` and distinguishes damage from a disk that cannot do `step`. Damaged pages may cause panics in redb.
pub(super) fn guarded<T>(
    disk: &dyn Disk,
    step: &'static str,
    work: impl FnOnce() -> Result<T, redb::Error>,
) -> Result<T, EngineError> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(redb::Error::Io(error)))
            if !matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof) =>
        {
            Err(cannot(step, disk, error))
        }
        Ok(Err(error @ redb::Error::PreviousIo)) => Err(cannot(step, disk, error)),
        Ok(Err(error)) => Err(damaged(disk, error)),
        Err(_) => Err(damaged(disk, "its structure is inconsistent")),
    }
}
