/**
 * JSON in the one form that RFC 8785 defines: no white space, members sorted by the UTF-16 code units of their names, numbers and
 * texts as ECMAScript writes them. Members that are undefined are left out.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(',')}]`;
  if (typeof value === 'number' && !Number.isFinite(value)) throw new TypeError(`JSON has no ${value}`);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  // An object would have names such as "10" in an order of its own, so they are sorted as text and written one by one.
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(',')}}`;
}
