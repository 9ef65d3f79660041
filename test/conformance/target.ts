/** What the suite is pointed at, and what it may use there. `run.ts` fills it in from the command line. */
import { inject, type TestContext } from 'vitest';

export interface Target {
  /** Without the `/api` of the paths. */
  readonly url: string;
  readonly apiKey: string;
  /** The beginning of every name that is made: what carries it is ours to remove. */
  readonly runName: string;
  /** How long a state is waited for. */
  readonly timeoutMs: number;
  readonly region: string;
  readonly geography?: string | undefined;
  readonly image: string;
  readonly otherImage: string;
  /** One that no service can run: it ends in `error`. */
  readonly brokenImage?: string | undefined;
  readonly command?: readonly string[] | undefined;
  readonly httpPort: number;
  readonly resources: Resources;
  readonly otherResources: Resources;
  readonly otherApiKey?: string | undefined;
  readonly unverifiedApiKey?: string | undefined;
  readonly unverifiedService?: string | undefined;
  readonly unverifiedVolume?: string | undefined;
  readonly unverifiedRegistry?: string | undefined;
  readonly brokeApiKey?: string | undefined;
  /** With the placeholders `{repository}` and `{secret}`: the contract does not show its fields. */
  readonly registrySpec?: object | undefined;
  /** The contract does not show its fields. */
  readonly execBody?: object | undefined;
  readonly fillLimits?: boolean | undefined;
  readonly idleSleep?: boolean | undefined;
  /** How many requests at once are answered with at least one 429. */
  readonly rateLimitBurst?: number | undefined;
}

export interface Resources {
  readonly gpuCount: number;
  readonly cpu: number;
  readonly memoryGb: number;
}

declare module 'vitest' {
  interface ProvidedContext {
    target: Target;
  }
}

export const target: Target = inject('target');

/** The option's value; without it the test is reported as skipped, with the option that would run it. */
export function required<Name extends keyof Target>(
  context: TestContext,
  name: Name,
  flag: string,
): NonNullable<Target[Name]> {
  const value = target[name];
  if (value === undefined || value === false) context.skip(`needs ${flag}`);
  return value;
}
