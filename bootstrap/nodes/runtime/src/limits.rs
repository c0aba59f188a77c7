//! How much is kept of what a container prints, and how long its operations may take.

use std::time::Duration;

/// The most bytes of a console that are kept: half of it in the file that is written, half in the one before.
pub const CONSOLE: u64 = 8 << 20;
/// How long a start of a container may take until its init runs.
pub const START: Duration = Duration::from_secs(30);
/// How long an operation waits for another one on the same container, for example for a copy of a volume.
pub const WAIT: Duration = Duration::from_secs(120);
/// The pause between two looks at whether the folder of a container that runs is still there.
pub const FOLDER_AGAIN: Duration = Duration::from_secs(5);
/// How long the end of a killed container may take.
pub const END: Duration = Duration::from_secs(30);
/// How long the end of a program in a container is waited for after its time is over.
pub const EXEC_END: Duration = Duration::from_secs(2);
