import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const main = fileURLToPath(new URL('../../dist/main.mjs', import.meta.url));

let temporary: string;
beforeEach(() => {
  temporary = mkdtempSync(path.join(tmpdir(), 'demo-test-'));
});
afterEach(() => rmSync(temporary, { recursive: true, force: true }));

interface Ended {
  readonly code: number | null;
  readonly lines: readonly string[];
  readonly errors: string;
}

/** Runs the demo off a terminal; `onLine` may stop it with a signal. */
function runDemo(onLine: (line: string) => NodeJS.Signals | undefined = () => undefined): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [main, 'demo'], {
      env: { ...process.env, TMPDIR: temporary },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    let errors = '';
    child.stderr.on('data', (chunk) => (errors += String(chunk)));
    child.stdout.on('data', (chunk) => {
      const before = output.split('\n').length - 1;
      output += String(chunk);
      for (const line of output.split('\n').slice(before, -1)) {
        const signal = onLine(line);
        if (signal) child.kill(signal);
      }
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, lines: output.trimEnd().split('\n'), errors }));
  });
}

/** Slots in the order in which they get another image. */
function updatedIn(act: string): string[] {
  return [...act.matchAll(/to be updated: replica (\d)/g)].map(([, slot = '']) => slot);
}

describe('the demo off a terminal', () => {
  it('shows the fleet Ready, drift and its healing, edits, a rollout and a rollback, and ends by itself', async () => {
    const startedAtMs = performance.now();
    const { code, lines, errors } = await runDemo();
    expect({ code, errors }).toEqual({ code: 0, errors: '' });
    expect(performance.now() - startedAtMs).toBeLessThan(30_000);

    const acts = lines.flatMap((line, index) => (line.includes(' --- ') ? [index] : []));
    expect(acts).toHaveLength(6);
    const [create = '', drift = '', folder = '', rollout = '', rollback = '', scaleIn = ''] = acts.map(
      (start, index) => lines.slice(start, acts[index + 1]).join('\n'),
    );
    const services = [
      'storefront',
      'catalog',
      'search',
      'recommender',
      'thumbnails',
      'spring-sale',
      'checkout-3',
    ];
    for (const name of services) {
      expect(create).toMatch(new RegExp(`service/${name}: Ready: running, https://`));
    }
    expect(create).toMatch(/volume\/models: Ready: 100 GB/);
    expect(drift).toMatch(
      /service\/storefront: Drifted: image: "[^"]+:debug" → "[^"]+:2\.4"[^]*service\/storefront: healed/,
    );
    expect(drift).toMatch(/service\/catalog: Drifted: .*env\.DATABASE_URL[^]*service\/catalog: healed/);
    expect(folder).toMatch(
      /service\/search: stopping[^]*service\/search: paused[^]*search-index: Ready: 40 GB[^]*search: Ready: running/,
    );
    expect(folder).toMatch(/spring-sale: deleted/);
    expect(updatedIn(rollout)).toEqual(['3', '2', '1', '0']);
    expect(rollout).toMatch(/fleet\/checkout: Ready: 4 of 4 available, r2/);
    // Only the canary is touched.
    expect(updatedIn(rollback)).toEqual(['3', '3']);
    expect(rollback).toMatch(
      /checkout-3: held: ServiceError[^]*r3 failed: 1 replica failed: replica 3 \(ServiceError: can't pull[^]*checkout: all replicas have r2 again/,
    );
    expect(scaleIn).toMatch(
      /replica 3 is protected by the activity "end-of-day"[^]*draining instead: replica 1/,
    );
    expect(scaleIn.match(/checkout-\d(?=: deleted)/g)?.sort()).toEqual(['checkout-1', 'checkout-2']);
    expect(lines.join('\n')).toMatch(/with [1-9]\d* reads and [1-9]\d* changes sent to the API/);
    expect(lines.at(-1)).toContain('status --source /tmp/tour/fleet');
  });

  it('writes no colour, no cursor movement, and no value of a Secret', async () => {
    const { lines } = await runDemo((line) => (line.includes('2/6') ? 'SIGTERM' : undefined));
    const output = lines.join('\n');
    expect(output).toContain('Ready');
    expect(output.includes('\u001B')).toBe(false);
    expect(output).not.toContain('not-a-real-password');
  });

  it('leaves nothing behind when it is stopped in the middle', async () => {
    const { code, errors } = await runDemo((line) => (line.includes('1/6') ? 'SIGINT' : undefined));
    expect(code).toBe(1);
    expect(errors).toBe('stopped before all was shown\n');
    expect(readdirSync(temporary).filter((name) => name.startsWith('fleetkeeper-demo-'))).toEqual([]);
  });
});
