/** Somebody else with a key to the same account, who changes things through the plain API. */
import { ControlApi, Limiter, createTransport, describeOutcome, type wire } from '../../api/index.ts';
import { Sensitive, UserError, sleep } from '../../base/index.ts';
import { createMetrics } from '../../telemetry/index.ts';
import type { Context } from '../context.ts';

export interface Colleague {
  /** Patches the service of that name; throws a `UserError` when the API does not accept it. */
  patch(name: string, patch: wire.ServicePatch): Promise<void>;
  /** The id of the service of that name. */
  idOf(name: string): Promise<string>;
  close(): Promise<void>;
}

const attempts = 5;

export function openColleague({ clock, random }: Context, baseUrl: string, apiKey: string): Colleague {
  const transport = createTransport(clock);
  const metrics = createMetrics();
  const limits = { account: 'colleague', perSecond: 20, burst: 20, concurrency: 1 };
  const api = new ControlApi({
    baseUrl,
    credential: () => new Sensitive(apiKey),
    transport,
    limiter: new Limiter(limits, clock, metrics),
    clock,
    metrics,
  });
  async function find(name: string): Promise<wire.Service> {
    const outcome = await api.account();
    if (outcome.kind !== 'applied') throw new UserError(`reading the account: ${describeOutcome(outcome)}`);
    const service = outcome.value.services.find((candidate) => candidate.name === name);
    if (!service) throw new UserError(`there is no service ${name} in the account`);
    return service;
  }
  return {
    async patch(name, patch) {
      // The revision may move between reading and patching (§4 rule 3).
      for (let attempt = 1; ; attempt += 1) {
        const { id, revision = 1 } = await find(name);
        const outcome = await api.patchService(id, { revision, patch }, random.uuid());
        if (outcome.kind === 'applied') return;
        if (attempt === attempts) throw new UserError(`patching ${name}: ${describeOutcome(outcome)}`);
        await sleep(clock, 200);
      }
    },
    idOf: async (name) => (await find(name)).id,
    close: () => transport.close(),
  };
}
