/** What a plan found beside the documents, for people. Pure. */
import type { BesideDocuments, Uncompared } from '../../manager/index.ts';

export interface BesideLine {
  readonly name: string;
  readonly label: string;
  readonly text: string;
}

const called = ({ kind, namespace, name }: Uncompared) => `${kind} ${namespace}/${name}`;

export function besideLines(found: BesideDocuments): BesideLine[] {
  return [...sameNameLines(found), ...undeclaredLines(found), ...uncomparedLines(found)];
}

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
export function besideCounts({ sameNames, undeclared, uncompared }: BesideDocuments): string[] {
  return [
    ...(sameNames ? [`Beside a thing of the same name: ${sameNames.length} to create.`] : []),
    ...(undeclared ? [`With this fleet's mark and no document: ${undeclared.length}.`] : []),
    ...(uncompared
      ? [`Values of \`env\` of ${uncompared.length} service(s) can't be compared (no digest).`]
      : []),
  ];
}
