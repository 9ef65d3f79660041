/** The objects of B4 and B5. */
import { watched, writtenAtAnnotation } from './cache-protocol.ts';

const stampMark = '@stamp@';
const versionMark = '@version@';

/** About 1.4 KB, of which 0.3 KB are managed fields. */
function objectText(index: number): string {
  const at = '2026-11-21T08:00:00Z';
  const condition = (type: string, status: string, reason: string, message: string) => ({
    type,
    status,
    reason,
    message,
    observedGeneration: 1,
    lastTransitionTime: at,
  });
  return JSON.stringify({
    apiVersion: watched.apiVersion,
    kind: watched.kind,
    metadata: {
      annotations: { [writtenAtAnnotation]: stampMark },
      creationTimestamp: at,
      finalizers: ['fleetkeeper.dev/cleanup'],
      generation: 1,
      labels: { app: 'trainer', team: `team-${index % 40}` },
      managedFields: [
        {
          manager: 'kubectl-client-side-apply',
          operation: 'Update',
          apiVersion: watched.apiVersion,
          time: at,
          fieldsType: 'FieldsV1',
          fieldsV1: {
            'f:spec': { 'f:image': {}, 'f:region': {}, 'f:resources': { 'f:cpu': {}, 'f:memoryGb': {} } },
          },
        },
      ],
      name: `service-${String(index).padStart(6, '0')}`,
      namespace: `team-${index % 40}`,
      resourceVersion: versionMark,
      uid: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
    },
    spec: {
      region: 'standard',
      image: 'ghcr.io/acme/trainer:1.4',
      resources: { gpuCount: 0, cpu: 8, memoryGb: 32 },
      env: [{ name: 'MODE', value: 'train' }],
    },
    status: {
      observedGeneration: 1,
      id: `10000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
      revision: 3,
      state: 'running',
      endpoint: `https://service-${index}.example.com`,
      conditions: [
        condition('Ready', 'True', 'Running', 'the service runs, and its endpoint answers'),
        condition('Synced', 'True', 'InSync', 'all is as declared'),
      ],
    },
  });
}

/** The text of an object around its stamp and its version. */
export class ObjectText {
  readonly #parts: readonly string[];

  constructor(index: number) {
    this.#parts = objectText(index).split(new RegExp(`${stampMark}|${versionMark}`));
  }

  at(stamp: string, version: number): string {
    const [before = '', between = '', after = ''] = this.#parts;
    return `${before}${stamp}${between}${version}${after}`;
  }
}

/** A line of a watch. */
export function eventText(object: string): string {
  return `{"type":"MODIFIED","object":${object}}\n`;
}
