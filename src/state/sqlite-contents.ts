/** Reads a whole state file into memory: what `SqliteStore` has written. */
import { digestKey, SharedValues, UserError, type DigestKey, type Row, type Sqlite } from '../base/index.ts';
import { accountKey, managedKinds, type ObjectKey } from '../resources/index.ts';
import type { OwnerChoice } from './owner-choice.ts';
import { readDemand, type CapacityEntry } from './capacity.ts';
import type { IdentityPin } from './identity-pin.ts';
import { leftCommands } from './left-commands.ts';
import type { StateIdentity } from './memory-store.ts';
import { readPlanFiles } from './plan-files.ts';
import { readRecord, type CountedAnew } from './record-versions.ts';
import { storedPrices, type ObservedPrice } from './prices.ts';
import type { Intent, IntentOutcome, ObjectRecord } from './records.ts';
import { readRevision, type OwnerRevision } from './revisions.ts';
import { readWhy } from './why.ts';

/** Prefix of names in `meta` under which the identities of accounts are pinned. */
export const pinPrefix = 'identity:';
/** Prefix of names in `meta`, before the uid of a forgotten object: until when reads may lack what it has left. */
export const leftPrefix = 'left:';

/** Values in `meta`, by what follows the prefix. */
function named(database: Sqlite, prefix: string): [string, string][] {
  return database
    .all('SELECT name, value FROM meta WHERE name GLOB $pattern', { pattern: `${prefix}*` })
    .map((row) => [String(row['name']).slice(prefix.length), String(row['value'])]);
}

const knownKinds: ReadonlySet<string> = new Set(managedKinds);

/**
 * Throws a `UserError` when the file has a record of a kind that this version does not know. Only reads, so it comes before everything that
 * writes. A file without records passes.
 */
export function refuseUnknownKinds(database: Sqlite): void {
  if (!database.get("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'objects'")) return;
  const kinds = database.all(
    "SELECT substr(key, 1, instr(key, '/') - 1) AS kind, count(*) AS count FROM objects WHERE key GLOB '[A-Z]*/*/*' GROUP BY 1",
  );
  const unknown = kinds.filter(({ kind }) => !knownKinds.has(String(kind)));
  if (unknown.length === 0) return;
  const found = unknown.map(({ kind, count }) => `${kindText(kind)} (${Number(count)})`).join(', ');
  throw new UserError(
    `the state file ${database.file} has records of kinds that this version of fleetkeeper does not know: ${found}`,
    'a newer version wrote it: run that version of fleetkeeper, or a newer one. Nothing was changed in the file; keep it, since it has what belongs to the fleet',
  );
}

/** Of a file that others may have written. */
function kindText(kind: unknown): string {
  return String(kind)
    .replaceAll(/[^A-Za-z0-9]/g, '?')
    .slice(0, 60);
}

/** Name in `meta` of the id of the digest key. Versions before it ignore the row, and do not write it. */
const keyIdName = 'digest-key-id';

/** Lets later starts see that the digest key is not the one that it was. */
export function rememberKey(database: Sqlite, { id }: DigestKey): void {
  database.run('INSERT OR IGNORE INTO meta VALUES ($name, $id)', { name: keyIdName, id });
}

/** Throws a `UserError` when the file is of another owner or digest key, or not of Fleetkeeper. After `refuseUnknownKinds`. */
export function load(database: Sqlite, owner: OwnerChoice) {
  const identity = loadIdentity(database, owner);
  const { records, intents, countedAnew } = readObjects(database);
  const { prices, anew } = readPriceRows(database);
  return {
    identity,
    records,
    intents,
    countedAnew: [...countedAnew, ...anew],
    pins: new Map(
      named(database, pinPrefix).map(([name, value]) => [name, JSON.parse(value) as IdentityPin]),
    ),
    left: new Map(named(database, leftPrefix).map(([uid, until]) => [uid, Number(until)])),
    prices,
    commands: leftCommands(database),
    capacity: new Map(
      database
        .all('SELECT account, entries FROM capacity')
        .map((row) => [String(row['account']), JSON.parse(String(row['entries'])) as CapacityEntry[]]),
    ),
    revisions: readRevisions(database),
    planFiles: readPlanFiles(database),
  };
}

function loadIdentity(database: Sqlite, owner: OwnerChoice): StateIdentity {
  const meta = (name: string) =>
    database.get('SELECT value FROM meta WHERE name = $name', { name })?.['value'];
  const epoch = meta('epoch');
  const key = meta('digest-key');
  const ownerName = meta('owner');
  if (typeof key !== 'string' || typeof ownerName !== 'string') {
    throw damagedState(database.file, 'holds no digest key or no owner');
  }
  if (owner.explicit !== undefined && owner.explicit !== ownerName) {
    throw new UserError(
      `the state file ${database.file} was made for the owner "${ownerName}", not "${owner.explicit}"`,
      `what it manages carries that owner's mark: leave --owner out, or use another state file with --state`,
    );
  }
  const stored = storedKey(database.file, key, meta(keyIdName));
  const supplied = owner.digestKey?.suppliedBy;
  if (supplied !== undefined && owner.digestKey?.bytes.toString('hex') !== key) {
    throw new UserError(
      `the state file ${database.file} was made with another digest key than that of ${supplied}`,
      'a state keeps its key: leave the digest key out here, or use another state file with --state',
    );
  }
  return {
    digestKey: stored,
    ownerName,
    ownerConfirmed: owner.explicit !== undefined || meta('owner-confirmed') === 'yes',
    isKeyShared: meta('digest-key-shared') === 'yes',
    epoch: typeof epoch === 'string' ? epoch : undefined,
  };
}

/** With another key, no digest fits: all values would look changed, and would be sent again. */
function storedKey(file: string, hex: string, id: unknown): DigestKey {
  if (!/^[0-9a-f]{64}$/.test(hex)) throw damagedState(file, 'holds a digest key that is not 64 hex digits');
  const key = digestKey(Buffer.from(hex, 'hex'));
  if (id !== undefined && id !== key.id)
    throw damagedState(file, 'holds a digest key that is not the one it was made with');
  return key;
}

function damagedState(file: string, what: string): UserError {
  return new UserError(
    `the state file ${file} ${what}`,
    'it was not written by fleetkeeper, or is damaged: restore it, or move it away and let a new one be made',
  );
}

/** One row after the other: the texts of all together would be as large as what they become. */
function readObjects(database: Sqlite) {
  // An intent has texts of the record of its object: its key, the id, the key of the request.
  const shared = new SharedValues({ most: 200_000 });
  const records: ObjectRecord[] = [];
  const countedAnew: CountedAnew[] = [];
  for (const row of database.each('SELECT record FROM objects')) {
    const { record, anew } = recordIn(shared, String(row['record']));
    records.push(record);
    if (anew.length > 0) countedAnew.push({ key: record.key, fields: anew });
  }
  const intents: Intent[] = [];
  const newest = 'SELECT * FROM intents WHERE number IN (SELECT max(number) FROM intents GROUP BY object)';
  for (const row of database.each(newest)) intents.push(shared.share(readIntent(row)));
  return { records, intents, countedAnew };
}

/** One that can't be read is not left out: its replicas would be changed to another one. */
function readRevisions(database: Sqlite): Map<ObjectKey, OwnerRevision[]> {
  const revisions = new Map<ObjectKey, OwnerRevision[]>();
  const rows = database.each('SELECT object, number, revision FROM revisions ORDER BY object, number');
  for (const { object, number, revision: text } of rows) {
    const key = object as ObjectKey;
    const revision = readRevision(number, String(text));
    if (!revision) throw new Error(`the revision ${Number(number)} of ${key} can't be read`);
    revisions.set(key, [...(revisions.get(key) ?? []), revision]);
  }
  return revisions;
}

function readPriceRows(database: Sqlite) {
  const prices = new Map<string, ObservedPrice[]>();
  const anew: CountedAnew[] = [];
  for (const row of database.each('SELECT account, prices FROM prices')) {
    const account = String(row['account']);
    const read = storedPrices(String(row['prices']));
    prices.set(account, read.prices);
    if (!read.isWhole) anew.push({ key: accountKey(account), fields: ['prices'] });
  }
  return { prices, anew };
}

/** A record that can't be read is not left out: what it manages would have no owner, and would be made again. */
function recordIn(shared: SharedValues, text: string) {
  const stored = shared.share(JSON.parse(text) as ObjectRecord);
  const read = readRecord(stored.key, stored.uid, { ...stored });
  if (!read) throw new Error(`the record of ${stored.key} can't be read`);
  return read;
}

const optional = (value: unknown) => (value === null ? undefined : value);

export function readIntent(row: Row): Intent {
  return {
    idempotencyKey: String(row['idempotency_key']),
    object: row['object'] as ObjectKey,
    action: String(row['action']),
    targetId: optional(row['target_id']) as string | undefined,
    bodyDigest: String(row['body_digest']),
    baseRevision: optional(row['base_revision']) as number | undefined,
    baseState: optional(row['base_state']) as string | undefined,
    generation: Number(row['generation']),
    restartToken: optional(row['restart_token']) as string | undefined,
    digests: row['digests'] === null ? undefined : JSON.parse(String(row['digests'])),
    estimate: row['estimate'] === null ? undefined : JSON.parse(String(row['estimate'])),
    demand: row['demand'] === null ? undefined : readDemand(JSON.parse(String(row['demand']))),
    why: row['why'] === null ? undefined : readWhy(JSON.parse(String(row['why']))),
    createdAt: Number(row['created_at']),
    finishedAt: optional(row['finished_at']) as number | undefined,
    outcome: row['outcome'] as IntentOutcome,
    note: optional(row['note']) as string | undefined,
  };
}

const json = (value: unknown) => (value === undefined ? null : JSON.stringify(value));

/** As the statement that writes an intent names them. */
/** Intents kept per object, for people who investigate. */
const intentsPerObject = 20;

/** `newest`: the last one of its object until now. That of a known outcome is the same one, and nothing else changes. */
export function writeIntent(database: Sqlite, intent: Intent, newest: Intent | undefined): void {
  const { object, idempotencyKey: key } = intent;
  const isNewest = newest?.idempotencyKey === key;
  if (!isNewest)
    // A derived key may be used again after another one. The request that it is sent with now is the newest.
    database.run(
      `DELETE FROM intents WHERE idempotency_key = $key
         AND number < (SELECT max(number) FROM intents WHERE object = $object)`,
      { key, object },
    );
  database.run(
    `INSERT INTO intents (idempotency_key, object, action, target_id, body_digest, base_revision, base_state,
       generation, restart_token, digests, estimate, demand, why, created_at, finished_at, outcome, note)
     VALUES ($key, $object, $action, $target, $digest, $revision, $state, $generation, $token, $digests, $estimate, $demand, $why, $created, $finished, $outcome, $note)
     ON CONFLICT (idempotency_key)
     DO UPDATE SET outcome = $outcome, finished_at = $finished, note = $note, created_at = $created,
       base_revision = $revision, base_state = $state,
       generation = $generation, restart_token = $token, digests = $digests, estimate = $estimate,
       demand = $demand, why = $why`,
    intentValues(intent),
  );
  if (!isNewest)
    database.run(
      `DELETE FROM intents WHERE object = $object AND number <= (
         SELECT number FROM intents WHERE object = $object ORDER BY number DESC LIMIT 1 OFFSET $kept)`,
      { object, kept: intentsPerObject },
    );
}

function intentValues(intent: Intent) {
  return {
    key: intent.idempotencyKey,
    object: intent.object,
    action: intent.action,
    target: intent.targetId ?? null,
    digest: intent.bodyDigest,
    revision: intent.baseRevision ?? null,
    state: intent.baseState ?? null,
    generation: intent.generation,
    token: intent.restartToken ?? null,
    digests: json(intent.digests),
    estimate: json(intent.estimate),
    demand: json(intent.demand),
    why: json(intent.why),
    created: intent.createdAt,
    finished: intent.finishedAt ?? null,
    outcome: intent.outcome,
    note: intent.note ?? null,
  };
}
