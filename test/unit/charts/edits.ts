/** Changes of a text that must be where they are expected: else a manifest has changed, and its template has to be thought about again. */

export interface Edit {
  readonly from: string | RegExp;
  readonly to: string;
  /** How often `from` is there; default once. */
  readonly times?: number;
}

export function edited(file: string, text: string, edits: readonly Edit[]): string {
  return edits.reduce((before, { from, to, times = 1 }) => {
    const found =
      typeof from === 'string' ? before.split(from).length - 1 : [...before.matchAll(from)].length;
    if (found !== times) throw new Error(`${file} has ${String(from)} ${found} times, not ${times}`);
    // Only patterns have groups that `to` may name.
    return typeof from === 'string' ? before.replaceAll(from, () => to) : before.replace(from, to);
  }, text);
}

/** Texts of alerts and descriptions have braces, too. */
export function literally(text: string): string {
  return text.replaceAll('{{', () => '{{ "{{" }}');
}

/** In the namespace of the release, as kustomize places what has a namespace. Its name may be a number. */
export function placed(text: string): string {
  return text
    .split(/^---\n/m)
    .map((document) =>
      /^kind: Cluster/m.test(document)
        ? document
        : document.replace(
            /^metadata:\n( {2}name: .*\n)/m,
            (_, name: string) => `metadata:\n${name}  namespace: {{ $.Release.Namespace | quote }}\n`,
          ),
    )
    .join('---\n')
    .replaceAll('namespace: fleetkeeper-system', () => 'namespace: {{ $.Release.Namespace | quote }}');
}

export function when(condition: string, text: string): string {
  return `{{- if ${condition} }}\n${text.trimEnd()}\n{{- end }}\n`;
}
