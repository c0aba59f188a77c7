//! Tests of `host::memory`.

use bmc::Power;
use chrono::{DateTime, Utc};
use engine::NamespacedName;
use metal::host::memory::Memory;

#[test]
fn a_host_that_was_created_again_is_another_one() {
    let (memory, host) = (Memory::default(), NamespacedName::new("default", "h"));
    let now: DateTime<Utc> = "2026-11-21T00:00:00Z".parse().unwrap();
    memory.meet(&host, "first");
    memory.note_command(&host, now, true);
    memory.note_power(&host, now, Ok(Power::On));
    memory.note_failure(&host, 1, now + chrono::Duration::seconds(60));
    memory.meet(&host, "first");
    assert!(memory.power(&host, now).is_some());
    memory.meet(&host, "second");
    assert!(memory.power(&host, now).is_none());
    assert_eq!((memory.cut(&host), memory.wait(&host, 1, now)), (None, None));
}
