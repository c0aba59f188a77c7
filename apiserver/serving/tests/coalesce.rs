//! Writes of a connection that are sent together.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use machinery::clock::Clock;
use parking_lot::Mutex;
use serving::testing::{Coalesced, Coalescer, GATHERED_BYTES, TURN_BYTES};
use tokio::io::{AsyncWrite, AsyncWriteExt};

/// Records each write; fails on request.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<(Vec<usize>, bool)>>);

impl AsyncWrite for Recorder {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut state = self.0.lock();
        if state.1 {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        state.0.push(bytes.len());
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

async fn frames(stream: &mut Coalescer<Recorder>, sizes: &[usize]) -> io::Result<()> {
    for size in sizes {
        stream.write_all(&vec![0; *size]).await?;
        stream.flush().await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_connection_that_sends_much_lets_others_run() {
    let recorder = Recorder::default();
    let mut stream = Coalescer::new(recorder.clone(), Clock::system());
    let handle = stream.handle();
    let writing = async move { frames(&mut stream, &[TURN_BYTES / 4; 16]).await.unwrap() };
    let mut connection = Box::pin(Coalesced::new(handle, writing));
    let mut turns = 0;
    std::future::poll_fn(|context| {
        let sent = |recorder: &Recorder| recorder.0.lock().0.iter().sum::<usize>();
        let before = sent(&recorder);
        let polled = connection.as_mut().poll(context);
        let now = sent(&recorder) - before;
        assert!(now < 2 * TURN_BYTES, "{now} bytes in one turn");
        turns += usize::from(now > 0);
        polled
    })
    .await;
    assert_eq!(recorder.0.lock().0.iter().sum::<usize>(), 4 * TURN_BYTES);
    assert!(turns >= 3, "{turns}");
}

#[tokio::test]
async fn frames_of_one_turn_are_sent_together() {
    let recorder = Recorder::default();
    let mut stream = Coalescer::new(recorder.clone(), Clock::system());
    let handle = stream.handle();
    // Like the TLS handshake, before gathering starts.
    frames(&mut stream, &[5, 7]).await.unwrap();
    assert_eq!(std::mem::take(&mut recorder.0.lock().0), [5, 7]);
    let connection = async move {
        frames(&mut stream, &[10, 20, 30]).await.unwrap();
        tokio::task::yield_now().await;
        frames(&mut stream, &[GATHERED_BYTES, 1]).await.unwrap();
        tokio::task::yield_now().await;
        stream
    };
    let mut stream = Coalesced::new(handle, connection).await;
    assert_eq!(std::mem::take(&mut recorder.0.lock().0), [60, GATHERED_BYTES, 1]);
    // After the future completed, another owner writes to the stream.
    frames(&mut stream, &[3]).await.unwrap();
    assert_eq!(recorder.0.lock().0, [3]);
}

#[tokio::test]
async fn what_sending_ends_with_shows_at_the_next_write() {
    let recorder = Recorder::default();
    let mut stream = Coalescer::new(recorder.clone(), Clock::system());
    let handle = stream.handle();
    recorder.0.lock().1 = true;
    let connection = async move {
        frames(&mut stream, &[10]).await.unwrap();
        tokio::task::yield_now().await;
        frames(&mut stream, &[10]).await.unwrap_err().kind()
    };
    assert_eq!(Coalesced::new(handle, connection).await, io::ErrorKind::BrokenPipe);
}
