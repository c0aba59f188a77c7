//! The addresses of webhooks that are Services.

use serde_json::Value;

use crate::versions::reader::Reader;

/// Returns the address of a Service: the first ready endpoint of its EndpointSlices, else of its Endpoints, or the
/// host of an `ExternalName`. The cluster IP cannot be used, because there is no cluster network.
pub(super) fn address(
    reader: Reader<'_>,
    namespace: &str,
    name: &str,
    port: u16,
) -> Result<(String, u16), String> {
    let service = reader.stored_object("", "services", namespace, name);
    let service = service.ok_or_else(|| format!("service \"{name}\" not found"))?;
    let spec = &service["spec"];
    if let (Some("ExternalName"), Some(host)) = (spec["type"].as_str(), spec["externalName"].as_str()) {
        return Ok((host.to_owned(), port));
    }
    let ports = spec["ports"].as_array().into_iter().flatten();
    let found = ports.into_iter().find(|found| found["port"] == port);
    let found = found.ok_or_else(|| format!("no service port {port} found for service \"{name}\""))?;
    let port_name = found["name"].as_str().unwrap_or_default();
    of_slices(reader, namespace, name, port_name)
        .or_else(|| of_endpoints(reader, namespace, name, port_name))
        .ok_or_else(|| format!("no endpoints available for service \"{name}\""))
}

fn of_slices(reader: Reader<'_>, namespace: &str, service: &str, port: &str) -> Option<(String, u16)> {
    const SERVICE_NAME: &str = "kubernetes.io/service-name";
    let slices = reader.stored_objects("discovery.k8s.io", "endpointslices", namespace);
    let own = |slice: &&Value| slice["metadata"]["labels"][SERVICE_NAME] == service;
    slices.iter().filter(own).find_map(|slice| {
        let number = port_number(&slice["ports"], port)?;
        let mut endpoints = slice["endpoints"].as_array()?.iter();
        let ready = endpoints.find(|endpoint| endpoint["conditions"]["ready"] != false)?;
        Some((ready["addresses"][0].as_str()?.to_owned(), number))
    })
}

fn of_endpoints(reader: Reader<'_>, namespace: &str, service: &str, port: &str) -> Option<(String, u16)> {
    let endpoints = reader.stored_object("", "endpoints", namespace, service)?;
    endpoints["subsets"].as_array()?.iter().find_map(|subset| {
        let number = port_number(&subset["ports"], port)?;
        Some((subset["addresses"][0]["ip"].as_str()?.to_owned(), number))
    })
}

/// Returns the number of the port with the given name. An empty name matches a port without a name.
fn port_number(ports: &Value, name: &str) -> Option<u16> {
    let mut ports = ports.as_array()?.iter();
    let found = ports.find(|port| port["name"].as_str().unwrap_or_default() == name)?;
    u16::try_from(found["port"].as_u64()?).ok()
}
