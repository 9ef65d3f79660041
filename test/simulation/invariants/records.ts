/** S10, S12: what is written down is no secret, and is true. */
import type { Condition } from '../../../src/resources/index.ts';
import { parseObjectKey } from '../../../src/resources/index.ts';
import type { ObjectRecord } from '../../../src/state/index.ts';
import { secrets } from '../documents.ts';
import { secretIn } from '../secrets.ts';
import type { Invariant, Json } from '../watch.ts';

const passwords = secrets.map(({ stringData }) => stringData.password);

/** No value of a Secret or an environment is on the disk. */
const s10Secrecy: Invariant = (view) => ({
  durable(write) {
    const secret = write.kind === 'save' ? secretIn(write.text) : undefined;
    if (secret !== undefined) view.violated('S10', `a secret is on the disk: ${secret}`);
    // A rollback needs the values that a template gives itself.
    if (write.kind === 'revisions' && passwords.some((password) => write.text.includes(password)))
      view.violated('S10', `a value of a Secret is in the revisions of ${write.key}`);
  },
});

function condition({ status }: ObjectRecord, type: string): Condition | undefined {
  return status?.conditions.find((each) => each.type === type);
}

/**
 * Ready is reported of what a read has shown to be so; the time of a condition moves only with its status. Of an image that the API hides no
 * read says anything: `Synced` has the doubt.
 */
const s12HonestStatus: Invariant = (view) => {
  const shown = new Map<string, Json>();
  return {
    started: () => shown.clear(),
    received({ method, path }, { verdict, body }) {
      if (method !== 'GET' || verdict !== 'done') return;
      const one: Json = body.service;
      for (const service of path === '/api/account' ? body.services : one ? [one] : []) {
        const before: Json[] = shown.get(service.id) ?? [];
        shown.set(service.id, [...before.slice(-9), service]);
      }
    },
    durable(write) {
      for (const record of write.kind === 'save' ? write.records : []) {
        const before = view.disk.record(record.key);
        for (const each of record.status?.conditions ?? []) {
          const earlier = before && condition(before, each.type);
          if (
            !earlier ||
            !view.keepsEveryStatus ||
            earlier.status !== each.status ||
            earlier.lastTransitionTime === each.lastTransitionTime
          )
            continue;
          view.violated('S12', `${record.key}: the time of ${each.type} moved, and its status did not`);
        }
        const isNew = JSON.stringify(before?.status) !== JSON.stringify(record.status);
        // What was on its way when another one took over rests on what its own writer has read.
        const isLate = write.kind === 'save' && write.life !== undefined && view.isOusted(write.life);
        if (isNew && !isLate) checkReady(record);
      }
    },
  };

  function checkReady(record: ObjectRecord): void {
    const { key, status, generation, externalId = '' } = record;
    const isService = parseObjectKey(key).kind === 'ContainerService';
    if (
      !isService ||
      condition(record, 'Ready')?.status !== 'True' ||
      status?.observedGeneration !== generation
    )
      return;
    const spec: Json = record.manifest.spec;
    // What is wanted of a replica follows from its fleet, whatever somebody writes into its resource.
    const isFleets = view.isCluster && record.derived !== undefined;
    const isStopped = spec.desiredState === 'Stopped' && !isFleets;
    const states = isStopped ? ['paused'] : ['running', 'sleeping'];
    const reads: Json[] = shown.get(externalId) ?? [];
    // Until its turn comes, a replica is Ready as it is. That it differs is said by Synced.
    const isHeld =
      isFleets || (record.derived !== undefined && condition(record, 'Synced')?.status !== 'True');
    // Without an image of its own, it has what it took of its template.
    const isTaken = spec.image === undefined && spec.templateRef !== undefined;
    const isOwn = ({ image }: Json) => isHeld || isTaken || !view.showsFields || image === spec.image;
    const isTrue = reads.some((read) => states.includes(read.state) && isOwn(read));
    if (!isTrue) {
      const seen = reads.map(({ state, image }) => `${state} with ${image}`).join(', ') || 'nothing';
      view.violated(
        'S12',
        `${key} is said to be Ready as ${spec.desiredState} with ${spec.image}; what was read is ${seen}`,
      );
    }
  }
};

export const recordInvariants: readonly Invariant[] = [s10Secrecy, s12HonestStatus];
