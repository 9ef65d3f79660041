import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  actions,
  effectOf,
  entryOfAction,
  isCreation,
  stopService,
  updateVolume,
  type Action,
} from '../../../src/actions/index.ts';
import { committedText, generatedText } from '../../support/generated-part.ts';
import { evidenceLines, evidencePart, requestLines, requestsPart } from './actions-document.ts';
import { samples } from './samples.ts';

const root = path.join(import.meta.dirname, '../../../src');
const entries = Object.entries(actions);

describe('the table of actions', () => {
  test('is documented as it is (if not: npm run docs:actions)', async () => {
    expect(committedText(requestsPart)).toBe(generatedText(requestsPart, await requestLines()));
    expect(committedText(evidencePart)).toBe(generatedText(evidencePart, evidenceLines()));
  });

  test('has each action under its own name', () => {
    expect(entries.filter(([name, entry]) => entry.name !== name)).toEqual([]);
  });

  test('makes actions, which it finds its entry of again', () => {
    expect(stopService({ id: 'a' })).toEqual({ do: 'stop-service', id: 'a' });
    expect(Object.values(samples).map(entryOfAction)).toEqual(Object.values(actions));
  });

  test('tells what an action does to the resource; nothing else looks how its name begins', () => {
    const by = (effect: string) =>
      entries.filter(([, entry]) => entry.effect === effect).map(([name]) => name);
    expect(by('create').sort()).toEqual([
      'create-registry',
      'create-service',
      'create-template',
      'create-volume',
    ]);
    expect(by('delete').sort()).toEqual([
      'delete-registry',
      'delete-service',
      'delete-template',
      'delete-volume',
    ]);
    const guesses = globSync('**/*.ts', { cwd: root }).filter((file) =>
      /\.(startsWith|endsWith)\(\s*['"`](create|delete|patch|update|replace|rotate)-/.test(
        readFileSync(path.join(root, file), 'utf8'),
      ),
    );
    expect(guesses.filter((file) => !file.startsWith('control-plane/'))).toEqual([]);
  });

  test('proves a creation by its mark, and a deletion by what is gone', () => {
    const evidence = {
      create: ['mark'],
      delete: ['gone'],
      change: ['fields', 'left', 'paused', 'moved'],
    } as const;
    for (const [
      ,
      {
        effect,
        evidence: { by },
      },
    ] of entries) {
      expect(evidence[effect].some((one) => one === by)).toBe(true);
    }
  });

  test('brings about what settlement looks for', () => {
    for (const [, { fields, evidence }] of entries) {
      if (evidence.by !== 'fields' || fields === 'all') continue;
      expect(fields.filter((field) => !evidence.paths.test(field))).toEqual([]);
    }
  });

  test('tries again what no document can make another request, and the growth of a volume', () => {
    const isFixed = (action: object) =>
      Object.keys(action).every((name) => ['do', 'id', 'revision'].includes(name));
    const all: readonly Action[] = Object.values(samples);
    const retried = all.filter((action) => entryOfAction(action).isRetried?.(action));
    expect(retried.filter((action) => !isFixed(action)).map((action) => action.do)).toEqual([
      'update-volume',
    ]);
    expect(all.filter((action) => isFixed(action) && !retried.includes(action))).toEqual([]);
    const renamed = updateVolume({ id: 'a', revision: 1, name: 'other', sizeGb: undefined });
    expect(updateVolume.isRetried?.(renamed)).toBe(false);
  });

  test('knows no action of another version', () => {
    expect([effectOf('create-fleet'), isCreation('create-fleet'), effectOf('toString')]).toEqual([
      undefined,
      false,
      undefined,
    ]);
  });
});
