/** The client of one account, as its document requires. */
import { ControlApi, type ClientOptions } from '../api/index.ts';
import type { AccountSpec } from '../resources/index.ts';

interface Process extends Pick<ClientOptions, 'clock' | 'metrics'> {
  /** Whether this process may send changes. Undefined: always. */
  readonly mayAct: (() => boolean) | undefined;
}

export function accountApi(
  { clock, metrics, mayAct }: Process,
  { url, refusals, credentialsHeader }: AccountSpec,
  parts: Pick<ClientOptions, 'credential' | 'transport' | 'limiter' | 'trust'>,
): ControlApi {
  return new ControlApi({
    ...parts,
    baseUrl: url.replace(/\/+$/, ''),
    clock,
    metrics,
    refusals,
    credentialsHeader,
    ...(mayAct ? { mayAct } : {}),
  });
}
