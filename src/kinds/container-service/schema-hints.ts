/** Fields of Docker Compose, of a Kubernetes Deployment and of clouds, and what a ContainerService has instead. */
const port = 'write `httpPort: 8080`, the one port that the container serves';
const storage = 'write `storage: {volumeRef: {name: NAME}}` with the name of a StorageVolume';
const environment =
  'write `env` as a list, as in a Pod: `- {name: NAME, value: "VALUE"}`, with each on its own line';
const resources =
  'write `resources: {cpu: 1, memoryGb: 2}`; a service has what it asks for, without requests and limits';
const gpus = 'write `gpuCount: 1`';
const direct =
  'a service is one container: write its `image`, `command`, `env` and `resources` directly under `spec`';
const command = 'write `command` as a list: `[python, train.py]`';
const restarts =
  'remove it: a service is kept running. For restarts after an error, write `onError: {restarts: 3}`';
const readiness = 'write `readiness: {path: /healthz}`';
const copies = 'remove it: a document is one service. For a second one, write a document with another name';
const secret = 'write `secretKeyRef: {name: SECRET, key: KEY}` with the name of a Secret and a key in it';

export const serviceHints: Readonly<Record<string, string>> = {
  'spec.ports': port,
  'spec.port': port,
  'spec.expose': port,
  'spec.containerPort': port,
  'spec.environment': environment,
  'spec.envFrom': environment,
  'spec.env_file': environment,
  'spec.env': environment,
  'spec.env[]': environment,
  'spec.env[].value': 'put it in quotes: a value is a text',
  'spec.env[].valueFrom': `${secret}, under \`valueFrom\``,
  'spec.env[].valueFrom.secretKeyRef': secret,
  'spec.replicas': copies,
  'spec.deploy': copies,
  'spec.scale': copies,
  'spec.volumes': storage,
  'spec.volumeMounts': storage,
  'spec.volume': storage,
  'spec.volumeRef': storage,
  'spec.storage': storage,
  'spec.storage.volumeRef': 'write `volumeRef: {name: NAME}` with the name of a StorageVolume',
  'spec.storage.size': 'write `volumeGb: 20` for storage of its own, or `volumeRef` for a StorageVolume',
  'spec.templateRef': 'write `templateRef: {name: NAME}`',
  'spec.restart': restarts,
  'spec.restartPolicy': restarts,
  'spec.containers': direct,
  'spec.template': `${direct}; a ServiceTemplate is named by \`templateRef: {name: NAME}\``,
  'spec.build': 'build and push the image first, and write its name as `image`',
  'spec.args': command,
  'spec.entrypoint': command,
  'spec.command': command,
  'spec.cpu': resources,
  'spec.memory': resources,
  'spec.memoryGb': resources,
  'spec.gpu': resources,
  'spec.gpus': resources,
  'spec.resources': resources,
  'spec.resources.requests': resources,
  'spec.resources.limits': resources,
  'spec.resources.memory': 'write `memoryGb: 2`: a number, in GB',
  'spec.resources.gpu': gpus,
  'spec.resources.gpus': gpus,
  'spec.resources.nvidia.com/gpu': gpus,
  'spec.healthcheck': readiness,
  'spec.livenessProbe': readiness,
  'spec.readinessProbe': readiness,
  'spec.container_name': 'write `serviceName`, if it is not `metadata.name`',
  'spec.name': 'remove it: the name is `metadata.name`, or `serviceName`',
  'spec.imagePullSecrets': 'remove it, and write an ImageRegistry for the repository',
  'spec.region': 'write a tier that the catalog has, such as `region: standard`',
  'spec.location': 'write `region`, and `geography` for a part of the world',
  'spec.zone': 'write `region`, and `geography` for a part of the world',
};
