/** The acts of the demo: what is done in each, and what must then be seen. */
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { sleep } from '../../base/index.ts';
import { containerService } from '../../kinds/container-service/declaration.ts';
import { protectedTask } from '../../kinds/protected-task/declaration.ts';
import { serviceFleet } from '../../kinds/service-fleet/declaration.ts';
import { storageVolume } from '../../kinds/storage-volume/declaration.ts';
import { objectKey } from '../../resources/index.ts';
import type { Context } from '../context.ts';
import type { DemoFleet } from './fleet.ts';
import type { DemoScreen } from './screen.ts';
import { editField, type DemoStage } from './stage.ts';

/** Longest time for anything to be seen. */
const limitMs = 60_000;

interface Act {
  readonly title: string;
  play(): Promise<void>;
}

const service = (name: string) => objectKey(containerService.name, 'default', name);
const checkout = objectKey(serviceFleet.name, 'default', 'checkout');
const task = objectKey(protectedTask.name, 'default', 'end-of-day');
const volume = (name: string) => objectKey(storageVolume.name, 'default', name);

const protectedTaskText = `apiVersion: fleetkeeper.dev/v1alpha1
kind: ${protectedTask.name}
metadata: {name: end-of-day}
spec: {serviceRef: {name: checkout-3}}
`;

export class DemoStory {
  readonly #context: Context;
  readonly #stage: DemoStage;
  readonly #fleet: DemoFleet;
  readonly #screen: DemoScreen;

  constructor(context: Context, stage: DemoStage, fleet: DemoFleet, screen: DemoScreen) {
    this.#context = context;
    this.#stage = stage;
    this.#fleet = fleet;
    this.#screen = screen;
  }

  /** Throws a `UserError` when something is not seen in time, or the demo is stopped. */
  async play(pauseMs: number): Promise<void> {
    const acts: Act[] = [
      { title: 'the folder becomes a fleet', play: () => this.#create() },
      { title: 'a colleague changes two services behind its back', play: () => this.#drift() },
      {
        title: 'you make a volume larger in its file, and remove another file',
        play: () => this.#changeFolder(),
      },
      { title: 'you give four replicas another image', play: () => this.#rollOut() },
      { title: 'you give them one that does not exist', play: () => this.#rollBack() },
      {
        title: 'you want two replicas, and somebody works in one of the others',
        play: () => this.#scaleIn(),
      },
    ];
    for (const [index, act] of acts.entries()) {
      this.#screen.act(`${index + 1}/${acts.length}`, act.title);
      await act.play();
      await sleep(this.#context.clock, pauseMs, this.#context.stopped);
    }
  }

  async #create(): Promise<void> {
    const { manager, folder } = this.#stage;
    this.#say('you', `start the manager on ${folder}`);
    await manager.start();
    await this.#seen('all objects Ready', () => {
      const rows = this.#fleet.rows();
      return rows.length === manager.snapshot?.objects.size && rows.every(({ ready }) => ready === 'yes');
    });
  }

  async #drift(): Promise<void> {
    const { colleague } = this.#stage;
    const targets = [service('storefront'), service('catalog')];
    const healed = (index: number) => this.#fleet.row(targets[index] ?? service(''))?.heals === 1;
    this.#say('colleague', 'PATCH storefront: another image');
    await colleague.patch('storefront', { image: 'ghcr.io/corner-shop/storefront:debug' });
    this.#say('colleague', 'PATCH catalog: the environment replaced by DEBUG=1');
    await colleague.patch('catalog', { environment: { DEBUG: '1' } });
    await this.#seen('the drift of the image of storefront, and its healing', () => healed(0));
    await this.#seen('the drift of the environment of catalog, and its healing', () => healed(1));
  }

  async #changeFolder(): Promise<void> {
    await Promise.all([this.#grow(), this.#remove()]);
  }

  async #grow(): Promise<void> {
    const wantedGb = 40;
    const wasGb = editField(path.join(this.#stage.folder, 'search.yaml'), 'sizeGb', String(wantedGb));
    this.#say('you', `edit search.yaml: sizeGb ${wasGb} → ${wantedGb}; search may be paused for it`);
    const state = () => this.#fleet.row(service('search'))?.state;
    await this.#seen('search paused', () => state() === 'paused');
    await this.#seen(`search-index with ${wantedGb} GB`, () => {
      const row = this.#fleet.row(volume('search-index'));
      return row?.ready === 'yes' && row.detail === `${wantedGb} GB`;
    });
    await this.#seen('search running again', () => {
      const row = this.#fleet.row(service('search'));
      return row?.ready === 'yes' && row.state === 'running';
    });
  }

  async #rollOut(): Promise<void> {
    this.#edit('image', 'ghcr.io/corner-shop/checkout:5.3', 'the others follow one replica');
    await this.#seen('all replicas at the next image', () => this.#isFleet('4 of 4 available, r2'));
  }

  /** A name under `.invalid` never resolves, so the simulated runtime can't pull that image. */
  async #rollBack(): Promise<void> {
    this.#edit('image', 'ghcr.invalid/corner-shop/checkout:5.4', 'the first one will fail');
    await this.#seen(
      'the first replica failed',
      () => this.#fleet.row(service('checkout-3'))?.state === 'error',
    );
    await this.#seen(
      'all replicas back at the image before',
      () => this.#fleet.row(checkout)?.ready === 'held' && this.#isFleet('4 of 4 available, r2'),
    );
  }

  async #scaleIn(): Promise<void> {
    const file = 'end-of-day.yaml';
    this.#say('you', `write ${file}: a protected task in checkout-3`);
    writeFileSync(path.join(this.#stage.folder, file), protectedTaskText);
    await this.#seen('the task registered', () => this.#fleet.row(task)?.ready === 'yes');
    this.#edit('replicas', '2', 'the highest numbers leave first');
    await this.#seen('two replicas', () => this.#isFleet('2 of 2 available, r2'));
    await this.#seen('others gone', () =>
      [1, 2].every((slot) => this.#fleet.row(service(`checkout-${slot}`))?.goneAtMs !== undefined),
    );
  }

  async #remove(): Promise<void> {
    this.#say('you', 'rm spring-sale.yaml');
    rmSync(path.join(this.#stage.folder, 'spring-sale.yaml'));
    const gone = () => this.#fleet.row(service('spring-sale'))?.goneAtMs !== undefined;
    await this.#seen('spring-sale gone', gone);
  }

  /** A field of the ServiceFleet. */
  #edit(field: string, value: string, remark: string): void {
    const was = editField(path.join(this.#stage.folder, 'checkout.yaml'), field, value);
    this.#say('you', `edit checkout.yaml: ${field} ${was} → ${value}; ${remark}`);
  }

  #isFleet(detail: string): boolean {
    return this.#fleet.row(checkout)?.detail === detail;
  }

  #say(subject: string, text: string): void {
    this.#screen.tell({ tone: 'actor', subject, text });
  }

  #seen(what: string, isMet: () => boolean): Promise<void> {
    return this.#fleet.until(what, isMet, limitMs, this.#context.stopped);
  }
}
