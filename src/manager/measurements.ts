/** What analyses of rollouts are measured with: probes of endpoints, the accounts' APIs, and a Prometheus if the process has one. */
import {
  createEndpointProbe,
  createPrometheusQueries,
  createTransport,
  defaultTransportLimits,
  prometheusLimits,
} from '../api/index.ts';
import { MeasurementWatch } from '../observed/index.ts';
import type { ObjectKey } from '../resources/index.ts';
import type { ManagerOptions } from './manager-options.ts';

type Options = Pick<
  ManagerOptions,
  'clock' | 'random' | 'logger' | 'createTransport' | 'createEndpointProbe' | 'analysisPrometheus'
>;

export function createMeasurements(
  { clock, random, logger, analysisPrometheus, ...ways }: Options,
  onFinished: (key: ObjectKey) => void,
): MeasurementWatch<ObjectKey> {
  const limits = { ...defaultTransportLimits, ...prometheusLimits };
  const transport = () => (ways.createTransport ?? createTransport)(clock, limits);
  return new MeasurementWatch({
    draw: () => random.uuid(),
    probe: (ways.createEndpointProbe ?? createEndpointProbe)(clock),
    prometheus: analysisPrometheus && createPrometheusQueries(analysisPrometheus, transport()),
    clock,
    logger,
    onFinished,
  });
}
