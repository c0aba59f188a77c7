//! Images of nodes, in the layout of kind's `kindest/node`: a whole Linux with systemd, containerd, kubelet and kubeadm. [`NodeImages`] implements
//! the trait [`Images`](system_containers::Images) for a machine without a container runtime: it finds an image in archives and folders, or pulls
//! it, unpacks it once, and checks that it is one of a node.
//!
//! Everything about registries, archives and layers is in `container-images`. A node runs as root, so here nothing of an image is left out.

mod archive;
mod check;
pub mod limits;
mod make;
mod node_images;
mod stream;
mod turn;
mod words;

pub use check::{PATH, PROGRAMS, lacks, node, places};
pub use make::{ImagesAt, Recipe, make};
pub use node_images::{NodeImages, Options, REMEDY, local};
pub use stream::of as stream;
