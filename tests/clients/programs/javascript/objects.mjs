// The JavaScript client against the server that KUBECONFIG names. Exits 1 with the first thing that is not as it should be.
import assert from 'node:assert/strict';
import * as k8s from '@kubernetes/client-node';

const namespace = 'javascript';
const at = { group: 'cluster.x-k8s.io', version: 'v1beta2', namespace, plural: 'clusters' };

const config = new k8s.KubeConfig();
config.loadFromDefault();
const core = config.makeApiClient(k8s.CoreV1Api);
const objects = config.makeApiClient(k8s.CustomObjectsApi);

const refusedWith = (code) => (error) => error.code === code;

async function typed() {
  await core.createNamespace({ body: { metadata: { name: namespace } } });
  const body = { metadata: { name: 'one', labels: { a: 'b' } }, data: { k: 'v' } };
  const created = await core.createNamespacedConfigMap({ namespace, body });
  assert.deepEqual(created.data, { k: 'v' });
  await assert.rejects(core.createNamespacedConfigMap({ namespace, body }), refusedWith(409));
  const replaced = await core.replaceNamespacedConfigMap({ name: 'one', namespace, body: { ...created, data: { k: 'w' } } });
  assert.notEqual(replaced.metadata.resourceVersion, created.metadata.resourceVersion);
  const stale = { ...created, data: { lost: 'yes' } };
  await assert.rejects(core.replaceNamespacedConfigMap({ name: 'one', namespace, body: stale }), refusedWith(409));
  const list = await core.listNamespacedConfigMap({ namespace, labelSelector: 'a=b' });
  assert.deepEqual(list.items.map((item) => item.metadata.name), ['one']);
}

async function custom() {
  const infrastructureRef = { apiGroup: 'infrastructure.cluster.x-k8s.io', kind: 'DevCluster', name: 'js' };
  const body = { apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Cluster', metadata: { name: 'js' }, spec: { infrastructureRef, paused: true } };
  await objects.createNamespacedCustomObject({ ...at, body });
  const found = await objects.getNamespacedCustomObject({ ...at, name: 'js' });
  assert.equal(found.spec.paused, true);
  const wrong = { ...body, metadata: { name: 'wrong' }, spec: { ...body.spec, paused: 'often' } };
  await assert.rejects(objects.createNamespacedCustomObject({ ...at, body: wrong }), refusedWith(422));
  await objects.deleteNamespacedCustomObject({ ...at, name: 'js' });
}

async function informed() {
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  const informer = k8s.makeInformer(config, path, () => core.listNamespacedConfigMap({ namespace }));
  const deleted = new Promise((resolve, reject) => {
    informer.on('delete', (object) => resolve(object.metadata.name));
    informer.on('error', reject);
  });
  await informer.start();
  assert.equal(informer.get('one', namespace).data.k, 'w');
  await core.deleteNamespacedConfigMap({ name: 'one', namespace });
  assert.equal(await deleted, 'one');
  await informer.stop();
}

await typed();
await custom();
await informed();
await core.deleteNamespace({ name: namespace });
console.log('ok: javascript');
