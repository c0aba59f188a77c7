//! Providers without namespaces: their ports, paths and temporary files are those of this machine.

use k8s_openapi::api::core::v1::Service;

use super::program::ROLE;
use super::*;

#[tokio::test]
async fn providers_share_this_machine() {
    let machine = Machine::start_as(true, &["--store", "memory", "--container-isolation", "none"]).await;
    let secret = json!({"metadata": {"name": "certificate"}, "stringData": {"tls.crt": "a certificate"}});
    let secrets: Api<Secret> = Api::namespaced(machine.client.clone(), NAMESPACE);
    secrets.create(&PostParams::default(), &serde_json::from_value(secret).unwrap()).await.unwrap();
    // The argument after a script is its name.
    let script = "echo certificate $(cat $TMPDIR/k8s-webhook-server/serving-certs/tls.crt) ; \
        TEST_POD_PORT=$0 exec program --exact pods::program::server --nocapture";
    let provider = |name: &str| {
        json!({
            "container": {
                "args": [script, "--webhook-port=9443"],
                "env": [{"name": ROLE, "value": name}],
                "ports": [{"name": "webhook-server", "containerPort": 9443}],
                "readinessProbe": {"httpGet": {"port": "webhook-server"}},
                "volumeMounts": [{"name": "cert", "mountPath": "/tmp/k8s-webhook-server/serving-certs"}],
            },
            "spec": {"volumes": [{"name": "cert", "secret": {"secretName": "certificate"}}]},
        })
    };
    for name in ["one", "two"] {
        machine.deploy(name, "", provider(name)).await;
        let service = json!({
            "metadata": {"name": name},
            "spec": {"selector": {"app": name}, "ports": [{"port": 443, "targetPort": 9443}]},
        });
        let services: Api<Service> = Api::namespaced(machine.client.clone(), NAMESPACE);
        services.create(&PostParams::default(), &serde_json::from_value(service).unwrap()).await.unwrap();
    }
    for name in ["one", "two"] {
        let pod = machine.pod(name, "ready", is_ready).await;
        assert_eq!(pod.status.as_ref().unwrap().pod_ip.as_deref(), Some("127.0.0.1"));
        machine.logged(&pod, "certificate a certificate").await;
        let path = format!("/api/v1/namespaces/{NAMESPACE}/pods/{}:9443/proxy/", pod.name_any());
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        assert_eq!(machine.client.request_text(request).await.unwrap(), format!("I am {name}"));
    }

    let stubborn = json!({"container": {"ports": [{"containerPort": 9443}]}});
    machine.deploy("stubborn", "exit 0", stubborn).await;
    let waiting = |pod: &Pod| container(pod)["state"]["waiting"].clone();
    let pod = machine.pod("stubborn", "refused", |pod| waiting(pod)["message"].is_string()).await;
    let message = waiting(&pod)["message"].as_str().unwrap().to_owned();
    assert!(
        message.contains("the Pod shell-system/") && message.contains("listens on the port 9443"),
        "{message}"
    );
}
