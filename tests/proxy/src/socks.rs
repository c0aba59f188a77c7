//! The side of SOCKS 5.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::{Shared, carry, reach};

/// Serves one connection.
pub(crate) async fn serve(mut client: TcpStream, state: Shared) -> io::Result<()> {
    client.read_u8().await?;
    let methods = bytes(&mut client).await?;
    let credentials = state.lock().credentials.clone();
    match credentials {
        None => client.write_all(&[5, 0]).await?,
        Some(_) if !methods.contains(&2) => return client.write_all(&[5, 0xff]).await,
        Some((user, password)) => {
            client.write_all(&[5, 2]).await?;
            client.read_u8().await?;
            let sent = (bytes(&mut client).await?, bytes(&mut client).await?);
            let is_right = sent == (user.into_bytes(), password.into_bytes());
            client.write_all(&[1, u8::from(!is_right)]).await?;
            if !is_right {
                return Ok(());
            }
        }
    }
    let mut head = [0; 4];
    client.read_exact(&mut head).await?;
    let host = match head[3] {
        1 => {
            let mut address = [0; 4];
            client.read_exact(&mut address).await?;
            std::net::Ipv4Addr::from(address).to_string()
        }
        4 => {
            let mut address = [0; 16];
            client.read_exact(&mut address).await?;
            format!("[{}]", std::net::Ipv6Addr::from(address))
        }
        _ => String::from_utf8(bytes(&mut client).await?).map_err(io::Error::other)?,
    };
    let host = format!("{host}:{}", client.read_u16().await?);
    state.lock().asked.push(format!("SOCKS {host}"));
    match reach(&state, &host).await {
        Ok(server) => {
            client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await?;
            carry(client, server).await
        }
        Err(_) => client.write_all(&[5, 4, 0, 1, 0, 0, 0, 0, 0, 0]).await,
    }
}

/// Reads bytes whose number comes first.
async fn bytes(client: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::from(client.read_u8().await?)];
    client.read_exact(&mut bytes).await?;
    Ok(bytes)
}
