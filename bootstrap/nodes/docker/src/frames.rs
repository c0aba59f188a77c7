//! The stream of a program without a terminal: frames of its output and of its errors, each with a header of eight bytes
//! (docs.docker.com/reference/api/engine, "ContainerAttach").

use std::collections::VecDeque;
use std::io::ErrorKind;

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The most bytes that are copied at once.
const PIECE: usize = 32 << 10;

/// What a frame has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Output,
    Errors,
    /// What the daemon itself has to say.
    Daemon,
}

/// Copies the frames to both receivers until the stream ends.
///
/// # Errors
/// It ends within a frame, the daemon writes an error into it, or a receiver fails.
pub(crate) async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
    mut errors: impl AsyncWrite + Unpin,
) -> Result<()> {
    let mut piece = vec![0; PIECE];
    while let Some((kind, mut length)) = header(&mut from).await? {
        let mut said = Vec::new();
        while length > 0 {
            let most = length.min(PIECE);
            let read = from.read(&mut piece[..most]).await.context("the stream of the program broke")?;
            if read == 0 {
                bail!("the stream of the program ended within its output");
            }
            length -= read;
            let taken = match kind {
                Kind::Output => output.write_all(&piece[..read]).await,
                Kind::Errors => errors.write_all(&piece[..read]).await,
                Kind::Daemon => {
                    let free = PIECE.saturating_sub(said.len());
                    said.extend_from_slice(&piece[..read.min(free)]);
                    Ok(())
                }
            };
            taken.context("nobody takes the output")?;
        }
        if kind == Kind::Daemon {
            bail!("{}", String::from_utf8_lossy(&said).trim());
        }
        output.flush().await?;
        errors.flush().await?;
    }
    output.flush().await?;
    Ok(errors.flush().await?)
}

/// Reads the header of a frame; `None` at the end of the stream.
async fn header(from: &mut (impl AsyncRead + Unpin)) -> Result<Option<(Kind, usize)>> {
    let mut header = [0; 8];
    let mut filled = 0;
    while filled < header.len() {
        match from.read(&mut header[filled..]).await {
            Ok(0) if filled == 0 => return Ok(None),
            // Podman ends the connection so if the program has not read its input. Whether the daemon is there is seen by the exit code.
            Err(error) if filled == 0 && error.kind() == ErrorKind::ConnectionReset => return Ok(None),
            Ok(0) => bail!("the stream of the program ended within a header"),
            read => filled += read.context("the stream of the program broke")?,
        }
    }
    let [kind, 0, 0, 0, length @ ..] = header else {
        bail!("the stream of the program has no frames of Docker")
    };
    let kind = match kind {
        0 | 1 => Kind::Output,
        2 => Kind::Errors,
        3 => Kind::Daemon,
        other => bail!("the stream of the program has a frame of the unknown kind {other}"),
    };
    Ok(Some((kind, usize::try_from(u32::from_be_bytes(length))?)))
}

/// Keeps the last bytes.
pub(crate) struct End {
    most: usize,
    kept: VecDeque<u8>,
}

impl End {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, kept: VecDeque::new() }
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        let bytes = &bytes[bytes.len().saturating_sub(self.most)..];
        let surplus = (self.kept.len() + bytes.len()).saturating_sub(self.most);
        self.kept.drain(..surplus);
        self.kept.extend(bytes);
    }

    pub(crate) fn bytes(self) -> Vec<u8> {
        self.kept.into()
    }
}

/// Keeps the last bytes of all frames.
pub(crate) async fn collect(mut from: impl AsyncRead + Unpin, end: &mut End) -> Result<()> {
    let mut piece = vec![0; PIECE];
    while let Some((_, mut length)) = header(&mut from).await? {
        while length > 0 {
            let most = length.min(PIECE);
            let read = from.read(&mut piece[..most]).await?;
            if read == 0 {
                return Ok(());
            }
            length -= read;
            end.add(&piece[..read]);
        }
    }
    Ok(())
}
