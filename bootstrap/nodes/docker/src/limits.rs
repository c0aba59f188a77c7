//! How long Docker may take for what, and how much of its answers is read.

use std::time::Duration;

/// How long a call may take that changes nothing, or something small.
pub const CALL: Duration = Duration::from_secs(30);
/// How long the creation, the start, and the end of a container may take: its volumes are copied, and its disk is removed.
pub const CONTAINER: Duration = Duration::from_secs(300);
/// How long an image may take to be loaded or packed.
pub const IMAGE: Duration = Duration::from_secs(1800);
/// How long a pull may say nothing of how far it is, for example while Podman unpacks a layer. It has no other limit.
pub const SILENCE: Duration = Duration::from_secs(300);
/// The pause before it is looked again whether another process still removes what was left.
pub const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// How long the end of a program in a container is waited for after its time is over.
pub const EXEC_END: Duration = Duration::from_secs(5);
/// The longest time limit of a program that is kept in its container, too. What may run longer is a person's.
pub const EXEC: Duration = Duration::from_secs(24 * 3600);
/// The first and the longest pause before Docker is asked again for the exit code of a program whose streams have ended.
pub const EXIT_AGAIN: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(200)];
/// The pause before it is looked again whether a container is gone.
pub const GONE_AGAIN: Duration = Duration::from_millis(50);
/// How long a balancer may take until it listens, and the pause before it is asked again.
pub const LISTENS: Duration = Duration::from_secs(30);
/// See [`LISTENS`].
pub const LISTENS_AGAIN: Duration = Duration::from_millis(20);
/// The largest answer in bytes, except those that are streams.
pub const ANSWER: usize = 16 << 20;
/// The longest line of a stream of JSON in bytes.
pub const LINE: usize = 1 << 20;
/// The number of containers that are inspected at the same time.
pub const INSPECTIONS: usize = 8;
/// The parts of a pull of which each is told.
pub const STEPS: u64 = 10;
/// The last bytes of a console that an error shows.
pub const CONSOLE: usize = 512;
/// The largest file with the version of Kubernetes in an image, packed, in bytes.
pub const VERSION: usize = 64 << 10;
