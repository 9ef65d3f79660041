/** Fields of a Deployment and of a ContainerService, and what a ServiceFleet has instead. */
const template = 'write it under `template.spec`';
const place = 'remove it: it is the same for all replicas, and `accountRef` of the fleet decides';
const own = 'remove it: the fleet decides this for each replica';

export const fleetHints: Readonly<Record<string, string>> = {
  'spec.image': template,
  'spec.command': template,
  'spec.env': template,
  'spec.resources': template,
  'spec.httpPort': template,
  'spec.region': template,
  'spec.selector': 'remove it: replicas have the label `fleetkeeper.dev/fleet`',
  'spec.strategy': 'write `update: {maxSurge: 1, maxUnavailable: 0}`',
  'spec.minReadySeconds': 'write `update: {minReadySeconds: 30}`',
  'spec.template.spec.accountRef': place,
  'spec.template.spec.serviceName': 'remove it: a replica has the name of the fleet and its number',
  'spec.template.spec.storage':
    'write `storage: {scratch: {volumeGb: 20}}` in the spec of the fleet, or `perReplica` to keep the data',
  'spec.templateRef': template,
  'spec.templateUpdates': template,
  'spec.template.spec.desiredState': 'remove it, and write `replicas: 0` in the spec of the fleet',
  'spec.template.spec.replacement': 'remove it, and write `update: {mode: Replace}` in the spec of the fleet',
  'spec.template.spec.deletionPolicy': 'write it in the spec of the fleet',
  'spec.template.spec.adopt': own,
};
