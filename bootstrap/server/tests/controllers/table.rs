//! Tests of `server::controllers::table`.

use engine::{GroupKind, Provider};
use server::controllers::table::families;

#[test]
fn no_two_controllers_have_one_name_or_one_kind() {
    fn of<C>(providers: &'static [Provider<C>]) -> impl Iterator<Item = &'static str> {
        providers.iter().flat_map(|provider| provider.controllers).map(|controller| controller.name)
    }
    let mut names: Vec<&str> = of(cluster_core::PROVIDERS).collect();
    names.extend(of(kubeadm::BOOTSTRAP).chain(of(kubeadm::CONTROL_PLANE)));
    names.extend(of(addons::PROVIDERS).chain(of(cluster_ipam::PROVIDERS)));
    names.extend(of(simulated::PROVIDERS).chain(of(metal::PROVIDERS)));
    names.extend(
        of(metal_machines::data::PROVIDERS)
            .chain(of(metal_machines::ipam::PROVIDERS))
            .chain(of(metal_machines::PROVIDERS)),
    );
    names.extend(
        of(operator::PROVIDERS)
            .chain(of(cluster_topology::PROVIDERS))
            .chain(of(runtime_extensions::PROVIDERS)),
    );
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    let mut kinds: Vec<GroupKind> = families().into_iter().flat_map(|family| family.kinds).collect();
    let count = kinds.len();
    kinds.sort();
    kinds.dedup();
    assert_eq!(kinds.len(), count);
}
