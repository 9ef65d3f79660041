/**
 * From what is known of a thing to the text of its document. What the document can't say is left as a gap: a comment
 * with the field's name and why it is not there, so that a person can fill it in. A document that would not be
 * valid without such a field is written as a comment as a whole.
 */
import { Document, isMap } from 'yaml';
import type { Gap, SpecDraft } from '../../engine/index.ts';
import { apiVersion, documents, traitsOf, type ManagedKind } from '../../resources/index.ts';
import { oneLine } from '../output/terminal-text.ts';

export interface Draft extends SpecDraft {
  readonly kind: ManagedKind;
  readonly namespace: string;
  readonly name: string;
  /** Sentences above the document. */
  readonly notes: readonly string[];
  readonly annotations: Readonly<Record<string, string>>;
}

export interface WrittenDocument {
  readonly kind: ManagedKind;
  readonly namespace: string;
  readonly name: string;
  readonly file: string;
  readonly text: string;
  readonly gaps: readonly Gap[];
  /** It is valid; otherwise all of it is a comment. */
  readonly usable: boolean;
}

function folderOf(kind: ManagedKind): string {
  const { list, plural } = traitsOf(kind);
  return list ?? plural;
}

export function writeDocument(draft: Draft): WrittenDocument {
  const { kind, namespace, name } = draft;
  const { spec, gaps, usable } = withoutWhatIsRefused(draft);
  const text = render(draft, spec, gaps);
  const folder = namespace === 'default' ? folderOf(kind) : `${namespace}/${folderOf(kind)}`;
  return {
    kind,
    namespace,
    name,
    gaps,
    usable,
    file: `${folder}/${name}.yaml`,
    text: usable ? text : commentedOut(text),
  };
}

/** The provider may show values that the schema does not take; and it may not show what the schema needs. */
function withoutWhatIsRefused(draft: Draft): { spec: Draft['spec']; gaps: readonly Gap[]; usable: boolean } {
  const given = Object.entries(draft.spec).filter(([, value]) => value !== undefined);
  const refused = refusedFields(draft, Object.fromEntries(given));
  const kept = Object.fromEntries(given.filter(([field]) => !refused.has(field)));
  const missing = draft.needed.filter((field) => draft.spec[field] === undefined);
  const gaps = [
    ...missing.map((field) => toFill(field, 'the API does not show it, and it is needed')),
    ...given
      .filter(([field]) => refused.has(field))
      .map(([field, value]) => toFill(field, `the API shows ${brief(value)}: ${refused.get(field)}`)),
  ];
  return { spec: kept, gaps: [...gaps, ...draft.gaps], usable: refusedFields(draft, kept).size === 0 };
}

function toFill(field: string, why: string): Gap {
  return { field, why, example: [`${field}: FILL-IN`] };
}

/** Fields of the spec that the schema does not take as they are, and why. */
function refusedFields(draft: Draft, spec: Draft['spec']): Map<string, string> {
  const checked = documents[draft.kind].safeParse(documentOf(draft, spec));
  const refused = new Map<string, string>();
  for (const { path, message } of checked.error?.issues ?? []) {
    const field = path[0] === 'spec' && path.length > 1 ? path[1] : path[0];
    refused.set(String(field), message);
  }
  return refused;
}

function documentOf({ kind, namespace, name, annotations }: Draft, spec: Draft['spec']): object {
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(namespace === 'default' ? {} : { namespace }),
      ...(Object.keys(annotations).length > 0 ? { annotations } : {}),
    },
    spec,
  };
}

function render(draft: Draft, spec: Draft['spec'], gaps: readonly Gap[]): string {
  // What YAML 1.1 reads as something else (yes, 0o7) is quoted, too: kubectl may read the file.
  const document = new Document(documentOf(draft, spec), {
    compat: 'yaml-1.1',
    aliasDuplicateObjects: false,
  });
  document.commentBefore = draft.notes.map(commentLine).join('\n');
  const map = document.get('spec');
  if (isMap(map) && gaps.length > 0) {
    map.comment = gaps
      .flatMap(({ field, why, example = [] }) => [`GAP ${field}: ${why}`, ...example])
      .map(commentLine)
      .join('\n');
  }
  return document.toString({ lineWidth: 0 });
}

/** The library puts the `#` in front; what others wrote must not break out of the comment. */
function commentLine(text: string): string {
  const indent = /^ */.exec(text)?.[0] ?? '';
  return ` ${indent}${oneLine(text)}`;
}

function commentedOut(text: string): string {
  const lines = text.trimEnd().split('\n');
  return [
    '# Not valid as it is: fill in what is needed, and uncomment.',
    ...lines.map((line) => `# ${line}`.trimEnd()),
    '',
  ].join('\n');
}

const briefly = 200;

export function brief(value: unknown): string {
  const text = oneLine(JSON.stringify(value) ?? 'nothing');
  return text.length > briefly ? `${text.slice(0, briefly)}…` : text;
}
