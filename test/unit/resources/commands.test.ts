import { expect, test } from 'vitest';
import { commandText, parseCommand, type CommandVerbs } from '../../../src/resources/index.ts';

const verbs: CommandVerbs = {
  promote: { target: /^r\d+#\d+$/, example: 'promote@r7#2' },
  retire: { argument: /^\d+$/, target: /^[0-9a-f]{8}$/, example: 'retire:3@9f2c41aa' },
  scale: { argument: /^\d+(:.+)?$/, target: /^g\d+$/, example: 'scale:9@g12', only: 'folder' },
};
const read = (text: string, place: 'folder' | 'cluster' = 'folder') => parseCommand(text, verbs, place);

test('a command is a verb, perhaps with an argument, and the target that the person saw', () => {
  expect(read('promote@r7#2')).toEqual({
    text: 'promote@r7#2',
    verb: 'promote',
    argument: undefined,
    target: 'r7#2',
  });
  expect(read('retire:3@9f2c41aa')).toMatchObject({ verb: 'retire', argument: '3', target: '9f2c41aa' });
  // The time in the argument has colons, too.
  expect(read('scale:9:2026-11-22T18:00:00Z@g12')).toMatchObject({
    argument: '9:2026-11-22T18:00:00Z',
    target: 'g12',
  });
  expect(read(commandText('scale', '9', 'g12'))).toMatchObject({ verb: 'scale', argument: '9' });
  expect(read(commandText('promote', undefined, 'r7#2'))).toMatchObject({ verb: 'promote' });
});

test.each([
  ['promote', /such as promote@r7#2; verbs are promote, retire, scale/],
  ['retier:3@9f2c41aa', /verbs are promote, retire, scale/],
  ['', /"" is not a command/],
  ['promote:1@r7#2', /write promote as in promote@r7#2/],
  ['promote@7', /write promote as in promote@r7#2/],
  ['retire@9f2c41aa', /write retire as in retire:3@9f2c41aa/],
  ['retire:x@9f2c41aa', /write retire as in/],
  ['retire:3@9F2C41AA', /write retire as in/],
  ['retire:3@9f2c41aa@x', /verbs are/],
  [' retire:3@9f2c41aa', /verbs are/],
])('%j is no command, and the message names a correct one', (text, message) => {
  expect(read(text)).toMatch(message);
});

test('a verb for folders is none in a cluster, and a kind without verbs takes no commands', () => {
  expect(read('scale:9@g12', 'cluster')).toMatch(/verbs are promote, retire$/);
  expect(parseCommand('scale:9@g12', {}, 'folder')).toMatch(/takes no operator commands/);
});
