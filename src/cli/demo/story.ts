/** The four acts of the demo: what is done in each, and what must then be seen. */
import { rmSync } from 'node:fs';
import path from 'node:path';
import { sleep } from '../../base/index.ts';
import { containerService } from '../../kinds/container-service/declaration.ts';
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
const volume = (name: string) => objectKey(storageVolume.name, 'default', name);

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
      { title: 'you make a volume larger in its file', play: () => this.#grow() },
      { title: 'you remove a file', play: () => this.#remove() },
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

  async #remove(): Promise<void> {
    this.#say('you', 'rm spring-sale.yaml');
    rmSync(path.join(this.#stage.folder, 'spring-sale.yaml'));
    const gone = () => this.#fleet.row(service('spring-sale'))?.goneAtMs !== undefined;
    await this.#seen('spring-sale gone', gone);
  }

  #say(subject: string, text: string): void {
    this.#screen.tell({ tone: 'actor', subject, text });
  }

  #seen(what: string, isMet: () => boolean): Promise<void> {
    return this.#fleet.until(what, isMet, limitMs, this.#context.stopped);
  }
}
