import { expect, test } from 'vitest';
import { committedText, generatedText } from '../../support/generated-part.ts';
import { commandLines, commandsPart } from './commands-document.ts';

test('all commands and flags are documented as they are (if not: npm run docs:commands)', async () => {
  expect(committedText(commandsPart)).toBe(generatedText(commandsPart, await commandLines()));
});
