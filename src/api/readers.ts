/**
 * How the client reads each answer. Fields that only inform never make it unreadable (reading.ts).
 *
 * Wrappers: a read of one object is wrapped (`{service}`) and a mutation is answered bare (§4 rule 2). Both are
 * accepted in both places, because the id shows whose record it is. Lists are arrays, as documented; null is an empty
 * one.
 */
import { canonicalId } from '../base/index.ts';
import * as form from './field-forms.ts';
import {
  activityFields,
  eventFields,
  ledgerFields,
  registryFields,
  serviceFields,
  templateFields,
  volumeFields,
} from './fields.ts';
import {
  Misread,
  isObject,
  problemOf,
  readFields,
  readId,
  type FieldReaders,
  type Fields,
  type Reading,
} from './reading.ts';
import { failureIn, moreIn, withoutDoubles } from './whole-lists.ts';
import * as wire from './wire.ts';

export interface Reader<Value> {
  readonly read: (body: unknown, reading: Reading) => Value | Misread;
  /** Whose record an answer is, where it is one. */
  readonly subject?: (value: Value) => string;
  /** It is needed unchanged, also where it repeats the API key; it is never shown unchanged. */
  readonly mayHoldKey?: true;
}

// ---- one object ----------------------------------------------------------------------------------------

interface Kind {
  readonly resource: string;
  readonly fields: FieldReaders;
  readonly identify: (id: unknown, reading: Reading) => string | undefined;
  /** The member that may hold the fields. */
  readonly within?: string;
}

/** Built-in templates need not have a UUID: they are never in a path. */
const templateId: Kind['identify'] = (id, reading) =>
  readId(id, reading) ?? (typeof id === 'number' ? String(id) : form.plainText(id));

const kinds = {
  service: { resource: 'service', fields: serviceFields, identify: readId },
  volume: { resource: 'volume', fields: volumeFields, identify: readId },
  template: { resource: 'template', fields: templateFields, identify: templateId, within: 'spec' },
  registry: { resource: 'registry', fields: registryFields, identify: readId },
} satisfies Record<string, Kind>;

/** Its fields, beside its id or within a member. */
function spread({ within }: Kind, raw: Fields): Fields {
  const inner = within === undefined ? undefined : raw[within];
  return isObject(inner) ? { ...inner, ...raw } : raw;
}

/** Bare, or in a wrapper of the kind's name. */
function oneOf<Value extends { readonly id: string }>(kind: Kind): Reader<Value> {
  const { resource, fields, identify } = kind;
  return {
    read(body, reading) {
      const raw = unwrapped(body, [resource], 'id');
      if (!raw) return new Misread('the body', `a ${resource}`, body, reading);
      const id = identify(raw['id'], reading);
      if (id === undefined) return new Misread('id', 'a UUID', raw['id'], reading);
      return { ...readFields(resource, spread(kind, raw), fields, reading), id } as unknown as Value;
    },
    subject: ({ id }) => id,
  };
}

/** The object that has the member, or the one in a wrapper. */
function unwrapped(body: unknown, wrappers: readonly string[], member: string): Fields | undefined {
  if (!isObject(body)) return undefined;
  const inner = wrappers.map((wrapper) => body[wrapper]).find(isObject);
  return body[member] === undefined && inner ? inner : body;
}

// ---- lists ---------------------------------------------------------------------------------------------

function listOf<Item>(kind: Kind, raw: unknown, reading: Reading): wire.Shown<Item> | undefined {
  if (raw === null) return { items: [], unidentified: [] };
  if (!Array.isArray(raw)) return undefined;
  const items: (Fields & { readonly id: string })[] = [];
  const unidentified: wire.Unidentified<Item>[] = [];
  for (const entry of raw as unknown[]) {
    const fields = isObject(entry) ? spread(kind, entry) : {};
    const value = readFields(kind.resource, fields, kind.fields, reading);
    const id = kind.identify(fields['id'], reading);
    if (id === undefined) unidentified.push(withoutId(kind, entry, value, reading));
    else items.push({ ...value, id });
  }
  return { items: withoutDoubles(kind.resource, items, reading) as unknown as Item[], unidentified };
}

const identified = { expected: 'a UUID', decides: true } as const;

function withoutId<Item>(
  { resource }: Kind,
  entry: unknown,
  value: Fields,
  reading: Reading,
): wire.Unidentified<Item> {
  const shown = isObject(entry) ? entry['id'] : entry;
  const problem = problemOf('id', shown, identified, reading);
  reading.note(resource, problem);
  const others = (value['unreadable'] ?? []) as wire.Unreadable[];
  return { ...value, id: undefined, unreadable: [problem, ...others] } as unknown as wire.Unidentified<Item>;
}

function list<Item>(member: string, kind: Kind): Reader<wire.Shown<Item>> {
  return {
    read(body, reading) {
      const failure = failureIn(body);
      if (failure !== undefined) return new Misread('error', 'none in a 2xx', failure, reading);
      const raw = Array.isArray(body) ? body : isObject(body) ? body[member] : undefined;
      const shown = listOf<Item>(kind, raw, reading);
      if (!shown) return new Misread(member, 'a list', raw, reading);
      const more = moreIn(body);
      if (more === undefined) return shown;
      return {
        ...shown,
        unidentified: [...shown.unidentified, furtherPage(kind, more, body as Fields, reading)],
      };
    },
  };
}

/** What is not shown, as an entry of which nothing is known. */
function furtherPage<Item>(
  { resource }: Pick<Kind, 'resource'>,
  member: string,
  body: Fields,
  reading: Reading,
): wire.Unidentified<Item> {
  const rule = { expected: 'a whole list, without further pages (§4)', decides: true } as const;
  const problem = problemOf(member, body[member] ?? 'a further page', rule, reading);
  reading.note(resource, problem);
  return { id: undefined, unreadable: [problem] } as unknown as wire.Unidentified<Item>;
}

/** Entries of what only informs: those that can't be read are left out. */
function informing(
  resource: string,
  raw: unknown,
  fields: FieldReaders,
  reading: Reading,
): Fields[] | undefined {
  if (!Array.isArray(raw)) return raw === null ? [] : undefined;
  return raw.filter(isObject).map((entry) => readFields(resource, entry, fields, reading));
}

/** Any JSON value; `undefined` is what is not JSON. */
export const undocumented: Reader<unknown> = {
  read: (body, reading) => (body === undefined ? new Misread('the body', 'JSON', body, reading) : body),
};

export const logText: Reader<string> = { read: String };

export const identity: Reader<wire.Identity> = {
  mayHoldKey: true,
  read: (body, reading) =>
    wire.identity.safeParse(body).data ?? new Misread('the body', 'an identity', body, reading),
};

export const browserSession: Reader<{ readonly url: string }> = {
  mayHoldKey: true,
  read(body, reading) {
    const url = isObject(body) ? form.plainText(body['url']) : undefined;
    // The URL is private (§4 rule 7): nothing of what came in its place is repeated.
    return url === undefined ? new Misread('url', 'a text', undefined, reading) : { url };
  },
};

// ---- answers -------------------------------------------------------------------------------------------

export const service: Reader<wire.Service> = oneOf(kinds.service);
export const volume: Reader<wire.Volume> = oneOf(kinds.volume);
export const template: Reader<wire.Template> = oneOf(kinds.template);
export const registry: Reader<wire.Registry> = oneOf(kinds.registry);
export const templates: Reader<wire.Shown<wire.Template>> = list('templates', kinds.template);
export const registries: Reader<wire.Shown<wire.Registry>> = list('registries', kinds.registry);

/** §4 DELETE volume. */
export const volumeDeletion: Reader<wire.VolumeDeletion> = {
  read(body, reading) {
    const volumeId = isObject(body) ? readId(body['volumeId'] ?? body['id'], reading) : undefined;
    if (!isObject(body) || volumeId === undefined) {
      return new Misread('volumeId', 'a UUID', isObject(body) ? body['volumeId'] : body, reading);
    }
    if (form.state(body['status']) !== 'deleting') {
      return new Misread('status', 'deleting', body['status'], reading);
    }
    const operationId = form.text(body['operationId']);
    return { volumeId, ...(operationId === undefined ? {} : { operationId }) };
  },
  subject: ({ volumeId }) => volumeId,
};

/** Of a template or a registry. */
export const deletion: Reader<wire.Deleted> = {
  read(body, reading) {
    const id = isObject(body) ? templateId(body['id'], reading) : undefined;
    if (!isObject(body) || id === undefined) {
      return new Misread('id', 'a UUID', isObject(body) ? body['id'] : body, reading);
    }
    return form.flag(body['deleted']) === true
      ? { id }
      : new Misread('deleted', 'true', body['deleted'], reading);
  },
  subject: ({ id }) => id,
};

export const account: Reader<wire.Account> = {
  read(body, reading) {
    const raw = unwrapped(body, ['account'], 'services');
    if (!raw) return new Misread('the body', 'an account', body, reading);
    const failure = failureIn(body) ?? failureIn(raw);
    if (failure !== undefined) return new Misread('error', 'none in a 2xx', failure, reading);
    const services = listOf<wire.Service>(kinds.service, raw['services'], reading);
    const volumes = listOf<wire.Volume>(kinds.volume, raw['volumes'], reading);
    // An answer that lacks a list is cut, or none of this endpoint.
    const missing = ['services', 'volumes'].find((field) => raw[field] === undefined);
    if (missing !== undefined || (!services && !volumes)) {
      return new Misread(missing ?? 'services', 'a list', raw[missing ?? 'services'], reading);
    }
    const unreadable: wire.Unreadable[] = [];
    const lacking = (field: string, expected: string, isDeciding: boolean) => {
      const problem = problemOf(
        field,
        raw[field],
        { expected, ...(isDeciding && { decides: true }) },
        reading,
      );
      unreadable.push(problem);
      reading.note('account', problem);
      return [{ id: undefined, unreadable: [problem] }];
    };
    const ledger = informing('ledger', raw['ledger'], ledgerFields, reading);
    if (!ledger && raw['ledger'] !== undefined) lacking('ledger', 'a list', false);
    const balanceMicros = form.micros(raw['balanceMicros']);
    if (balanceMicros === undefined) lacking('balanceMicros', 'micro-USD (§2)', true);
    // More than a hundred entries of the ledger are not shown (§2): a page of it is no page of the others.
    const more = (ledger?.length ?? 0) < longestLedger ? (moreIn(raw) ?? moreIn(body)) : undefined;
    const further =
      more === undefined ? [] : [furtherPage<never>({ resource: 'account' }, more, raw, reading)];
    const [shownServices, shownVolumes] = [
      [...(services?.unidentified ?? lacking('services', 'a list', true)), ...further],
      [...(volumes?.unidentified ?? lacking('volumes', 'a list', true)), ...further],
    ];
    return {
      balanceMicros,
      currency: currencyOf(raw['currency']),
      services: services?.items ?? [],
      volumes: volumes?.items ?? [],
      unidentified: { services: shownServices, volumes: shownVolumes },
      ledger: ledger ?? [],
      ...(unreadable.length > 0 ? { unreadable } : {}),
    };
  },
};

/** §2. */
const longestLedger = 100;

/** A constant of the contract (§2), so that it may go without saying. */
function currencyOf(value: unknown): string {
  if (value === undefined || value === null) return 'USD';
  return (form.text(value) ?? JSON.stringify(value)).slice(0, 20).toUpperCase();
}

export const activities: Reader<readonly wire.Activity[]> = {
  read(body, reading) {
    const failure = failureIn(body);
    if (failure !== undefined) return new Misread('error', 'none in a 2xx', failure, reading);
    const raw = Array.isArray(body) ? body : isObject(body) ? body['activities'] : undefined;
    if (raw === null) return [];
    if (!Array.isArray(raw)) return new Misread('activities', 'a list', raw, reading);
    const more = moreIn(body);
    if (more !== undefined) return new Misread(more, 'a whole list', 'a further page', reading);
    // The fields of an entry are not shown (§4 "Gaps"): any entry protects, whatever it looks like.
    return raw.map((entry: unknown) => {
      const fields = isObject(entry) ? entry : typeof entry === 'string' ? { id: entry } : {};
      // Beside `activityId`, `id` may be the record's own.
      const id = form.text(fields['activityId'] ?? fields['activity_id']) ?? fields['id'];
      return readFields('activity', { ...fields, id, released: releaseIn(fields) }, activityFields, reading);
    });
  },
};

/** A flag, a state or a time may show a release. What shows anything else beside it protects. */
function releaseIn(entry: Readonly<Fields>): unknown {
  const flag = entry['released'] ?? entry['release'];
  if (flag !== undefined && flag !== null) return flag;
  const states = [entry['state'], entry['status']]
    .filter((shown) => shown !== undefined && shown !== null)
    .map((shown) => form.text(shown)?.trim().toLowerCase());
  if (states.includes('active')) return false;
  if (states.length > 0) return states.every((state) => state === 'released') || undefined;
  return (form.time(entry['releasedAt'] ?? entry['released_at']) ?? 0) > 0 || undefined;
}

const documentedHeartbeat = { heartbeatSeconds: 30, expiresInSeconds: 300 } as const;
const longestSeconds = { heartbeatSeconds: 86_400, expiresInSeconds: 604_800 } as const;

/**
 * §2 "Activity record": 30 and 300 by the contract; what is answered counts, where it can be read. An answer about another activity, or about
 * something else, does not show that this one is registered.
 */
export const activityOf = (id: string): Reader<wire.ActivityAnswer> => ({
  read(body, reading) {
    const raw = unwrapped(body, ['activity'], 'heartbeatSeconds');
    if (!raw || !['id', ...Object.keys(documentedHeartbeat)].some((member) => member in raw)) {
      return new Misread('the body', 'an activity', body, reading);
    }
    const ids = [raw['id'], raw['activityId'], raw['activity_id']].flatMap((each) => form.text(each) ?? []);
    if (ids.length > 0 && !ids.some((each) => canonicalId(each) === canonicalId(id)))
      return new Misread('id', id, ids[0], reading);
    const seconds = (field: keyof typeof documentedHeartbeat) => {
      const read = form.number(raw[field]);
      if (read !== undefined && read > 0 && read <= longestSeconds[field]) return read;
      const expected = `seconds, at most ${longestSeconds[field]}`;
      reading.note('activity', problemOf(field, raw[field], { expected }, reading));
      return documentedHeartbeat[field];
    };
    return { heartbeatSeconds: seconds('heartbeatSeconds'), expiresInSeconds: seconds('expiresInSeconds') };
  },
});

export const events: Reader<readonly wire.ServiceEvent[]> = {
  read(body, reading) {
    const raw = Array.isArray(body) ? body : isObject(body) ? body['events'] : undefined;
    const read = informing('event', raw, eventFields, reading);
    if (!read) return new Misread('events', 'a list', raw, reading);
    return read.flatMap(({ message, created_at: at, ...rest }) =>
      typeof message === 'string' ? [{ ...rest, message, created_at: typeof at === 'number' ? at : 0 }] : [],
    );
  },
};

export const catalog: Reader<wire.Catalog> = {
  read(body, reading) {
    const raw = unwrapped(body, ['catalog'], 'regions');
    if (!raw || !['regions', 'templates', 'gpuCatalog'].some((member) => Array.isArray(raw[member]))) {
      return new Misread('the body', 'a catalog', body, reading);
    }
    const payment = isObject(raw['payment'])
      ? form.text(raw['payment']['status'])
      : form.text(raw['payment']);
    return {
      ...raw,
      regions: entries(raw['regions']).map(readRegion),
      templates: entries(raw['templates']).filter(isObject),
      gpuCatalog: Array.isArray(raw['gpuCatalog']) ? (raw['gpuCatalog'] as unknown[]) : undefined,
      currency: form.text(raw['currency']),
      browserEnabled: form.flag(raw['browserEnabled']),
      payment: payment === undefined ? {} : { status: payment },
    };
  },
};

function entries(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}

/** The fields of a region are not shown (§2 "Gaps"). */
function readRegion(raw: unknown): wire.Region {
  if (!isObject(raw)) return { name: form.text(raw) };
  const { geographies } = raw;
  return {
    ...raw,
    name: typeof raw['name'] === 'string' ? raw['name'] : undefined,
    geographies: Array.isArray(geographies) ? (geographies as unknown[]) : undefined,
  };
}
