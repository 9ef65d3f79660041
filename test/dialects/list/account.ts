/** Identity, ledger, regions, ids, single odd entries: what is read for the account as a whole (§2, §4). */
import type { Dialect, Form } from '../dialect.ts';
import type { Json } from '../provider/conduct.ts';
import { field, renamed } from './service-fields.ts';
import { iso } from './service-values.ts';

const identity = (form: Form): Pick<Dialect, 'forms'> => ({ forms: { identity: form } });
const ledger = (form: Form): Pick<Dialect, 'forms'> => ({ forms: { ledgerEntry: form } });

const identities: readonly Dialect[] = [
  {
    name: 'identity-nested',
    silence: 'identity',
    plays: '`{user: {id, email, emailVerified}}`',
    ...identity((user) => ({ user })),
  },
  {
    name: 'identity-claims',
    silence: 'identity',
    plays: '`{sub, email, email_verified}`',
    ...identity(({ id, email, emailVerified }) => ({ sub: id, email, email_verified: emailVerified })),
  },
  {
    name: 'identity-number',
    silence: 'identity',
    plays: 'a number as `id`',
    ...identity(field('id', () => 4711)),
  },
  {
    name: 'identity-verified-text',
    silence: 'identity',
    plays: '`emailVerified: "true"`',
    ...identity(field('emailVerified', String)),
  },
  {
    name: 'identity-verified-time',
    silence: 'identity',
    plays: '`emailVerified` as the time when it was verified',
    ...identity(field('emailVerified', () => '2026-01-01T00:00:00Z')),
  },
  { name: 'identity-empty', silence: 'identity', plays: '`{}`', ...identity(() => ({})) },
];

const ledgers: readonly Dialect[] = [
  {
    name: 'ledger-iso',
    silence: 'ledger entry',
    plays: '`createdAt` as an ISO text',
    ...ledger(field('createdAt', iso)),
  },
  {
    name: 'ledger-seconds',
    silence: 'ledger entry',
    plays: '`created_at` in seconds, with a fraction',
    ...ledger(({ createdAt, ...entry }) => ({ ...entry, created_at: createdAt / 1000 + 0.5 })),
  },
  {
    name: 'ledger-amount-text',
    silence: 'ledger entry',
    plays: 'amounts and ids as other types',
    ...ledger((entry) => ({
      ...entry,
      id: 17,
      amountMicros: String(entry.amountMicros),
      description: { text: 'compute' },
    })),
  },
  {
    name: 'ledger-texts',
    silence: 'ledger entry',
    plays: 'entries as texts',
    ...ledger(({ description }) => description),
  },
  {
    name: 'ledger-empty',
    silence: 'ledger entry',
    plays: 'no entries',
    forms: { account: (account) => ({ ...account, ledger: [] }) },
  },
];

const regions: readonly Dialect[] = [
  {
    name: 'region-texts',
    silence: 'region',
    plays: 'regions as texts',
    forms: { region: ({ name }) => name },
  },
  {
    name: 'region-tier',
    silence: 'region',
    plays: '`tier` in place of `name`',
    forms: { region: renamed('name', 'tier') },
  },
  {
    name: 'region-geography-objects',
    silence: 'region',
    plays: '`geographies: [{id, name, available}]`',
    forms: {
      region: field('geographies', (names) =>
        names.map((name: string) => ({ id: name, name, available: true })),
      ),
    },
  },
  {
    name: 'region-geography-map',
    silence: 'region',
    plays: '`geographies` as a map of names to capacities',
    forms: {
      region: field('geographies', (names) =>
        Object.fromEntries(names.map((name: string) => [name, { free: 10 }])),
      ),
    },
  },
  {
    name: 'region-geography-text',
    silence: 'region',
    plays: '`geographies` as a text',
    forms: { region: field('geographies', (names) => names.join(', ')) },
  },
];

const idKeys = ['id', 'serviceId', 'volumeId'] as const;

function upperIds(record: Json): Json {
  const shown = { ...record };
  for (const key of idKeys) if (typeof shown[key] === 'string') shown[key] = shown[key].toUpperCase();
  return shown;
}

const whereUpper =
  (...places: readonly string[]): Form =>
  (record, where) =>
    places.includes(where) ? upperIds(record) : record;

const everyKind = (form: Form): Pick<Dialect, 'forms'> => ({
  forms: {
    service: form,
    volume: form,
    template: form,
    registry: form,
    activity: form,
    deletion: form,
    volumeDeletion: form,
  },
});

const ids: readonly Dialect[] = [
  {
    name: 'ids-upper-case',
    silence: 'letter case of ids',
    plays: 'in upper case everywhere',
    ...everyKind(whereUpper('list', 'read', 'answer')),
  },
  {
    name: 'ids-upper-case-in-lists',
    silence: 'letter case of ids',
    plays: 'in upper case in lists only',
    ...everyKind(whereUpper('list')),
  },
  {
    name: 'ids-upper-case-in-answers',
    silence: 'letter case of ids',
    plays: 'in upper case in answers to changes only',
    ...everyKind(whereUpper('answer')),
  },
  {
    name: 'references-upper-case',
    silence: 'letter case of ids',
    plays: '`serviceId` and `volumeId` in upper case, ids in lower case',
    ...everyKind((record) => ({
      ...upperIds(record),
      ...(record.id === undefined ? {} : { id: record.id }),
    })),
  },
];

/** Only what nobody here manages. */
const ofOthers =
  (form: Form): Form =>
  (record, where) =>
    /^theirs$/i.test(record.name ?? record.spec?.name ?? '') ? form(record, where) : record;

const odd: readonly Dialect[] = [
  {
    name: 'odd-service-types',
    silence: 'one odd entry in a list',
    plays: 'one service, of somebody else, with every field of another type',
    forms: {
      service: ofOthers((record) => ({
        ...record,
        state: { phase: 'Running' },
        revision: 'seven',
        resources: 'large',
        image: 7,
        command: { 0: 'x' },
        httpPort: 'http',
        volumeId: 17,
      })),
    },
  },
  {
    name: 'odd-volume-types',
    silence: 'one odd entry in a list',
    plays: 'one volume, of somebody else, with every field of another type',
    forms: {
      volume: ofOthers((record) => ({
        ...record,
        status: 3,
        revision: null,
        mode: { owner: 'service' },
        serviceId: 9,
        sizeGb: '10 GB',
        requestedSizeGb: {},
      })),
    },
  },
  {
    name: 'odd-template',
    silence: 'one odd entry in a list',
    plays: 'one template, of somebody else, with other types',
    forms: {
      template: ofOthers((record) => ({
        ...record,
        command: 'x y',
        resources: 'small',
        revision: '1',
        httpPort: 'http',
      })),
    },
  },
];

export const account: readonly Dialect[] = [...identities, ...ledgers, ...regions, ...ids, ...odd];
