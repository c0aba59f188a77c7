//! Tests of `tftp::sender`.

use metal_boot::tftp::sender::{Sender, Step};
use proptest::prelude::*;

#[test]
fn a_file_is_sent_to_its_end() {
    let mut sender = Sender::new(1024, 512, 1);
    assert_eq!(sender.window(), Step::Send(1, 1));
    assert_eq!(sender.acknowledge(0), Step::Wait, "of the options, a second time");
    assert_eq!(sender.acknowledge(1), Step::Send(2, 2));
    assert_eq!(sender.acknowledge(1), Step::Wait);
    assert_eq!(sender.window(), Step::Send(2, 2), "after a while");
    assert_eq!(sender.acknowledge(2), Step::Send(3, 3), "an empty block ends a file of whole blocks");
    assert_eq!(sender.acknowledge(9), Step::Wait, "was never sent");
    assert_eq!(sender.acknowledge(3), Step::Done);
}

#[test]
fn a_lost_block_is_sent_again_at_once_in_a_window() {
    let mut sender = Sender::new(4096, 512, 4);
    assert_eq!(sender.window(), Step::Send(1, 4));
    assert_eq!(sender.acknowledge(2), Step::Send(3, 6), "3 was lost");
    assert_eq!(sender.acknowledge(2), Step::Wait, "of the blocks that came after it");
    assert_eq!(sender.window(), Step::Send(3, 6), "after a while");
    assert_eq!(sender.acknowledge(6), Step::Send(7, 9));
    assert_eq!(sender.acknowledge(6), Step::Wait, "of the copies");
    assert_eq!(sender.acknowledge(9), Step::Done);
}

#[derive(Clone, Copy, Debug)]
enum Fate {
    Arrives,
    Lost,
    Twice,
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![6 => Just(Fate::Arrives), 1 => Just(Fate::Lost), 1 => Just(Fate::Twice)]
}

proptest! {
    /// A client that accepts blocks only in order gets the whole file over a network that loses and doubles packets, and no block
    /// is sent much more often than the network requires.
    #[test]
    fn a_bad_network(
        blocks in 0..200u64,
        window in 1..9u64,
        fates in proptest::collection::vec(fate(), 0..300),
    ) {
        let mut sender = Sender::new(blocks * 8, 8, window);
        let mut fates = fates.iter().chain(std::iter::repeat(&Fate::Arrives));
        let (mut received, mut sent, mut bad) = (0u64, 0u64, 0u64);
        let mut step = sender.window();
        let mut waiting: std::collections::VecDeque<u16> = Default::default();
        loop {
            match step {
                Step::Done => break,
                Step::Send(first, last) => {
                    prop_assert!(last < first + window && last <= blocks + 1);
                    let mut acknowledged = None;
                    for number in first..=last {
                        sent += 1;
                        let times = match fates.next().copied().unwrap_or(Fate::Arrives) {
                            Fate::Arrives => 1,
                            Fate::Lost => 0,
                            Fate::Twice => 2,
                        };
                        bad += u64::from(times != 1);
                        for _ in 0..times {
                            if number == received + 1 {
                                received = number;
                            }
                            if number == last || number == blocks + 1 || number != received {
                                acknowledged = Some(received as u16);
                            }
                        }
                    }
                    waiting.extend(acknowledged);
                }
                Step::Wait => {}
            }
            step = match waiting.pop_front() {
                Some(number) => match fates.next().copied().unwrap_or(Fate::Arrives) {
                    Fate::Lost => { bad += 1; Step::Wait }
                    Fate::Twice => { bad += 1; waiting.push_back(number); sender.acknowledge(number) }
                    Fate::Arrives => sender.acknowledge(number),
                },
                None => sender.window(),
            };
            prop_assert!(sent <= (blocks + 1) + (2 * bad + 2) * window * 2, "{sent} blocks of {blocks}");
            if sent > 100_000 { break; }
        }
        prop_assert_eq!(received, blocks + 1);
    }
}
