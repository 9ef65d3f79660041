/**
 * What a real API server admits, held against what this process accepts, over specs that are drawn at random: neither may
 * refuse what the other takes, and both fill in the same defaults. The same draws as test/unit/crdgen/agreement.test.ts, which
 * asks a library for CEL and an imitation of the server's schemas: here it is seen that these do not differ from the real one.
 */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { documents, managedKinds, resourceTypes, type ManagedKind } from '../../../src/resources/index.ts';
import { refused, values } from '../../unit/crdgen/documents.ts';
import { anySpec, borderSpec, mayDiffer, wordSpecs } from '../../unit/crdgen/draws.ts';
import { clusterVerdict, documentOf, folderVerdict } from '../../unit/crdgen/support.ts';
import { apiServer, type Answer } from '../../support/processes/api-server.ts';
import { createCluster } from '../../support/processes/kubernetes.ts';
import { temporaryFolder } from '../../support/processes/processes.ts';
import { realCluster } from '../../support/processes/real-cluster.ts';
import { seed } from '../../support/seed.ts';

type Fields = Readonly<Record<string, unknown>>;

const isReal = (await realCluster()) !== undefined;
if (!isReal) {
  process.stderr.write(
    '\n*** SKIPPED: the definitions on a real API server: neither KUBEBUILDER_ASSETS nor KUBECONFIG is set ***\n',
  );
}

const draws = Number(process.env['DRAWS'] ?? 250);

/** A document, and what became of it in each way to write it. */
interface Tried {
  readonly document: Fields;
  readonly created: Answer;
  readonly applied: Answer;
}

/** As `kubectl create` and `kubectl apply` send it, and as `kubectl apply --server-side` does; nothing is kept. */
async function tryAll(kind: ManagedKind, specs: readonly Fields[]): Promise<Tried[]> {
  const { api, kubeconfig } = await createCluster(await temporaryFolder());
  const ask = await apiServer(kubeconfig);
  const { group, version, plural } = resourceTypes[kind];
  const collection = `/apis/${group}/${version}/namespaces/${api.namespace}/${plural}`;
  const strict = 'dryRun=All&fieldValidation=Strict';
  const tryOne = async (spec: Fields): Promise<Tried> => {
    const document = documentOf(kind, spec);
    const created = await ask({ method: 'POST', path: `${collection}?${strict}`, body: document });
    const applied = await ask({
      method: 'PATCH',
      path: `${collection}/web?${strict}&fieldManager=author&force=true`,
      type: 'application/apply-patch+yaml',
      body: document,
    });
    return { document, created, applied };
  };
  const results: Tried[] = [];
  for (let at = 0; at < specs.length; at += 8) {
    results.push(...(await Promise.all(specs.slice(at, at + 8).map(tryOne))));
  }
  return results;
}

/** The spec with its defaults, or that it was refused for what is in it. */
function outcome({ status, body }: Answer): unknown {
  if (status === 201) return body.spec;
  if (status === 422 || status === 400) return 'refused';
  // What is applied is held against the types of the schema before anything else, and this fails as it does there.
  if (status === 500 && /failed to create typed patch object/.test(body.message)) return 'refused';
  throw new Error(`the API server answered ${status}: ${JSON.stringify(body).slice(0, 500)}`);
}

function verdictOutcome({ refusals, spec }: { refusals: readonly string[]; spec: unknown }): unknown {
  return refusals.length > 0 ? 'refused' : spec;
}

function expectAgreement(kind: ManagedKind, { document, created, applied }: Tried): void {
  const accepted = verdictOutcome(folderVerdict(kind, document));
  const spec = document['spec'];
  const why = [created, applied].map(({ body }) => body.message as unknown);
  expect({ spec, why, created: outcome(created) }).toEqual({ spec, why, created: accepted });
  expect({ spec, why, applied: outcome(applied) }).toEqual({ spec, why, applied: accepted });
  const imitated = verdictOutcome(clusterVerdict(kind, document));
  expect({ spec, why, imitated }).toEqual({ spec, why, imitated: outcome(created) });
}

describe.skipIf(!isReal)('a real API server and this process accept the same documents', () => {
  test.each(managedKinds)(`%s, drawn with SEED=${seed}`, async (kind) => {
    const options = { seed, numRuns: draws };
    const specs = [...fc.sample(anySpec(kind), options), ...fc.sample(borderSpec(kind), options)];
    for (const tried of await tryAll(kind, specs)) expectAgreement(kind, tried);
  });

  test.each(wordSpecs)(`%s of %s, nearly right, drawn with SEED=${seed}`, async (_field, kind, specs) => {
    for (const tried of await tryAll(kind, fc.sample(specs, { seed, numRuns: draws }))) {
      const { document, created, applied } = tried;
      const spec = document['spec'] as Fields;
      const imitated = verdictOutcome(clusterVerdict(kind, document));
      expect([spec, outcome(created), outcome(applied)]).toEqual([spec, imitated, imitated]);
      const accepted = verdictOutcome(folderVerdict(kind, document));
      const differ = (imitated === 'refused') !== (accepted === 'refused');
      if (!differ || !mayDiffer(spec, imitated !== 'refused')) expectAgreement(kind, tried);
    }
  });

  test.each(managedKinds)('%s, each value of each field', async (kind) => {
    const specs = Object.entries(values[kind]).flatMap(([field, those]) =>
      those.map((value) => ({ [field]: value })),
    );
    for (const tried of await tryAll(kind, specs)) expectAgreement(kind, tried);
  });

  test.each(managedKinds)('%s: what both refuse, with the same words', async (kind) => {
    const those = refused.filter(([of]) => of === kind);
    const tried = await tryAll(
      kind,
      those.map(([, spec]) => spec),
    );
    for (const [index, { created, applied }] of tried.entries()) {
      const words = expect.stringContaining(those[index]?.[2] ?? '');
      expect([created.status, created.body.message]).toEqual([422, words]);
      expect([applied.status, applied.body.message]).toEqual([422, words]);
    }
  });

  test.each(managedKinds)('%s: null for a field, as an empty line of YAML gives it', async (kind) => {
    const specs = Object.keys(values[kind]).map((field) => ({ [field]: null }));
    for (const { document, created, applied } of await tryAll(kind, specs)) {
      for (const answer of [created, applied]) {
        if (outcome(answer) === 'refused') continue;
        // What is stored can be taken up by this process.
        const { error } = documents[kind].safeParse(answer.body);
        expect({ document, refused: error?.issues }).toEqual({ document, refused: undefined });
      }
      if (folderVerdict(kind, document).refusals.length === 0) {
        expect([document['spec'], created.status, applied.status]).toEqual([document['spec'], 201, 201]);
      }
    }
  });
});
