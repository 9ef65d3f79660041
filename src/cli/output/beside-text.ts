/** What a plan found beside the documents, for people. Pure. */
import type { BesideDocuments, Uncompared } from '../../manager/index.ts';

export interface BesideLine {
  readonly name: string;
  readonly label: string;
  readonly text: string;
}

const called = ({ kind, namespace, name }: Pick<Uncompared, 'kind' | 'namespace' | 'name'>) =>
  `${kind} ${namespace}/${name}`;

export function besideLines(found: BesideDocuments): BesideLine[] {
  return [
    ...adoptedLines(found),
    ...sameNameLines(found),
    ...undeclaredLines(found),
    ...uncomparedLines(found),
  ];
}

/** An import has very many. */
export function adoptedLines({ adopted = [] }: BesideDocuments): BesideLine[] {
  const lines = adopted.slice(0, mostAdopted).map((one) => ({
    name: called(one),
    label: 'Adopted',
    text: one.message,
  }));
  const more = adopted.length - lines.length;
  const rest = { name: `${more} more`, label: 'Adopted', text: 'take over what is there' };
  return more > 0 ? [...lines, rest] : lines;
}

const mostAdopted = 50;

export function sameNameLines({ sameNames = [] }: BesideDocuments): BesideLine[] {
  return sameNames.map((one) => ({ name: called(one), label: 'SameName', text: one.message }));
}

export function undeclaredLines({ undeclared = [] }: BesideDocuments): BesideLine[] {
  return undeclared.map(({ kind, name, id, message }) => ({
    name: `${kind} ${name ?? id}`,
    label: 'Undeclared',
    text: message,
  }));
}

/** Usually they are all of them, for one reason. */
export function uncomparedLines({ uncompared = [] }: BesideDocuments): BesideLine[] {
  const [first] = uncompared;
  if (!first) return [];
  const more = uncompared.length > mostNamed ? ', …' : '';
  const names = uncompared.slice(0, mostNamed).map(called).join(', ');
  const text = `their marks were made with another digest key, so a changed value does not roll out: ${names}${more}. Give the digest key of earlier runs, or add a variable, which sends all of \`env\``;
  return [{ name: 'env', label: 'NotCompared', text }];
}

const mostNamed = 10;

/** For the line of counts. */
export function besideCounts({ adopted, sameNames, undeclared, uncompared }: BesideDocuments): string[] {
  return [
    ...(adopted ? [`Taken over: ${adopted.length}.`] : []),
    ...(sameNames ? [`Beside a thing of the same name: ${sameNames.length} to create.`] : []),
    ...(undeclared ? [`With this fleet's mark and no document: ${undeclared.length}.`] : []),
    ...(uncompared
      ? [`Values of \`env\` of ${uncompared.length} service(s) can't be compared (no digest).`]
      : []),
  ];
}
