/**
 * The life of a volume.
 *
 * `provisioning` ──> `ready` <──> `expanding`, and from each of these `deleting` ──> gone. A volume that the runtime
 * can't create or change is in `error`, and can only be deleted. `provisioned` becomes true when the storage exists,
 * and is charged from then until a deletion is accepted. During an expansion `requestedSizeGb` is larger than
 * `sizeGb`; they agree again when it is done. A volume is never shrunk.
 *
 * `mode` is `independent` (it outlives services, and can be deleted while nothing is attached) or `service` (one
 * service created it, and it is deleted with that). An attached volume grows only while its service is paused (§3
 * rule 5), and a service starts only while its volume is ready.
 */
import type { VolumeCreate, VolumeUpdate } from '../../api/wire.ts';
import { limits } from '../../api/wire.ts';
import type { RegionConfig } from './config.ts';
import { conflict, notFound, revisionConflict } from './errors.ts';
import {
  requireFunds,
  requireGeographies,
  requirePrices,
  requireRegion,
  requireVerifiedEmail,
} from './gates.ts';
import { newOperation, type Platform } from './platform.ts';
import type {
  AccountRecord,
  ServiceRecord,
  VolumeMode,
  VolumeOperationKind,
  VolumeRecord,
} from '../store/records.ts';
import type { Report } from './runtime.ts';

type Changes = Partial<Omit<VolumeRecord, 'id' | 'accountId' | 'revision'>>;

export class Volumes {
  readonly #platform: Platform;

  constructor(platform: Platform) {
    this.#platform = platform;
  }

  /** After a restart: asks the runtime again for what is pending. */
  resume(): void {
    for (const volume of this.#platform.store.volumes.all()) this.#beginNow(volume);
  }

  find(account: AccountRecord, id: string): VolumeRecord {
    const volume = this.#platform.store.volumes.get(id.toLowerCase());
    if (volume?.accountId !== account.id) throw notFound('volume', id);
    return volume;
  }

  create(account: AccountRecord, spec: VolumeCreate): VolumeRecord {
    const { config, ledger, capacity } = this.#platform;
    requireVerifiedEmail(account);
    const region = requireRegion(config, spec.region);
    const geographies = requireGeographies(region, spec.geography);
    const geography = capacity.placeStorage(region, geographies, spec.sizeGb);
    requireFunds(account, ledger);
    return this.add(account, region, { ...spec, geography, mode: 'independent', serviceId: null });
  }

  /** A new volume, on its way to `ready`; also for storage that a service's creation asks for. */
  add(
    account: AccountRecord,
    region: RegionConfig,
    wanted: { name: string; geography: string; sizeGb: number; mode: VolumeMode; serviceId: string | null },
  ): VolumeRecord {
    const { store, quotas, capacity, random, clock } = this.#platform;
    if (store.volumes.count(account.id) >= limits.volumesPerAccount) {
      throw conflict(
        'limit_reached',
        `an account has at most ${limits.volumesPerAccount} volumes, those of services included; delete one first`,
      );
    }
    const { storageGbHourMicros } = requirePrices(region);
    quotas.requireStorage(account, wanted.sizeGb);
    capacity.requireStorage(region, wanted.geography, wanted.sizeGb);
    const operation = newOperation(this.#platform, 'volume-provision');
    const volume = store.volumes.put({
      id: random.uuid(),
      accountId: account.id,
      name: wanted.name,
      mode: wanted.mode,
      serviceId: wanted.serviceId,
      region: region.name,
      geography: wanted.geography,
      status: 'provisioning',
      revision: 1,
      sizeGb: wanted.sizeGb,
      requestedSizeGb: wanted.sizeGb,
      provisioned: false,
      hourlyMicros: wanted.sizeGb * storageGbHourMicros,
      error: null,
      operation,
      createdAtMs: clock.wallMs(),
    });
    store.unit.afterCommit(() => this.#beginNow(volume));
    return volume;
  }

  update(account: AccountRecord, id: string, update: VolumeUpdate): VolumeRecord {
    requireVerifiedEmail(account);
    const volume = this.find(account, id);
    if (update.revision !== volume.revision) {
      throw revisionConflict('volume', update.revision, volume.revision);
    }
    if (volume.status === 'deleting') throw conflict('invalid_state', 'the volume is being deleted');
    const renamed = update.name === undefined ? {} : { name: update.name };
    const sizeGb = update.sizeGb ?? volume.requestedSizeGb;
    if (sizeGb === volume.requestedSizeGb) return this.#write(volume, renamed);
    if (sizeGb < volume.requestedSizeGb) {
      throw conflict(
        'volume_cannot_shrink',
        `the volume has ${volume.requestedSizeGb} GB and can't be shrunk to ${sizeGb} GB`,
      );
    }
    this.#requireCanGrow(volume);
    const moreGb = sizeGb - volume.requestedSizeGb;
    this.#platform.quotas.requireStorage(account, moreGb);
    this.#platform.capacity.requireGrowth(volume, moreGb);
    requireFunds(account, this.#platform.ledger);
    return this.#begin(volume, 'volume-expand', {
      ...renamed,
      status: 'expanding',
      requestedSizeGb: sizeGb,
    });
  }

  /** Deleting again what is being deleted answers as before. */
  delete(account: AccountRecord, id: string): { volumeId: string; operationId: string; status: 'deleting' } {
    const volume = this.find(account, id);
    if (volume.mode === 'service') {
      throw conflict('volume_service_owned', 'the volume belongs to its service and is deleted with it');
    }
    if (volume.serviceId !== null) {
      throw conflict('volume_attached', `the volume is attached to service ${volume.serviceId}`);
    }
    const deleted =
      volume.status === 'deleting' ? volume : this.#begin(volume, 'volume-delete', { status: 'deleting' });
    return { volumeId: deleted.id, operationId: deleted.operation?.id ?? '', status: 'deleting' };
  }

  /** An independent volume that a new service in `region` and one of `geographies` can have. */
  attachable(
    account: AccountRecord,
    id: string,
    region: string,
    geographies: readonly string[],
  ): VolumeRecord {
    const volume = this.find(account, id);
    if (volume.mode !== 'independent' || volume.serviceId !== null) {
      throw conflict('volume_attached', `the volume belongs to service ${volume.serviceId}`);
    }
    if (volume.region !== region || !geographies.includes(volume.geography)) {
      throw conflict(
        'volume_elsewhere',
        `the volume is in region ${volume.region}, ${volume.geography}; the service must be there too`,
      );
    }
    this.requireReady(volume.id);
    return volume;
  }

  attach(volume: VolumeRecord, serviceId: string): VolumeRecord {
    return this.#write(volume, { serviceId });
  }

  /** Also true when there is none. */
  isReady(id: string | null): boolean {
    return id === null || this.#platform.store.volumes.get(id)?.status === 'ready';
  }

  requireReady(id: string | null): void {
    if (id === null || this.isReady(id)) return;
    const status = this.#platform.store.volumes.get(id)?.status ?? 'gone';
    throw conflict('volume_not_ready', `volume ${id} is ${status}; it must be ready first`);
  }

  /** Why the volume will never be ready, if so. */
  errorOf(id: string | null): string | undefined {
    const volume = id === null ? undefined : this.#platform.store.volumes.get(id);
    return volume?.status === 'error' ? `volume ${volume.id} failed: ${volume.error}` : undefined;
  }

  /** The volume that belongs to the service, if it has one. */
  ownedBy(service: ServiceRecord): string | null {
    const volume = this.#volumeOf(service);
    return volume?.mode === 'service' ? volume.id : null;
  }

  /** The deletion of its service is accepted: what the service owns is being deleted from now on. */
  releaseBegin(service: ServiceRecord): void {
    const volume = this.#volumeOf(service);
    if (volume?.mode === 'service') this.#write(volume, { status: 'deleting', operation: null });
  }

  /** The service is gone: so is what it owned; what is independent is free again. */
  releaseEnd(service: ServiceRecord): void {
    const volume = this.#volumeOf(service);
    if (volume?.mode === 'service') this.#platform.store.volumes.remove(volume);
    else if (volume) this.#write(volume, { serviceId: null });
  }

  /** What the runtime reports about a volume; a report on an operation that was superseded is ignored. */
  settle(volume: VolumeRecord, report: Report): void {
    if (volume.operation?.id !== report.operationId) return;
    if (report.error !== undefined) {
      this.#write(volume, { status: 'error', operation: null, error: report.error });
    } else if (volume.operation.kind === 'volume-delete') {
      this.#platform.store.volumes.remove(volume);
    } else {
      this.#write(volume, {
        status: 'ready',
        operation: null,
        provisioned: true,
        error: null,
        sizeGb: volume.requestedSizeGb,
        hourlyMicros: Math.round((volume.hourlyMicros / volume.sizeGb) * volume.requestedSizeGb),
      });
    }
  }

  #requireCanGrow(volume: VolumeRecord): void {
    this.requireReady(volume.id);
    const refusal = this.#platform.runtime.growthRefusal?.(volume);
    if (refusal !== undefined) throw conflict('volume_cannot_grow', refusal);
    const service =
      volume.serviceId === null ? undefined : this.#platform.store.services.get(volume.serviceId);
    if (!service || service.state === 'paused') return;
    throw conflict(
      'service_not_paused',
      `service ${service.id} is ${service.state}; stop it and wait until it is paused before its volume grows`,
    );
  }

  #volumeOf(service: ServiceRecord): VolumeRecord | undefined {
    return service.volumeId === null ? undefined : this.#platform.store.volumes.get(service.volumeId);
  }

  #write(volume: VolumeRecord, changes: Changes): VolumeRecord {
    return this.#platform.store.volumes.put({ ...volume, ...changes, revision: volume.revision + 1 });
  }

  #begin(volume: VolumeRecord, kind: VolumeOperationKind, changes: Changes): VolumeRecord {
    const operation = newOperation(this.#platform, kind);
    const begun = this.#write(volume, { ...changes, operation });
    this.#platform.store.unit.afterCommit(() => this.#beginNow(begun));
    return begun;
  }

  #beginNow({ id, accountId, operation, requestedSizeGb: sizeGb, region, geography }: VolumeRecord): void {
    if (!operation) return;
    const place = { region, geography };
    this.#platform.runtime.begin({ ...operation, accountId, subjectId: id, place, sizeGb });
  }
}
