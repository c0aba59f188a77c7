//! Port-forwards over a WebSocket with the protocol `v4.channel.k8s.io`.
//!
//! Each port has two channels, data and errors; the first frame of each contains the port, little-endian.
//! Every frame begins with the number of its channel.

use futures::{SinkExt, StreamExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use super::{Pod, Ports};
use crate::limits::PORT_BUFFER;

/// A frame of one channel; empty content means that the channel's sender has closed.
type Outgoing = (u8, Vec<u8>);

/// Forwards the ports until either side closes.
pub async fn forward<P, S>(pod: Pod<P>, ports: &[u16], mut socket: WebSocketStream<S>)
where
    P: Ports,
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    let (sender, mut outgoing) = mpsc::channel::<Outgoing>(16);
    let mut writers = Vec::new();
    for (index, port) in ports.iter().enumerate() {
        let (data, errors) = (2 * index as u8, 2 * index as u8 + 1);
        for channel in [data, errors] {
            let [low, high] = port.to_le_bytes();
            if socket.send(Message::binary(vec![channel, low, high])).await.is_err() {
                return;
            }
        }
        let (near, far) = tokio::io::duplex(PORT_BUFFER);
        match pod.listener(*port).await {
            Ok(connect) => connect(Box::new(far)),
            Err(error) => {
                let mut frame = vec![errors];
                frame.extend(error.into_bytes());
                drop(socket.send(Message::binary(frame)).await);
            }
        }
        let (reader, writer) = tokio::io::split(near);
        tokio::spawn(pump(reader, data, sender.clone()));
        writers.push(writer);
    }
    drop(sender);
    loop {
        tokio::select! {
            biased;
            frame = outgoing.recv() => {
                let Some((channel, content)) = frame else { break };
                let mut message = vec![channel];
                message.extend(content);
                if socket.send(Message::binary(message)).await.is_err() {
                    break;
                }
            }
            message = socket.next() => match message {
                Some(Ok(Message::Binary(content))) => {
                    let Some((channel, content)) = content.split_first() else { break };
                    let writer = (channel % 2 == 0).then(|| writers.get_mut(usize::from(channel / 2))).flatten();
                    let Some(writer) = writer else { break };
                    if writer.write_all(content).await.is_err() {
                        break;
                    }
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                _ => break,
            },
        }
    }
    drop(socket.close(None).await);
}

/// Forwards data from the Pod to the WebSocket until either side closes.
async fn pump(mut reader: tokio::io::ReadHalf<DuplexStream>, channel: u8, sender: mpsc::Sender<Outgoing>) {
    let mut buffer = vec![0; PORT_BUFFER];
    while let Ok(length @ 1..) = reader.read(&mut buffer).await {
        if sender.send((channel, buffer[..length].to_vec())).await.is_err() {
            return;
        }
    }
}
