/** Dialects that wait for an item of the work under way: they are not judged, and not drawn, until it is there. */
export const pending: ReadonlySet<string> = new Set([
  // A6
  'reads-lag-20s',
  'reads-lag-45s',
]);
