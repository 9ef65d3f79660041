/** Where the demo is seen: a picture that is drawn again and again on a terminal, plain lines elsewhere. */
import { createLogUpdate } from 'log-update';
import { sleep } from '../../base/index.ts';
import { print, type Context } from '../context.ts';
import type { DemoEvent, DemoRow } from './fleet.ts';
import { drawPicture, type DemoPicture, type TimedEvent } from './table.ts';
import { palette } from '../output/render.ts';
import { minutes } from '../output/terminal-text.ts';

export interface DemoScreen {
  act(number: string, title: string): void;
  tell(event: DemoEvent): void;
  /** Text that stays. */
  post(text: string): void;
  close(): Promise<void>;
}

/** What the picture shows beside acts and events, asked for whenever it is drawn. */
export interface DemoFacts {
  /** Address of the page. */
  readonly page: string;
  rows(): readonly DemoRow[];
  balanceMicros(): number | undefined;
  requests(): Promise<DemoPicture['requests']>;
}

export function isLive({ stdout, environment }: Context): boolean {
  return stdout.isTTY && environment['TERM'] !== 'dumb';
}

export function openScreen(context: Context, facts: DemoFacts): DemoScreen {
  return isLive(context) ? new LiveScreen(context, facts) : new PlainScreen(context);
}

/** One line per change, without colour. */
class PlainScreen implements DemoScreen {
  readonly #context: Context;
  readonly #startedAtMs: number;

  constructor(context: Context) {
    this.#context = context;
    this.#startedAtMs = context.clock.monotonicMs();
  }

  act(number: string, title: string): void {
    print(this.#context, `${this.#time()}  --- ${number} ${title}`);
  }

  tell({ subject, text }: DemoEvent): void {
    print(this.#context, `${this.#time()}  ${subject}: ${text}`);
  }

  post(text: string): void {
    print(this.#context, text);
  }

  async close(): Promise<void> {
    // Every line has been written.
  }

  #time(): string {
    const seconds = (this.#context.clock.monotonicMs() - this.#startedAtMs) / 1000;
    return `${seconds.toFixed(1).padStart(5)} s`;
  }
}

const frameMs = 100;
const eventsKept = 20;

class LiveScreen implements DemoScreen {
  readonly #context: Context;
  readonly #facts: DemoFacts;
  readonly #startedAtMs: number;
  readonly #closing = new AbortController();
  readonly #update: ReturnType<typeof createLogUpdate>;
  readonly #drawing: Promise<void>;
  #act: DemoPicture['act'] = ['', 'starting'];
  #events: TimedEvent[] = [];

  constructor(context: Context, facts: DemoFacts) {
    this.#context = context;
    this.#facts = facts;
    this.#startedAtMs = context.clock.monotonicMs();
    this.#update = createLogUpdate(context.stdout);
    this.#drawing = this.#drawUntilClosed();
  }

  act(number: string, title: string): void {
    this.#act = [number, title];
  }

  tell(event: DemoEvent): void {
    // The table shows what is under way.
    if (event.tone === 'step') return;
    this.#events = [...this.#events, { ...event, elapsedMs: this.#elapsedMs() }].slice(-eventsKept);
  }

  post(text: string): void {
    this.#events = [];
    this.#update.persist(`${text}\n`);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#drawing;
    await this.#draw();
    this.#update.done();
    print(this.#context, `Ended after ${minutes(this.#elapsedMs())}.`);
  }

  async #drawUntilClosed(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await this.#draw();
      await sleep(this.#context.clock, frameMs, signal);
    }
  }

  async #draw(): Promise<void> {
    const { stdout, environment } = this.#context;
    const picture = {
      act: this.#act,
      elapsedMs: this.#elapsedMs(),
      page: this.#facts.page,
      balanceMicros: this.#facts.balanceMicros(),
      requests: await this.#facts.requests(),
      rows: this.#facts.rows(),
      events: this.#events,
    };
    const colours = palette(stdout, environment);
    const canvas = { columns: stdout.columns || 80, lines: stdout.rows || 24, colours };
    this.#update(drawPicture(picture, canvas));
  }

  #elapsedMs(): number {
    return this.#context.clock.monotonicMs() - this.#startedAtMs;
  }
}
