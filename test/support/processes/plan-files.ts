/** A folder with a plan file of it. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { world } from '../world.ts';
import { ControlPlane, isMutation, type ControlPlaneFlags } from './control-plane.ts';
import { account, createFleet, folderOf, type FleetFolder, type Json } from './fleet.ts';
import { fleetkeeper, launch, temporaryFolder, type Finished } from './processes.ts';

/** So that tests need not wait. */
const quick = ['--settle', '1s', '--stable', '500ms'];

export class PlanFileWorld {
  readonly plane: ControlPlane;
  readonly fleet: FleetFolder;
  readonly file: string;

  private constructor(plane: ControlPlane, fleet: FleetFolder, file: string) {
    this.plane = plane;
    this.fleet = fleet;
    this.file = file;
  }

  static async open(spec: object = {}, flags: ControlPlaneFlags = {}): Promise<PlanFileWorld> {
    const folder = await temporaryFolder();
    const plane = await new ControlPlane(folder, flags).start();
    const fleet = folderOf(await createFleet(folder));
    await fleet.write('account.yaml', account(plane.url, spec));
    return new PlanFileWorld(plane, fleet, path.join(folder, 'plan.json'));
  }

  /** The documents are in place, and there is nothing to do. */
  async with(...documents: readonly object[]): Promise<this> {
    await this.fleet.write('all.yaml', documents);
    const { code, stderr } = await this.fleet.apply();
    if (code !== 0) throw new Error(`the fleet could not be applied: ${stderr}`);
    return this;
  }

  async plan(...flags: string[]): Promise<Finished & { readonly plan: Json }> {
    const made = await fleetkeeper(['plan', ...this.fleet.flags, '--out', this.file, ...flags]);
    return { ...made, plan: JSON.parse(await readFile(this.file, 'utf8')) };
  }

  /** `sent`: requests that change something, as the server has counted them. */
  async apply(...flags: string[]): Promise<Finished & { readonly sent: string[] }> {
    await this.plane.forgetRequests();
    const applied = await fleetkeeper(['apply', this.file, ...this.fleet.flags, ...quick, ...flags]);
    return { ...applied, sent: await this.sent() };
  }

  /** Until the test ends, or kills it. */
  begin(...flags: string[]) {
    const program = launch(['apply', this.file, ...this.fleet.flags, ...quick, ...flags]);
    onTestFinished(async () => {
      if (program.running) await program.kill('SIGKILL');
    });
    return program;
  }

  /** Nothing happens meanwhile. */
  async pause(ms: number): Promise<void> {
    await world.sleep(ms);
  }

  async sent(): Promise<string[]> {
    const requests = (await this.plane.requests()).filter(isMutation);
    return requests.map(({ method, path: where }) => `${method} ${where}`);
  }
}

/** By object: the steps of the plan, and those of later passes. */
export function stepsIn(plan: Json): Record<string, string[]> {
  const shown = ({ action, count }: Json) => (count === undefined ? action : `${action} ${count}`);
  return Object.fromEntries(
    plan.objects.map(({ key, steps, later }: Json) => [
      key.replace('/default/', '/'),
      [...steps.map(shown), ...later.map((step: Json) => `then ${shown(step)}`)],
    ]),
  );
}
