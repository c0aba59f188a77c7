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
