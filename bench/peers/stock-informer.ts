/** A process with the informer of @kubernetes/client-node as its documentation shows it: one list without pages, one watch. */
import {
  CustomObjectsApi,
  KubeConfig,
  makeInformer,
  type KubernetesListObject,
  type KubernetesObject,
} from '@kubernetes/client-node';
import { serveCache, watched } from '../support/cache-protocol.ts';

const { group, version, plural } = watched;

serveCache(async (server, onChange) => {
  const config = new KubeConfig();
  config.loadFromOptions({
    clusters: [{ name: 'bench', server, skipTLSVerify: true }],
    users: [{ name: 'bench' }],
    contexts: [{ name: 'bench', cluster: 'bench', user: 'bench' }],
    currentContext: 'bench',
  });
  const api = config.makeApiClient(CustomObjectsApi);
  const list = async (): Promise<KubernetesListObject<KubernetesObject>> =>
    (await api.listCustomObjectForAllNamespaces({
      group,
      version,
      resourcePlural: plural,
    })) as KubernetesListObject<KubernetesObject>;
  const informer = makeInformer(config, `/apis/${group}/${version}/${plural}`, list);
  const { promise: failed, reject } = Promise.withResolvers<never>();
  informer.on('error', reject);
  informer.on('add', onChange);
  informer.on('update', onChange);
  await Promise.race([informer.start(), failed]);
});
