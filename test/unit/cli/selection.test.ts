import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { parseLabelSelector } from '../../../src/shown/label-selector.ts';
import {
  Selection,
  withSelectionFlags,
  type Selectable,
  type SelectionFlags,
} from '../../../src/cli/selection.ts';
import { kindCalled, managedKinds, traitsOf } from '../../../src/resources/index.ts';

function object(kind: Selectable['kind'], name: string, more: Partial<Selectable> = {}): Selectable {
  return { kind, namespace: 'default', name, labels: {}, ...more };
}

const fleet = [
  object('ContainerService', 'web', { labels: { app: 'shop', tier: 'front' } }),
  object('ContainerService', 'worker', { labels: { app: 'shop' } }),
  object('ContainerService', 'trainer', { labels: { app: 'research', tier: '' } }),
  object('StorageVolume', 'web'),
  object('StorageVolume', 'dataset', { namespace: 'lab', labels: { app: 'research' } }),
];

/** As a command gets it from a command line. */
function selectionOf(...args: string[]): Selection {
  let given: SelectionFlags = {};
  withSelectionFlags(new Command('try'))
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
    .action((flags: SelectionFlags) => {
      given = flags;
    })
    .parse(args, { from: 'user' });
  return new Selection(given);
}

const selected = (...args: string[]) =>
  selectionOf(...args)
    .among(fleet)
    .map(({ kind, name }) => `${kind}/${name}`);

describe('a target', () => {
  test.each([
    'ContainerService/web',
    'containerservice/web',
    'containerservices/web',
    'csvc/web',
    'CSVC/web',
    'service/web',
  ])('is an object by its kind, in any of its names, and its name: %s', (target) => {
    expect(selected('--target', target)).toEqual(['ContainerService/web']);
  });

  test('can be given several times', () => {
    expect(selected('--target', 'csvc/web', '--target', 'svol/web')).toEqual([
      'ContainerService/web',
      'StorageVolume/web',
    ]);
  });

  test('is in the namespace default, or in that of -n', () => {
    expect(selected('--target', 'svol/dataset', '-n', 'lab')).toEqual(['StorageVolume/dataset']);
    expect(() => selected('--target', 'svol/dataset')).toThrow(
      expect.objectContaining({
        message: 'there is no StorageVolume/dataset in the namespace default',
        remedy: 'it is in the namespace lab: pass -n lab',
      }),
    );
  });

  test('may be a name alone, if only one object has it', () => {
    expect(selected('--target', 'worker')).toEqual(['ContainerService/worker']);
    expect(() => selected('--target', 'web')).toThrow(
      expect.objectContaining({
        message: '2 objects are called web',
        remedy: 'name the kind, too: ContainerService/web, StorageVolume/web',
      }),
    );
  });

  test.each([
    ['csvc/wrker', 'did you mean ContainerService/worker?'],
    ['wrker', 'did you mean ContainerService/worker?'],
    ['svol/worker', 'did you mean ContainerService/worker?'],
    ['svol/other', 'there are: StorageVolume/web'],
    [
      'other',
      'there are: ContainerService/trainer, ContainerService/web, ContainerService/worker, StorageVolume/web',
    ],
  ])('that matches nothing is an error with the nearest name: %s', (target, remedy) => {
    expect(() => selected('--target', target)).toThrow(expect.objectContaining({ remedy }));
  });

  test('one of several that matches nothing is an error, too', () => {
    expect(() => selected('--target', 'csvc/web', '--target', 'csvc/none')).toThrow('ContainerService/none');
  });

  test.each([
    ['/', 'expected KIND/NAME'],
    ['csvc/', 'expected KIND/NAME'],
    ['/web', 'expected KIND/NAME'],
    ['lab/svol/dataset', '-n gives the namespace'],
    ['containerservce/web', 'did you mean ContainerService?'],
    ['pod/web', `the kinds are ${managedKinds.join(', ')}`],
  ])('of another form is refused: %s', (target, message) => {
    expect(() => selected('--target', target)).toThrow(message);
  });
});

describe('a selector', () => {
  test.each([
    ['app=shop', ['web', 'worker']],
    ['app==shop', ['web', 'worker']],
    ['app = shop', ['web', 'worker']],
    ['app!=shop', ['trainer', 'web', 'dataset']],
    ['app in (shop,research)', ['web', 'worker', 'trainer', 'dataset']],
    ['app in ( shop )', ['web', 'worker']],
    ['app notin (shop)', ['trainer', 'web', 'dataset']],
    ['app', ['web', 'worker', 'trainer', 'dataset']],
    ['!app', ['web']],
    ['tier=', ['trainer']],
    ['tier in (front,)', ['web', 'trainer']],
    ['app=shop,!tier', ['worker']],
    ['app, tier notin (front), app in (shop, research)', ['worker', 'trainer', 'dataset']],
    ['in=1', []],
  ])('has the syntax of kubectl: %s', (selector, names) => {
    expect(
      fleet.filter(({ labels }) => parseLabelSelector(selector)(labels)).map(({ name }) => name),
    ).toEqual(names);
  });

  test.each([
    ['', 'expected a selector such as app=web'],
    ['app=shop,', 'expected the key of a label at its end'],
    ['=shop', 'expected the key of a label at "="'],
    ['app in shop', 'expected values in brackets at "shop"'],
    ['app in (shop', 'expected a comma or a closing bracket at its end'],
    ['app shop', 'expected =, ==, !=, in or notin at "shop"'],
    ['app>1', 'expected =, ==, !=, in or notin at ">"'],
    ['app=a=b', 'expected a comma, and the next requirement at "="'],
    ['-app', 'expected the key of a label at "-app"'],
    ['app=-x', 'expected the value of a label at "-x"'],
    ['constructor in (', 'closing bracket at its end'],
  ])('of another form is refused, and the message states what was expected: %s', (selector, message) => {
    expect(() => parseLabelSelector(selector)).toThrow(message);
  });

  test('knows only labels that the object has itself', () => {
    expect(parseLabelSelector('constructor')({})).toBe(false);
    expect(parseLabelSelector('!constructor')({})).toBe(true);
  });

  test('concerns all namespaces, or that of -n', () => {
    expect(selected('-l', 'app=research')).toEqual(['ContainerService/trainer', 'StorageVolume/dataset']);
    expect(selected('-l', 'app=research', '-n', 'lab')).toEqual(['StorageVolume/dataset']);
    expect(selected('--selector', 'app=none')).toEqual([]);
  });

  test('is not combined with targets', () => {
    expect(() => selected('-l', 'app=shop', '--target', 'csvc/web')).toThrow(/cannot be used with/);
  });
});

test('without targets and selector, everything is selected, or everything in the namespace of -n', () => {
  expect(selectionOf().isEverything).toBe(true);
  expect(selected()).toHaveLength(fleet.length);
  expect(selectionOf('-n', 'lab').isEverything).toBe(false);
  expect(selected('-n', 'lab')).toEqual(['StorageVolume/dataset']);
});

test('a selection is written as the flags that give it', () => {
  const args = ['--target', 'ContainerService/web', '--target', 'worker', '-n', 'lab'];
  expect(selectionOf(...args).text).toBe(args.join(' '));
  expect(selectionOf('-l', 'app in (a,b)').text).toBe("-l 'app in (a,b)'");
});

test('every name of a kind is that of one kind only', () => {
  for (const kind of managedKinds) {
    const { plural, shortName, noun } = traitsOf(kind);
    for (const name of [kind, plural, shortName, noun]) expect(kindCalled(name)).toBe(kind);
  }
});
