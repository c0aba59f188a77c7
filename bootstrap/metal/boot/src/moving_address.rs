//! The address of the services as one that moves with them: it is added to an interface while they run there, and to that of another machine
//! afterwards, for example of a node after a pivot. Machines keep the address that they know.
//!
//! Invariant: the kernel removes the address [`LIFETIME`] after this process has ended in whatever way. An address that somebody else has
//! configured on the interface is neither changed nor removed: it is refused, because it would stay there when the services move.

use std::io::{Error as IoError, ErrorKind};
use std::net::SocketAddr;
use std::time::Duration;

use futures::TryStreamExt as _;
use machinery::clock::Clock;
use nix::net::if_::if_nametoindex;
use rtnetlink::packet_route::address::{AddressAttribute, CacheInfo};
use rtnetlink::{AddressMessageBuilder, Handle};
use tokio::net::TcpSocket;
use tokio::task::JoinHandle;

use crate::dhcp4::subnet::Network;
use crate::error::Error;
use crate::network::Interface;

/// The time after which the kernel removes an address that is not renewed.
pub const LIFETIME: Duration = Duration::from_secs(60);
/// The interval at which it is renewed.
const RENEWAL: Duration = Duration::from_secs(15);
/// The time in which the kernel asks three times who has an address, with one second more.
const ANSWER: Duration = Duration::from_secs(4);
/// Any port: only whether a machine has the address matters.
const PORT: u16 = 9;

/// An address that this process has added to an interface.
pub struct MovingAddress {
    place: Place,
    renewing: JoinHandle<()>,
}

/// An address of an interface.
#[derive(Clone)]
struct Place {
    interface: String,
    index: u32,
    network: Network,
    netlink: Handle,
}

impl MovingAddress {
    /// Adds the address to the interface.
    ///
    /// # Errors
    /// [`Error::AddressInUse`] if another machine answers for it, [`Error::AddressConfigured`] if it belongs to the configuration of the
    /// interface, [`Error::Address`], and those of [`Interface::find`].
    pub async fn take(interface: &str, network: Network, clock: &Clock) -> Result<Self, Error> {
        let has_address = match Interface::find(interface) {
            Ok(_) => true,
            Err(Error::NoAddress { .. }) => false,
            Err(error) => return Err(error),
        };
        let failed = |source| failed(interface, network, source);
        let index = if_nametoindex(interface).map_err(|error| failed(error.into()))?;
        let (connection, netlink, _) = rtnetlink::new_connection().map_err(failed)?;
        tokio::spawn(connection);
        let place = Place { interface: interface.to_owned(), index, network, netlink };
        match place.held().await? {
            Some((held, seconds)) if u64::from(seconds) > LIFETIME.as_secs() => {
                return Err(Error::AddressConfigured { network: held, interface: place.interface });
            }
            // A server that was killed has left it.
            Some(_) => {}
            // Without an address nobody can be asked.
            None if has_address && place.is_in_use().await => {
                return Err(Error::AddressInUse { address: network.address, interface: place.interface });
            }
            None => {}
        }
        place.add().await?;
        let renewing = tokio::spawn(place.clone().renew(clock.clone()));
        Ok(Self { place, renewing })
    }

    /// Removes the address. An address that cannot be removed ends with its lifetime.
    pub async fn release(self) {
        self.renewing.abort();
        if let Err(error) = self.place.remove().await {
            tracing::warn!(%error, "the address of the services ends within {LIFETIME:?}");
        }
    }
}

impl Place {
    async fn add(&self) -> Result<(), Error> {
        let (address, prefix) = (self.network.address.into(), self.network.prefix);
        let mut request = self.netlink.address().add(self.index, address, prefix).replace();
        let mut lifetime = CacheInfo::default();
        let seconds = u32::try_from(LIFETIME.as_secs()).unwrap_or(u32::MAX);
        (lifetime.ifa_valid, lifetime.ifa_preferred) = (seconds, seconds);
        request.message_mut().attributes.push(AddressAttribute::CacheInfo(lifetime));
        request.execute().await.map_err(|error| self.failed(error))
    }

    async fn remove(&self) -> Result<(), Error> {
        let message = AddressMessageBuilder::<std::net::Ipv4Addr>::new()
            .index(self.index)
            .address(self.network.address, self.network.prefix)
            .build();
        self.netlink.address().del(message).execute().await.map_err(|error| self.failed(error))
    }

    async fn renew(self, clock: Clock) {
        loop {
            clock.sleep(RENEWAL).await;
            if let Err(error) = self.add().await {
                tracing::warn!(%error, "the address of the services could not be renewed");
            }
        }
    }

    /// Returns the address with its network as the interface has it, and the seconds until the kernel removes it ([`u32::MAX`] means
    /// never); `None` if the interface does not have it.
    async fn held(&self) -> Result<Option<(Network, u32)>, Error> {
        let address = self.network.address;
        let mut addresses = self.netlink.address().get().set_link_index_filter(self.index).execute();
        let mut held = None;
        while let Some(message) = addresses.try_next().await.map_err(|error| self.failed(error))? {
            if !message.attributes.contains(&AddressAttribute::Local(address.into())) {
                continue;
            }
            let lifetime = message.attributes.iter().find_map(|attribute| match attribute {
                AddressAttribute::CacheInfo(lifetime) => Some(lifetime.ifa_valid),
                _ => None,
            });
            let found =
                (Network { address, prefix: message.header.prefix_len }, lifetime.unwrap_or(u32::MAX));
            // It may be there in two networks.
            held = held.filter(|(_, seconds)| *seconds >= found.1).or(Some(found));
        }
        Ok(held)
    }

    /// Returns whether another machine on the interface answers for the address. The kernel asks by ARP before it can connect.
    async fn is_in_use(&self) -> bool {
        self.forget().await;
        let connect = async {
            let socket = TcpSocket::new_v4()?;
            socket.bind_device(Some(self.interface.as_bytes()))?;
            socket.connect(SocketAddr::new(self.network.address.into(), PORT)).await
        };
        match tokio::time::timeout(ANSWER, connect).await {
            // The machine may drop the packets of the connection, but it has answered ARP.
            Ok(Ok(_)) | Err(_) => true,
            Ok(Err(error)) => !matches!(
                error.kind(),
                ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable | ErrorKind::AddrNotAvailable
            ),
        }
    }

    /// Makes the kernel forget who had the address, so that it asks again.
    async fn forget(&self) {
        let message = {
            let mut request = self.netlink.neighbours().add(self.index, self.network.address.into());
            request.message_mut().clone()
        };
        // An error means that the kernel does not know the address.
        drop(self.netlink.neighbours().del(message).execute().await);
    }

    fn failed(&self, error: rtnetlink::Error) -> Error {
        let source = match error {
            rtnetlink::Error::NetlinkError(message) => message.to_io(),
            other => IoError::other(other),
        };
        failed(&self.interface, self.network, source)
    }
}

fn failed(interface: &str, network: Network, source: IoError) -> Error {
    Error::Address { address: network.address, interface: interface.to_owned(), source }
}
