//! The network of the containers of a data directory: a bridge with addresses of a range of its own, and translation of addresses to the outside.
//!
//! It is made before the first container starts, and removed with the last one. Its names have the identity of the data directory. What
//! it changes of the machine is remembered in the kernel, with the bridge, and so it is forgotten when the machine starts anew, as is the bridge.

mod bridge;
mod inside;
mod nat;
mod range;
pub mod settings;

use std::net::Ipv4Addr;

use anyhow::{Context, Result, anyhow};
use futures::TryStreamExt;
use rtnetlink::packet_route::link::{LinkAttribute, LinkMessage};
use rtnetlink::{Handle, LinkUnspec};

pub(crate) use bridge::{connect, disconnect};
pub(crate) use inside::configure;
pub use range::{Order, Range, choose};

/// The network of a data directory.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    /// The identity of the data directory.
    pub(crate) identity: String,
    /// The addresses of the containers and of the bridge.
    pub(crate) range: Range,
}

/// The names of everything on this machine that belongs to a data directory. They have at most the 15 bytes of the kernel.
impl Network {
    /// Returns the name of the bridge.
    pub(crate) fn bridge(&self) -> String {
        format!("fl{}", self.identity)
    }

    /// Returns the name of the machine's end of the link to the container with this address.
    pub(crate) fn link(&self, address: Ipv4Addr) -> String {
        format!("{}{}", self.links(), self.range.number(address))
    }

    /// Returns what the names of all these links begin with. The number of the address follows.
    fn links(&self) -> String {
        format!("fl{}v", self.identity)
    }

    /// Returns the name of the table of nftables.
    pub(crate) fn table(&self) -> String {
        format!("firstlight-{}", self.identity)
    }
}

/// Makes everything that containers share, or what is missing of it.
///
/// # Errors
/// Another program has a bridge of this name, or the kernel refuses something.
pub(crate) async fn make(network: &Network) -> Result<()> {
    let links = Links::open()?;
    bridge::make(&links, network).await?;
    settings::raise(&links, network).await?;
    nat::make(network)
}

/// Removes everything that containers share. Nothing happens if it is not there.
///
/// # Errors
/// The kernel refuses something.
pub(crate) async fn remove(network: &Network) -> Result<()> {
    let links = Links::open()?;
    nat::remove(network)?;
    settings::restore(&links, network).await?;
    links.remove(&network.bridge()).await
}

/// Finds a range that no route and no address of the machine touches.
///
/// # Errors
/// All are in use, or the routes cannot be read.
pub(crate) async fn find_range(wanted: Option<Range>, identity: &str) -> Result<Range> {
    let links = Links::open()?;
    choose(wanted, identity, &links.used().await?)
}

/// Returns the addresses whose containers have a link.
///
/// # Errors
/// The links cannot be read.
pub(crate) async fn linked(network: &Network) -> Result<Vec<Ipv4Addr>> {
    let all = Links::open()?.all().await?;
    let prefix = network.links();
    let number = |link: &LinkMessage| names(link).0?.strip_prefix(&prefix)?.parse().ok();
    Ok(all.iter().filter_map(number).map(|number| network.range.at(number)).collect())
}

/// Returns whether there is a link of this name.
pub(crate) async fn has_link(name: &str) -> bool {
    match Links::open() {
        Ok(links) => links.find(name).await.is_ok_and(|link| link.is_some()),
        Err(_) => false,
    }
}

/// Returns why the kernel can make no network for containers: nothing if it can. A bridge and a link are made in a network of their own, which
/// nobody sees, and are gone with it.
pub(crate) async fn detect() -> Vec<String> {
    let tried = tokio::task::spawn_blocking(|| {
        // This thread is never used again for anything else, because it ends in another network.
        let tried = std::thread::spawn(|| -> Result<()> {
            nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET)
                .context("this process may not make network namespaces: it needs CAP_SYS_ADMIN")?;
            nat::detect()?;
            let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
            runtime.context("cannot wait for the kernel")?.block_on(bridge::detect())
        });
        tried.join().unwrap_or_else(|_| Err(anyhow!("the trial of the network ended")))
    });
    let error = match tried.await {
        Ok(Ok(())) => return Vec::new(),
        Ok(Err(error)) => error,
        Err(error) => error.into(),
    };
    vec![format!("{error:#}")]
}

/// The kernel's network, over netlink.
pub(crate) struct Links {
    handle: Handle,
    connection: tokio::task::JoinHandle<()>,
}

impl Links {
    /// Connects to the network of this thread.
    ///
    /// # Errors
    /// The kernel has no netlink.
    pub(crate) fn open() -> Result<Self> {
        let (connection, handle, _) =
            rtnetlink::new_connection().context("cannot reach the kernel's network (netlink)")?;
        Ok(Self { handle, connection: tokio::spawn(connection) })
    }

    /// Returns the link called `name`; `None` if the machine has no such link.
    async fn find(&self, name: &str) -> Result<Option<LinkMessage>> {
        let mut all = self.handle.link().get().match_name(name.to_owned()).execute();
        match all.try_next().await {
            Ok(link) => Ok(link),
            Err(error) if is(&error, nix::errno::Errno::ENODEV) => Ok(None),
            Err(error) => Err(error).with_context(|| format!("cannot look at the link {name}")),
        }
    }

    /// Returns all links.
    async fn all(&self) -> Result<Vec<LinkMessage>> {
        self.handle
            .link()
            .get()
            .execute()
            .try_collect()
            .await
            .context("cannot list the links of this machine")
    }

    /// Changes a link.
    async fn set(&self, link: LinkMessage, what: &str) -> Result<()> {
        self.handle.link().set(link).execute().await.with_context(|| format!("cannot {what}"))
    }

    /// Switches a link on.
    async fn up(&self, index: u32, name: &str) -> Result<()> {
        let link = LinkUnspec::new_with_index(index).up().build();
        self.set(link, &format!("switch the link {name} on")).await
    }

    /// Removes a link, if there is one of this name.
    async fn remove(&self, name: &str) -> Result<()> {
        let Some(link) = self.find(name).await? else { return Ok(()) };
        match self.handle.link().del(link.header.index).execute().await {
            Err(error) if is(&error, nix::errno::Errno::ENODEV) => Ok(()),
            removed => removed.with_context(|| format!("cannot remove the link {name}")),
        }
    }

    /// Returns the destinations of all routes of the machine.
    async fn used(&self) -> Result<Vec<Range>> {
        use rtnetlink::RouteMessageBuilder;
        use rtnetlink::packet_route::route::{RouteAddress, RouteAttribute};

        let all = self.handle.route().get(RouteMessageBuilder::<Ipv4Addr>::new().build()).execute();
        let routes: Vec<_> = all.try_collect().await.context("cannot list the routes of this machine")?;
        let destination = |attribute: &RouteAttribute| match attribute {
            RouteAttribute::Destination(RouteAddress::Inet(address)) => Some(*address),
            _ => None,
        };
        let ranges = routes.iter().filter_map(|route| {
            let address = route.attributes.iter().find_map(destination)?;
            Some(Range { address, length: route.header.destination_prefix_length })
        });
        Ok(ranges.collect())
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

/// Returns whether the kernel has given this error.
fn is(error: &rtnetlink::Error, errno: nix::errno::Errno) -> bool {
    matches!(error, rtnetlink::Error::NetlinkError(message) if message.raw_code() == -(errno as i32))
}

/// Returns the name and the alias of a link.
fn names(link: &LinkMessage) -> (Option<&str>, Option<&str>) {
    let (mut name, mut alias) = (None, None);
    for attribute in &link.attributes {
        match attribute {
            LinkAttribute::IfName(found) => name = Some(found.as_str()),
            LinkAttribute::IfAlias(found) => alias = Some(found.as_str()),
            _ => {}
        }
    }
    (name, alias)
}

/// Returns a hardware address that belongs to an address, so that nobody has to learn a new one after a restart. It is of a range for local use.
fn hardware(address: Ipv4Addr) -> Vec<u8> {
    [&[0x02, 0x66], &address.octets()[..]].concat()
}
