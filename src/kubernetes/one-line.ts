/** Texts of others go into logs and Events: without line breaks and whatever else steers a terminal. */
export function oneLine(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is removed
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').trim();
}
