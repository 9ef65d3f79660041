/**
 * `--policy FILE`: rules about what may be done (src/policy/). The library of their language is loaded only when the flag is given. `run`
 * reads the file again:
 *
 * | the file                               | what follows                                                |
 * |----------------------------------------|-------------------------------------------------------------|
 * | can't be used at the start             | the command refuses to start                                |
 * | changes, and is valid                  | its rules are used from then on; what is held is asked again |
 * | changes and is not valid, or is gone   | the last valid rules stay, and that is logged               |
 */
import { Option } from 'commander';
import { messageOf, type Timer } from '../base/index.ts';
import type { StepPolicy } from '../engine/index.ts';
import type { Rule } from '../policy/index.ts';
import type { Logger } from '../telemetry/index.ts';
import type { Context } from './context.ts';
import { readTextFile } from './options.ts';

export interface PolicyFlags {
  readonly policy?: string;
}

export function policyOption(): Option {
  return new Option('--policy <file>', 'rules in CEL (a PlanPolicy) that deny changes, or warn of them');
}

/** Undefined without the flag. Throws a `UserError` if the file can't be used. */
export async function readPolicy({ policy }: PolicyFlags): Promise<readonly Rule[] | undefined> {
  if (policy === undefined) return undefined;
  const { readRules } = await import('../policy/index.ts');
  return readRules(policy, textOf(policy));
}

function textOf(file: string): string {
  return readTextFile(file, 'the policy');
}

export interface WatchedPolicy {
  readonly policy: StepPolicy;
  stop(): void;
}

const rereadMs = 5000;

/** Undefined without the flag. */
export async function watchPolicy(
  { clock }: Pick<Context, 'clock'>,
  { policy: file }: PolicyFlags,
  logger: Logger,
): Promise<WatchedPolicy | undefined> {
  if (file === undefined) return undefined;
  const { createPolicy, readRules } = await import('../policy/index.ts');
  let text = textOf(file);
  let rules = readRules(file, text);
  let problem: string | undefined;
  const reread = () => {
    const next = textOf(file);
    if (next === text && problem === undefined) return;
    rules = readRules(file, next);
    text = next;
    problem = undefined;
    logger.info({ file, rules: rules.length }, 'policy read');
  };
  const attempt = () => {
    try {
      reread();
    } catch (error) {
      const found = messageOf(error);
      if (found !== problem) {
        logger.error({ file, problem: found }, 'policy not valid, the last valid one stays');
      }
      problem = found;
    }
  };
  let timer: Timer;
  const later = () => {
    timer = clock.after(rereadMs, () => {
      attempt();
      later();
    });
  };
  later();
  return {
    policy: createPolicy({ rules: () => rules, nowMs: () => clock.wallMs() }),
    stop: () => timer.cancel(),
  };
}
