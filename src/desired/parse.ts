/**
 * Parses the text of one file into documents. Pure. It never throws, and never puts a value into a message.
 *
 * Each document is one of:
 * - **read**: valid and used.
 * - **unusable**: kind, namespace and name are known, but the rest is invalid. The object exists and is left alone.
 * - **foreign**: of a kind that Fleetkeeper does not manage, such as `apps/v1 Deployment`. It is reported and ignored.
 * - **unidentified**: its object is unknown. Then the file is not `complete`, and the absence of an object proves nothing.
 *
 * A document that is not YAML leaves the file incomplete even if its name could be read. For example, an unclosed quote
 * swallows the documents that follow.
 */
import {
  apiVersion,
  documents as schemas,
  group,
  managedKinds,
  objectKey,
  traitsOf,
  type ManagedKind,
  type ObjectKey,
} from '../resources/index.ts';
import { nearest, SharedValues } from '../base/index.ts';
import { configMapData, decodeUtf8, secretData, type SecretData } from './data-documents.ts';
import { explain, plainWords, showable, type Finding } from './explain.ts';
import { identityAdvice, identityOf } from './identity.ts';
import { keptDocument } from './kept-document.ts';
import { limits } from './limits.ts';
import { pathText, printable } from './problem.ts';
import { encryptedFinding, isEncrypted } from './sops.ts';
import { isSettingsFile } from './settings-file.ts';
import type { DesiredObject, Location, Problem } from './source.ts';
import { isPlainMap, lineAt, readYaml, type Fault, type Path, type YamlDocument } from './yaml.ts';

interface ReadObject {
  readonly is: 'object';
  readonly id: ObjectKey;
  readonly location: Location;
  readonly object: DesiredObject;
}

interface UnusableObject {
  readonly is: 'unusable';
  readonly id: ObjectKey;
  readonly location: Location;
  readonly problems: readonly Problem[];
}

/** A Secret or a ConfigMap. */
export interface DataDocument {
  readonly is: 'data';
  /** `Kind/namespace/name`. */
  readonly id: string;
  readonly kind: 'Secret' | 'ConfigMap';
  /** `namespace/name`. */
  readonly name: string;
  readonly location: Location;
  /** Undefined if the document is invalid. */
  readonly data: SecretData | undefined;
  /** By SOPS. */
  readonly isEncrypted: boolean;
}

export type ParsedDocument = ReadObject | UnusableObject | DataDocument;

export interface ParsedFile {
  /** Relative to the source's root. */
  readonly file: string;
  readonly documents: readonly ParsedDocument[];
  /** All problems, including those of `unusable` documents. */
  readonly problems: readonly Problem[];
  /** Every document of the file was identified. */
  readonly complete: boolean;
  /** Documents of any kind, including foreign and unidentified ones. */
  readonly documentCount: number;
}

/** Reads one file of YAML or JSON with any number of documents. Messages name the file as `file`. */
export function parseFile(
  file: string,
  text: string | Buffer,
  longest: number = limits.fileBytes,
): ParsedFile {
  if (Buffer.byteLength(text) > longest) {
    return refusedFile(file, `is larger than ${longest / 1024 / 1024} MiB`, 'split it');
  }
  const decoded = typeof text === 'string' ? text : decodeUtf8(text);
  if (decoded === undefined) return refusedFile(file, 'is not UTF-8 text', 'save it as UTF-8');
  const yaml = readYaml(decoded);
  const reading = new FileReading(file);
  if (isSettingsFile(file, yaml)) return reading.result();
  const { documents, refused } = yaml;
  for (const document of documents) reading.add(document);
  if (refused) reading.refuse(refused);
  return reading.result();
}

/** A file that can't be used at all. */
export function refusedFile(file: string, message: string, remedy: string): ParsedFile {
  const problem: Problem = {
    file,
    line: undefined,
    path: undefined,
    message: `the file ${message}`,
    remedy,
    key: undefined,
  };
  return { file, documents: [], problems: [problem], complete: false, documentCount: 0 };
}

/** One document, or one item of a `List`. */
interface Entry {
  readonly yaml: Pick<YamlDocument, 'value' | 'line' | 'lines' | 'broken'>;
  /** The path from the document to this entry: empty, or `['items', 3]`. */
  readonly prefix: Path;
  readonly faults: readonly Fault[];
}

class FileReading {
  readonly #file: string;
  readonly #documents: ParsedDocument[] = [];
  readonly #problems: Problem[] = [];
  readonly #shared = new SharedValues({ areSlices: true });
  #complete = true;
  #count = 0;
  #omitted = 0;

  constructor(file: string) {
    this.#file = file;
  }

  result(): ParsedFile {
    if (this.#omitted > 0) {
      const message = `${this.#omitted} more problems in this file`;
      this.#problems.push({
        ...this.#problem(0, undefined, message, 'fix the first ones first', undefined),
        line: undefined,
      });
    }
    return {
      file: this.#file,
      documents: this.#documents,
      problems: this.#problems,
      complete: this.#complete,
      documentCount: this.#count,
    };
  }

  refuse(fault: Fault): void {
    this.#complete = false;
    this.#problems.push({
      file: this.#file,
      line: fault.line,
      path: undefined,
      message: fault.message,
      remedy: fault.remedy,
      key: undefined,
    });
  }

  add(yaml: YamlDocument): void {
    if (yaml.broken) this.#complete = false;
    this.#entry({ yaml, prefix: [], faults: yaml.faults });
  }

  #entry(entry: Entry): void {
    const { value } = entry.yaml;
    if (isPlainMap(value) && value['kind'] === 'List' && value['apiVersion'] === 'v1') {
      this.#list(entry, value['items']);
      return;
    }
    this.#count += 1;
    if (!isPlainMap(value)) {
      const what = 'a document must be a map with apiVersion, kind, metadata and spec';
      this.#unidentified(entry, [], what, 'complete the document, or move this file out of the folder');
      return;
    }
    const { kind } = value;
    if (typeof kind !== 'string' && isEncrypted(value)) {
      const { path, message, remedy } = encryptedFinding(value, this.#file, undefined);
      this.#unidentified(entry, path, message, remedy);
    } else if (typeof kind !== 'string' && isComposeFile(value)) {
      const message = 'is missing: this looks like a file of Docker Compose, which is not read';
      const service = calledElsewhere('Container');
      const remedy = `write a ${service} for each of its services, and move this file out of the folder`;
      this.#unidentified(entry, ['kind'], message, remedy);
    } else if (typeof kind !== 'string') {
      this.#unidentified(entry, ['kind'], 'is missing', `add it: one of ${readKinds}`);
    } else if (isManaged(kind)) this.#managed(entry, kind);
    else if (value['apiVersion'] === 'v1' && (kind === 'Secret' || kind === 'ConfigMap')) {
      this.#data(entry, kind);
    } else this.#other(entry, kind, value['apiVersion']);
  }

  #list(entry: Entry, items: unknown): void {
    if (!Array.isArray(items)) {
      this.#count += 1;
      this.#unidentified(entry, ['items'], 'a List needs its items', 'add `items: []`, or remove the List');
      return;
    }
    if (items.length === 0) this.#report(entry, entry.faults, undefined);
    for (const [index, item] of items.entries()) {
      const path: Path = ['items', index];
      this.#entry({
        yaml: { ...entry.yaml, value: item as unknown, line: lineAt(entry.yaml, path) },
        prefix: [...entry.prefix, ...path],
        faults: entry.faults.filter((fault) => concerns(fault, entry.prefix.length, path)),
      });
    }
  }

  #managed(entry: Entry, kind: ManagedKind): void {
    const value = entry.yaml.value as Record<string, unknown>;
    this.#shared.shareTexts(value);
    const identity = identityOf(value, faultsAt(entry));
    if (typeof identity === 'string') return this.#unnamed(entry, identity);
    const key = objectKey(kind, identity.namespace, identity.name);
    const location = this.#locate(entry, []);
    const unusable = (findings: readonly Finding[]) => {
      const problems = [...this.#report(entry, entry.faults, key), ...this.#find(entry, findings, key)];
      this.#documents.push({ is: 'unusable', id: key, location, problems });
    };
    if (entry.yaml.broken) return unusable([]);
    if (isEncrypted(value)) return unusable([encryptedFinding(value, this.#file, undefined)]);
    if (value['apiVersion'] !== apiVersion) return unusable([versionFinding(value['apiVersion'])]);
    const checked = schemas[kind].safeParse(value, { error: plainWords });
    if (!checked.success || entry.faults.length > 0) {
      return unusable(
        checked.error
          ? explain(checked.error.issues, { schema: schemas[kind], hints: traitsOf(kind).hints }, value)
          : [],
      );
    }
    const document = keptDocument(entry.yaml, this.#file);
    const { metadata, spec } = this.#shared.share(checked.data);
    const object: DesiredObject = {
      key,
      kind,
      ...identity,
      annotations: metadata.annotations,
      labels: metadata.labels,
      spec,
      location,
      document,
    };
    this.#documents.push({ is: 'object', id: key, location, object });
  }

  #data(entry: Entry, kind: 'Secret' | 'ConfigMap'): void {
    const { value } = entry.yaml;
    const identity = identityOf(entry.yaml.value, faultsAt(entry));
    if (typeof identity === 'string') return this.#unnamed(entry, identity);
    const name = `${identity.namespace}/${identity.name}`;
    const findings: Finding[] = [];
    const encrypted = isEncrypted(value)
      ? encryptedFinding(value, this.#file, kind === 'Secret' ? name : undefined)
      : undefined;
    if (encrypted) findings.push(encrypted);
    const data = encrypted ? undefined : dataOf[kind](value, findings);
    this.#report(entry, entry.faults, undefined);
    if (!entry.yaml.broken) this.#find(entry, findings, undefined);
    this.#documents.push({
      is: 'data',
      id: `${kind}/${name}`,
      kind,
      name,
      location: this.#locate(entry, []),
      data: entry.faults.length > 0 ? undefined : data,
      isEncrypted: encrypted !== undefined,
    });
  }

  /** A kind that is not read. It is foreign, of a later version, or misspelt. */
  #other(entry: Entry, kind: string, version: unknown): void {
    const meant = nearest(kind, managedKinds) ?? calledElsewhere(kind);
    const shownKind = printable(kind, 80);
    if (typeof version !== 'string') {
      this.#unidentified(
        entry,
        ['apiVersion'],
        'is missing',
        `add it (${apiVersion} for kinds of fleetkeeper)`,
      );
    } else if (nearest(kind, managedKinds) !== undefined || version.startsWith(`${group}/`)) {
      const remedy = meant ? `did you mean \`${meant}\`?` : `write one of ${readKinds}`;
      this.#unidentified(entry, ['kind'], `unknown kind \`${shownKind}\` of ${group}`, remedy);
    } else {
      const message = `${printable(version, 80)} ${shownKind} is not a kind that fleetkeeper reads`;
      const remedy = meant
        ? `for the same at the provider, write a ${meant}; else move the document out of the folder`
        : `it reads ${readKinds}; move the document out of the folder`;
      this.#foreign(entry, message, remedy);
    }
  }

  #foreign(entry: Entry, message: string, remedy: string): void {
    this.#find(entry, [{ path: ['kind'], message, remedy }], undefined);
  }

  #unnamed(entry: Entry, field: 'name' | 'namespace'): void {
    const advice = identityAdvice(entry.yaml.value, field);
    if (advice) return this.#unidentified(entry, ['metadata', field], ...advice);
    // What makes it doubtful is reported.
    this.#complete = false;
    this.#report(entry, entry.faults, undefined);
  }

  #unidentified(entry: Entry, path: Path, message: string, remedy: string): void {
    this.#complete = false;
    const reported = this.#report(entry, entry.faults, undefined);
    // In a text that is not YAML, missing fields are a consequence.
    if (!entry.yaml.broken || reported.length === 0)
      this.#find(entry, [{ path, message, remedy }], undefined);
  }

  /** The paths of faults and problems both start at the document. */
  #report(entry: Entry, faults: readonly Fault[], key: ObjectKey | undefined): Problem[] {
    return this.#keep(
      faults.map((fault) => {
        const inside = fault.path?.slice(entry.prefix.length);
        const path = inside && [...entry.prefix, ...showable(inside, entry.yaml.value)];
        return this.#problem(fault.line, path, fault.message, fault.remedy, key);
      }),
    );
  }

  #find(entry: Entry, findings: readonly Finding[], key: ObjectKey | undefined): Problem[] {
    return this.#keep(
      findings.map(({ path, message, remedy }) =>
        this.#problem(lineAt(entry.yaml, path), [...entry.prefix, ...path], message, remedy, key),
      ),
    );
  }

  #keep(problems: Problem[]): Problem[] {
    const room = Math.max(0, limits.problemsPerFile - this.#problems.length);
    this.#problems.push(...problems.slice(0, room));
    this.#omitted += Math.max(0, problems.length - room);
    return problems;
  }

  #problem(
    line: number,
    path: Path | undefined,
    message: string,
    remedy: string,
    key: ObjectKey | undefined,
  ): Problem {
    const shown = path === undefined || path.length === 0 ? undefined : printable(pathText(path));
    return { file: this.#file, line, path: shown, message, remedy, key };
  }

  #locate(entry: Entry, path: Path): Location {
    return { file: this.#file, line: lineAt(entry.yaml, path) };
  }
}

const dataOf = { Secret: secretData, ConfigMap: configMapData } as const;

const readKinds = `${managedKinds.join(', ')} (${apiVersion}), Secret and ConfigMap (v1)`;

/** The kind for what other tools call so. */
function calledElsewhere(kind: string): ManagedKind | undefined {
  return managedKinds.find((name) => traitsOf(name).alsoCalled?.includes(kind));
}

function isManaged(kind: string): kind is ManagedKind {
  return (managedKinds as readonly string[]).includes(kind);
}

/** A fault without a path concerns every item. One with a path concerns the items in it. */
function concerns(fault: Fault, depth: number, path: Path): boolean {
  const inside = fault.path?.slice(depth);
  return (
    inside === undefined || path.every((part, index) => index >= inside.length || inside[index] === part)
  );
}

/** Whether a field of the entry has a fault of its own. */
function faultsAt({ faults, prefix }: Entry): (path: string) => boolean {
  return (path) => faults.some((fault) => fault.path && pathText(fault.path.slice(prefix.length)) === path);
}

function isComposeFile(value: Readonly<Record<string, unknown>>): boolean {
  return isPlainMap(value['services']) && value['apiVersion'] === undefined;
}

function versionFinding(version: unknown): Finding {
  const shown = typeof version === 'string' ? `: \`${printable(version, 80)}\`` : '';
  const message = version === undefined ? 'is missing' : `is not a version that fleetkeeper reads${shown}`;
  return { path: ['apiVersion'], message, remedy: `write \`apiVersion: ${apiVersion}\`` };
}
