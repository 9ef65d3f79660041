/** The result of a run: every fact with its outcome under its section, then a line per section. */
import type { TestCase, TestModule } from 'vitest/node';

const sections: Readonly<Record<string, string>> = {
  '§1': 'What the service does',
  '§2': 'Resources and their fields',
  '§3': 'States and transitions',
  '§4': 'Endpoints',
  '§5': 'Authentication',
  '§6': 'Events',
  '§7': 'Errors',
  '§8': 'Limits',
  '§9': 'Versioning',
};

type Outcome = 'passed' | 'failed' | 'skipped';

interface Fact {
  readonly name: string;
  readonly outcome: Outcome;
  /** Why it failed or was skipped. */
  readonly reason: string;
}

export function factsOf(modules: readonly TestModule[]): Fact[] {
  return modules.flatMap((module) => [...module.children.allTests()].map(factOf));
}

/** What failed outside a test: a file that can't be loaded, a clean-up. */
export function troublesOf(modules: readonly TestModule[]): string[] {
  return modules.flatMap((module) => module.errors().map(({ message }) => message));
}

function factOf(test: TestCase): Fact {
  const result = test.result();
  switch (result.state) {
    case 'passed':
      return { name: test.name, outcome: 'passed', reason: '' };
    case 'failed':
      return {
        name: test.name,
        outcome: 'failed',
        reason: result.errors.map(({ message }) => message).join('\n'),
      };
    case 'skipped':
      return { name: test.name, outcome: 'skipped', reason: result.note ?? 'not reached' };
    case 'pending':
      return { name: test.name, outcome: 'skipped', reason: 'not reached' };
  }
}

const marks = { passed: '✓', failed: '✗', skipped: '–' };

export function tableOf(facts: readonly Fact[]): string {
  const lines: string[] = [];
  const totals: string[] = [];
  for (const [section, title] of Object.entries(sections)) {
    const own = facts
      .filter(({ name }) => name.startsWith(section))
      .sort((left, right) => left.name.localeCompare(right.name, 'en', { numeric: true }));
    if (own.length === 0) continue;
    lines.push('', `${section} ${title}`, ...own.map(lineOf));
    totals.push(`${`${section} ${title}`.padEnd(32)} ${countsOf(own)}`);
  }
  return [...lines, '', ...totals, `${'all'.padEnd(32)} ${countsOf(facts)}`].join('\n');
}

function countsOf(facts: readonly Fact[]): string {
  const count = (outcome: Outcome) => facts.filter((fact) => fact.outcome === outcome).length;
  return `${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped`;
}

function lineOf({ name, outcome, reason }: Fact): string {
  const why = outcome === 'failed' ? `\n${indented(reason)}` : '';
  return `  ${marks[outcome]} ${name}${outcome === 'skipped' ? ` (skipped: ${reason})` : ''}${why}`;
}

function indented(text: string): string {
  return text
    .split('\n')
    .map((line) => `      ${line}`)
    .join('\n');
}
