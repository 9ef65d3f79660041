/** Fleets of replicas, as documents. */
import { apiVersion } from '../../../src/resources/index.ts';

export const template = (spec: object = {}) => ({
  spec: {
    region: 'standard',
    image: 'ghcr.io/acme/llm:1',
    resources: { cpu: 1, memoryGb: 1 },
    httpPort: 8000,
    ...spec,
  },
});

/** In a hurry, for tests. */
const quick = { scaleIn: { maxPerMinute: 1000 }, drain: { graceSeconds: 0 } };
const quickUpdate = { minReadySeconds: 0 };

export function fleetOf(name: string, spec: object = {}): object {
  return {
    apiVersion,
    kind: 'ServiceFleet',
    metadata: { name },
    spec: { replicas: 3, template: template(), update: quickUpdate, ...quick, ...spec },
  };
}
