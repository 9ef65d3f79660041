/** `--analysis-prometheus`: where analyses of ServiceFleets query a Prometheus. No document has its address, so no document can lead anywhere else. */
import { readFileSync } from 'node:fs';
import { InvalidArgumentError, Option } from 'commander';
import type { PrometheusAddress } from '../api/index.ts';
import { Sensitive } from '../base/index.ts';
import type { Context } from './context.ts';
import { isWebAddress } from './web-address.ts';

export interface AnalysisFlags {
  readonly analysisPrometheus?: string;
}

export function analysisPrometheusOption(): Option {
  return new Option(
    '--analysis-prometheus <url>',
    'where analyses of ServiceFleets send their Prometheus queries; FLEETKEEPER_PROMETHEUS_TOKEN has its token',
  ).argParser(parseAddress);
}

/** FLEETKEEPER_PROMETHEUS_TOKEN, or the file of FLEETKEEPER_PROMETHEUS_TOKEN_FILE; never an argument. */
export function analysisPrometheus(
  { environment }: Pick<Context, 'environment'>,
  { analysisPrometheus: url }: AnalysisFlags,
): { readonly analysisPrometheus?: PrometheusAddress } {
  if (url === undefined) return {};
  const token = environment['FLEETKEEPER_PROMETHEUS_TOKEN'];
  const file = environment['FLEETKEEPER_PROMETHEUS_TOKEN_FILE'];
  return {
    analysisPrometheus: {
      url,
      token: () => {
        if (token) return new Sensitive(token);
        return file ? tokenIn(file) : undefined;
      },
    },
  };
}

/** Without it, Prometheus refuses the query, and the measurement has no result. */
function tokenIn(file: string): Sensitive<string> | undefined {
  try {
    const token = readFileSync(file, 'utf8').trim();
    return token === '' ? undefined : new Sensitive(token);
  } catch {
    return undefined;
  }
}

function parseAddress(text: string): string {
  const isPlain = isWebAddress(text, 'whole') && new URL(text).search === '' && new URL(text).hash === '';
  if (isPlain) return text;
  throw new InvalidArgumentError(
    'expected an http or https address without user name, password and query, such as http://prometheus:9090',
  );
}
