/** What would go with a service (§3 rule 3: its deletion destroys service-owned storage; independent volumes remain). */
import type { wire } from '../api/index.ts';
import type { ContainerServiceSpec } from '../resources/index.ts';

/**
 * Whether deleting `service` destroys storage. The values of a volume's `mode` are not documented beyond
 * `independent`, so only a volume that says so, or is an object of ours, is known to stay.
 */
export function ownsStorage(
  spec: ContainerServiceSpec,
  service: wire.Service | undefined,
  volumes: Iterable<wire.Volume>,
  isManaged: (volumeId: string) => boolean,
): boolean {
  const { storage } = spec;
  if (storage?.volumeGb !== undefined && storage.volumeMode !== 'independent') return true;
  if (!service) return false;
  return [...volumes].some(
    (volume) =>
      (volume.serviceId === service.id || volume.id === service.volumeId) &&
      volume.mode !== 'independent' &&
      !isManaged(volume.id),
  );
}
