//! Decides which blocks are sent when. Pure: acknowledgements and expired timers go in, ranges of blocks come out.

/// The state of a transfer.
#[derive(Clone, Debug)]
pub struct Sender {
    /// The number of blocks; the last one is not full and may be empty.
    blocks: u64,
    window: u64,
    /// The last block that the client has acknowledged.
    acknowledged: u64,
    /// The last block that was sent.
    sent: u64,
    /// The current window was sent again because an acknowledgement asked for it.
    repeated: bool,
    /// The previous window was sent again, so acknowledgements of its second copy may still arrive.
    echoes: bool,
}

/// The next step of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send the blocks from the first to the last, both included.
    Send(u64, u64),
    /// Wait for another acknowledgement or for the timer.
    Wait,
    /// The client has received the whole file.
    Done,
}

impl Sender {
    /// A transfer of `length` bytes in blocks of `block` bytes, `window` blocks at a time.
    pub fn new(length: u64, block: u64, window: u64) -> Self {
        let blocks = length / block.max(1) + 1;
        Self { blocks, window: window.max(1), acknowledged: 0, sent: 0, repeated: false, echoes: false }
    }

    /// Returns the first blocks, or repeats the blocks of the current window.
    pub fn window(&mut self) -> Step {
        if self.acknowledged == self.blocks {
            return Step::Done;
        }
        self.sent = (self.acknowledged + self.window).min(self.blocks);
        Step::Send(self.acknowledged + 1, self.sent)
    }

    /// Handles the acknowledgement of all blocks up to a block, of whose number the message has only the low 16 bits.
    ///
    /// With a window of one block, a repeated acknowledgement is ignored: otherwise two crossed acknowledgements would double every
    /// block to the end of the file. With a larger window it means that the next block was lost, and so does the acknowledgement of a
    /// block inside the window. Both cause one repetition; further ones only after the client has received a whole window and the
    /// copies have run out, for the same reason. A block that is lost meanwhile is sent again when the timer expires.
    pub fn acknowledge(&mut self, number: u16) -> Step {
        let forward = u64::from(number.wrapping_sub((self.acknowledged & 0xffff) as u16));
        let outstanding = self.sent - self.acknowledged;
        if outstanding == 0 || forward > outstanding || (forward == 0 && self.window == 1) {
            return Step::Wait;
        }
        self.acknowledged += forward;
        if forward == outstanding {
            self.echoes = std::mem::take(&mut self.repeated);
            return self.window();
        }
        if self.repeated || self.echoes {
            return Step::Wait;
        }
        self.repeated = true;
        self.window()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
}
