/**
 * The commands that documents show. A block that a test can't run has a reason above it: `<!-- not run: it needs a cluster -->`.
 * Generated parts of a document are tested with what they are made of.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';

export interface Block {
  /** Of the opening fence, from 1. */
  readonly line: number;
  /** `sh` for commands; empty for what they print. */
  readonly language: string;
  readonly text: string;
  readonly notRun: string | undefined;
}

export function blocksIn(text: string): Block[] {
  const blocks: Block[] = [];
  let open: { line: number; language: string; notRun: string | undefined; from: number } | undefined;
  const lines = text.split('\n');
  let isGenerated = false;
  for (const [index, line] of lines.entries()) {
    if (line.startsWith('<!-- Made by')) isGenerated = true;
    if (line.startsWith('<!-- The end')) isGenerated = false;
    const fence = /^```(?<language>\w*)$/.exec(line);
    if (!fence) continue;
    if (open) {
      const { from, ...rest } = open;
      blocks.push({ ...rest, text: `${lines.slice(from, index).join('\n')}\n` });
      open = undefined;
    } else {
      const above = lines.slice(0, index).findLast((one) => one.trim() !== '') ?? '';
      const stated = /^<!-- not run: (?<reason>.+) -->$/.exec(above)?.groups?.['reason'];
      const notRun = isGenerated ? 'it is generated' : stated;
      open = { line: index + 1, language: fence.groups?.['language'] ?? '', notRun, from: index + 1 };
    }
  }
  return blocks;
}

const root = path.join(import.meta.dirname, '../../..');

/** Of a document, by its path from the root of the repository. */
export function documentedBlocks(document: string): Block[] {
  return blocksIn(readFileSync(path.join(root, document), 'utf8'));
}
