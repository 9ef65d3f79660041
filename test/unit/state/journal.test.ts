/** The journal as a page reads it beside the process that writes: all of it, or what belongs to some namespaces. */
import { expect, onTestFinished, test } from 'vitest';
import type { ObjectKey } from '../../../src/resources/index.ts';
import { JournalReader } from '../../../src/state/index.ts';
import { temporaryFile } from '../../support/temporary.ts';
import { intentOf } from '../read-api/support.ts';
import { open, recordOf } from './support.ts';

/** Names that begin like another one, or that stand beside it in an order. */
const namespaces = ['a', 'a-b', 'ab', 'a0', 'b'];

/** `own`: mutations of each namespace; then many of another one, and one more of each. */
async function written(own: number, ofOthers: number): Promise<JournalReader> {
  const file = temporaryFile('state.db');
  using state = open(file);
  let number = 0;
  const put = async (object: ObjectKey) => {
    number += 1;
    await state.store.saveIntent(intentOf(object, { idempotencyKey: `k${number}` }), recordOf(object));
  };
  for (let index = 0; index < own; index++)
    for (const namespace of namespaces) {
      const kind = index % 2 === 0 ? 'StorageVolume' : 'ContainerService';
      await put(`${kind}/${namespace}/one-${index}`);
    }
  const others = Array.from({ length: ofOthers }, (_, index) =>
    put(`ContainerService/others/one-${index % 100}`),
  );
  await Promise.all(others);
  for (const namespace of namespaces) await put(`ContainerService/${namespace}/last`);
  const reader = new JournalReader(file);
  onTestFinished(() => reader.close());
  return reader;
}

test.each([
  ['few', 0],
  ['many', 1500],
])(
  'has of some namespaces what is theirs, in its order, page by page, with %s of others',
  async (_, others) => {
    const journal = await written(12, others);
    const whole = journal.page(undefined, 10_000);
    for (const asked of [['a'], ['a', 'b'], ['ab', 'a0', 'none'], [], namespaces].map(
      (each) => new Set(each),
    )) {
      const expected = whole.filter(({ intent }) => asked.has(intent.object.split('/')[1] ?? ''));
      const found: typeof whole = [];
      for (let page = journal.pageOf(asked, undefined, 7); page.length > 0;) {
        found.push(...page);
        page = journal.pageOf(asked, page.at(-1)?.number, 7);
      }
      expect(found).toEqual(expected);
      expect(found.length).toBe(13 * [...asked].filter((each) => namespaces.includes(each)).length);
    }
  },
);
