/** Fields of Kubernetes and of clouds, and what a StorageVolume has instead. */
const size = 'write `sizeGb: 20`: a whole number, in GB';

export const volumeHints: Readonly<Record<string, string>> = {
  'spec.size': size,
  'spec.capacity': size,
  'spec.resources': size,
  'spec.storage': size,
  'spec.volumeGb': size,
  'spec.name': 'remove it: the name is `metadata.name`, or `volumeName`',
  'spec.accessModes': 'remove it: a volume is attached to one service at a time',
  'spec.storageClassName': 'remove it: `region` decides what the storage is',
  'spec.mountPath': 'remove it: the provider decides where a service finds its storage',
  'spec.region': 'write a tier that the catalog has, such as `region: standard`',
};
