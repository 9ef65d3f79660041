/**
 * Ensures that the egress rules (egress-rules.ts) are in force on this machine, which has to be the engine's.
 *
 *     checked ──(at the start: may and can this process set rules?)──> no: the command does not start, and reports why
 *        │
 *        └──> ensured, before each launch and every 30 s ──(it fails)──> nothing is launched until it succeeds again
 *
 * A restart of a firewall may remove the rules; they are restored within 30 s, which is logged. They stay when the
 * control plane ends, because the containers do.
 */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { UserError, messageOf } from '../../../../base/user-error.ts';
import { bridgeName, egressRules, type EgressPolicy, type EgressRules } from './egress-rules.ts';

/** Runs a program of this machine; rejects with its output. */
type Run = (program: string, args: readonly string[], input?: string) => Promise<void>;

const programMs = 10_000;
const programPath = { PATH: '/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin' };

export const runProgram: Run = (program, args, input = '') =>
  new Promise((resolve, reject) => {
    const child = execFile(
      program,
      [...args],
      { env: programPath, timeout: programMs },
      (error, _stdout, stderr) => {
        if (error) reject(new Error(stderr.trim() || error.message));
        else resolve();
      },
    );
    // A program that ends early does not read it.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  });

export class Egress {
  readonly #policy: EgressPolicy;
  readonly #run: Run;

  constructor(policy: EgressPolicy, run: Run = runProgram) {
    this.#policy = policy;
    this.#run = run;
  }

  /** Throws a `UserError` when this process can't set rules. */
  async check(): Promise<void> {
    for (const program of ['iptables', 'ip6tables']) {
      try {
        await this.#run(program, ['-w', '-t', 'mangle', '-S', 'FORWARD']);
      } catch (error) {
        throw new UserError(
          `can't restrict what containers may reach: ${program} failed: ${messageOf(error)}`,
          'run the control plane as root on the machine of the container engine, with iptables installed; or use --egress external where another firewall restricts them, or --egress open where every tenant is trusted',
          error,
        );
      }
    }
  }

  /** Whether a rule was missing. Rejects when the rules could not be set: nothing may be launched then. */
  async ensure(installation: string): Promise<boolean> {
    let wasMissing = false;
    for (const rules of egressRules(installation, this.#policy)) {
      await this.#run(`${rules.program}-restore`, ['--noflush', '--wait'], rules.chains);
      for (const jump of rules.jumps) wasMissing = (await this.#ensureJump(rules, jump)) || wasMissing;
    }
    return wasMissing;
  }

  /** Whether the rules apply to the containers of an account: an engine may ignore how its bridge was to be called. */
  appliesTo(installation: string, accountId: string): boolean {
    return existsSync(`/sys/class/net/${bridgeName(installation, accountId)}`);
  }

  async #ensureJump({ program }: EgressRules, jump: readonly string[]): Promise<boolean> {
    const table = ['-w', '-t', 'mangle'];
    try {
      await this.#run(program, [...table, '-C', ...jump]);
      return false;
    } catch {
      await this.#run(program, [...table, '-I', ...jump]);
      return true;
    }
  }
}

/** The addresses in the text of a resolv.conf. */
export function nameServersIn(text: string): string[] {
  return text
    .split('\n')
    .flatMap((line) => /^\s*nameserver\s+(\S+)/.exec(line)?.[1] ?? [])
    .filter((address) => isIP(address) !== 0);
}

export function systemNameServers(): string[] {
  try {
    return nameServersIn(readFileSync('/etc/resolv.conf', 'utf8'));
  } catch {
    return [];
  }
}
