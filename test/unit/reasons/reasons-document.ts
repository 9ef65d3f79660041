/** `docs/reference/reasons.md`, made from the table: `npm run docs:reasons` writes it. */
import {
  reasonNames,
  reasons,
  type Reason,
  type ReasonEntry,
  type ReasonKind,
} from '../../../src/reasons/index.ts';
import { writeGenerated, type GeneratedPart } from '../../support/generated-part.ts';

export const reasonsPart: GeneratedPart = {
  document: 'docs/reference/reasons.md',
  from: 'src/reasons/',
  script: 'docs:reasons',
};

/** `remedy`: the kind asks somebody for something. */
const sections: readonly { kind: ReasonKind; title: string; text: string; remedy?: true }[] = [
  { kind: 'ready', title: 'Ready', text: '`Ready` is True.' },
  { kind: 'doing', title: 'Being done', text: 'Why a request is sent.' },
  { kind: 'waiting', title: 'Waiting', text: 'It passes without a change of the document.', remedy: true },
  {
    kind: 'unusable',
    title: 'Not usable',
    text: '`Ready` is False, though nothing is to be done.',
    remedy: true,
  },
  { kind: 'held', title: 'Held', text: 'Nothing is sent until a person changes something.', remedy: true },
  { kind: 'fact', title: 'Other conditions', text: 'What conditions other than `Ready` say.' },
  { kind: 'event', title: 'Events', text: 'In a cluster; holds are Events, too.' },
];

export function reasonLines(): string[] {
  return sections.flatMap(section).slice(0, -1);
}

function section({ kind, title, text, remedy }: (typeof sections)[number]): string[] {
  const names = reasonNames.filter((name) => reasons[name].kind === kind);
  const heads = ['reason', 'meaning', ...(remedy ? ['what to do'] : [])];
  return [
    `## ${title}`,
    '',
    text,
    '',
    `| ${heads.join(' | ')} |`,
    `|${heads.map(() => '---|').join('')}`,
    ...names.map((name) => row(name, remedy === true)),
    '',
  ];
}

function row(name: Reason, showsRemedy: boolean): string {
  const { meaning, remedy = '', see }: ReasonEntry = reasons[name];
  const link = see === undefined ? '' : ` ([more](../${see}))`;
  const inMeaning = !showsRemedy && remedy !== '' ? ` ${remedy}` : '';
  const cells = showsRemedy ? [meaning, `${remedy}${link}`] : [`${meaning}${inMeaning}${link}`];
  return `| \`${name}\` | ${cells.join(' | ')} |`;
}

if (import.meta.main) writeGenerated(reasonsPart, reasonLines());
