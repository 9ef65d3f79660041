/** The activities that were accepted: registered ones are listed until their release was asked for. */
import { requireThat, type Json, type SentRequest } from './requests.ts';

type State = 'asked' | 'registered' | 'release asked' | 'released';

export class ActivityBook {
  readonly #states = new Map<string, Map<string, State>>();

  begin({ about = '', activity }: SentRequest): void {
    if (!activity) return;
    const states = this.#of(about);
    if (activity.release) states.set(activity.id, 'release asked');
    else if (!states.has(activity.id)) states.set(activity.id, 'asked');
  }

  end({ about = '', activity }: SentRequest, isAccepted: boolean): void {
    if (!activity || !isAccepted) return;
    const states = this.#of(about);
    const state = states.get(activity.id);
    if (activity.release) states.set(activity.id, 'released');
    else if (state === 'asked') states.set(activity.id, 'registered');
  }

  unreleased(serviceId: string): string[] {
    return [...this.#of(serviceId)].filter(([, state]) => state === 'registered').map(([id]) => id);
  }

  /** What a list of the service's activities must and must not hold. */
  floor(serviceId = ''): { registered: string[]; released: string[] } {
    const states = [...(this.#states.get(serviceId) ?? [])];
    const inState = (wanted: State) => states.filter(([, state]) => state === wanted).map(([id]) => id);
    return { registered: inState('registered'), released: inState('released') };
  }

  check({ about = '' }: SentRequest, floor: ReturnType<ActivityBook['floor']>, list: readonly Json[]): void {
    const listed = new Set(list.map(({ id }) => id));
    const states = this.#of(about);
    const lost = floor.registered.filter((id) => !listed.has(id) && states.get(id) === 'registered');
    requireThat(lost.length === 0, () => `R4: activities of ${about} are lost: ${lost.join(', ')}`);
    const back = floor.released.filter((id) => listed.has(id));
    requireThat(back.length === 0, () => `R4: released activities of ${about} are back: ${back.join(', ')}`);
  }

  #of(serviceId: string): Map<string, State> {
    let states = this.#states.get(serviceId);
    if (!states) this.#states.set(serviceId, (states = new Map()));
    return states;
  }
}
