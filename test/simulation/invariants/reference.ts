/** R1, R3 to R6, R8 of the reference control plane. R2 and R7 are probed by foreign hands. */
import { limits } from '../../../src/api/wire.ts';
import { canary } from '../documents.ts';
import { idIn, isActivity, type Invariant, type Json } from '../watch.ts';

/** The same key and request: the same answer. */
const r1SameAnswer: Invariant = (view) => {
  const answers = new Map<string, { readonly request: string; readonly body: string }>();
  return {
    delivered({ method, path, key, text, reply }) {
      if (key === undefined || method === 'GET' || reply.status >= 300 || isActivity({ path })) return;
      const request = `${method} ${path} ${text ?? ''}`;
      const before = answers.get(key);
      answers.set(key, before ?? { request, body: reply.body });
      if (before && before.request === request && before.body !== reply.body) {
        view.violated('R1', `${request} was answered\n${before.body}\nand then\n${reply.body}`);
      }
    },
  };
};

/** An accepted change of a revision leads to the next one. */
const r3Revision: Invariant = (view) => ({
  delivered({ path, text, reply }) {
    if (reply.status >= 300 || text === undefined || isActivity({ path })) return;
    const sent: unknown = JSON.parse(text).revision;
    const now: unknown = JSON.parse(reply.body).revision;
    if (typeof sent !== 'number' || typeof now !== 'number') return;
    if (now !== sent + 1) view.violated('R3', `${path}: a change of revision ${sent} led to ${now}`);
  },
});

/** What was answered is there after a crash. */
const r4Durable: Invariant = (view) => {
  const answered = new Map<string, number>();
  const removed = new Set<string>();
  return {
    arriving({ method, path, text }) {
      const id = idIn(path);
      if (id !== undefined && (method === 'DELETE' || text?.includes('"delete"'))) removed.add(id);
    },
    delivered({ method, path, reply }) {
      if (method === 'GET' || isActivity({ path }) || reply.status >= 300) return;
      const { id, revision, mode }: Json = JSON.parse(reply.body);
      // What a service owns goes with it.
      if (typeof id === 'string' && typeof revision === 'number' && mode !== 'service')
        answered.set(id, revision);
    },
    recovered() {
      const { store } = view.plane;
      if (!store) return;
      for (const [id, revision] of answered) {
        if (removed.has(id)) continue;
        const kept =
          store.services.get(id) ??
          store.volumes.get(id) ??
          store.templates.get(id) ??
          store.registries.get(id);
        if (!kept || kept.revision < revision)
          view.violated(
            'R4',
            `${id} was answered with revision ${revision}, and is ${kept?.revision ?? 'gone'} after a crash`,
          );
      }
    },
  };
};

/** The ledger sums to the balance. */
const r5Ledger: Invariant = (view) => {
  const check = () => {
    const { store } = view.plane;
    for (const account of store?.accounts.all() ?? []) {
      const row = store?.database.get('SELECT sum(amount_micros) AS sum FROM ledger WHERE account_id = $id', {
        id: account.id,
      });
      const sum = Number(row?.['sum']);
      if (sum !== account.balanceMicros)
        view.violated(
          'R5',
          `the ledger of ${account.name} sums to ${sum}, and its balance is ${account.balanceMicros}`,
        );
    }
  };
  return { recovered: check, finished: check };
};

/** Never more than §8 allows. */
const r6Limits: Invariant = (view) => ({
  delivered({ method, reply }) {
    const { store } = view.plane;
    if (method !== 'POST' || reply.status !== 201 || !store) return;
    for (const { id } of store.accounts.all()) {
      const isOver =
        store.volumes.count(id) > limits.volumesPerAccount ||
        store.templates.count(id) > limits.templatesPerAccount ||
        store.registries.count(id) > limits.registriesPerAccount;
      if (isOver) view.violated('R6', 'an account holds more than its limits');
    }
  },
});

/** No answer holds a secret. */
const r8Secrecy: Invariant = (view) => ({
  delivered({ method, path, reply }) {
    if (reply.body.includes(canary)) view.violated('R8', `${method} ${path} answers with a secret`);
  },
});

export const referenceInvariants: readonly Invariant[] = [
  r1SameAnswer,
  r3Revision,
  r4Durable,
  r5Ledger,
  r6Limits,
  r8Secrecy,
];
