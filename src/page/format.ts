/** Numbers and times as people read them. Pure. */

const hourMs = 3_600_000;

/** `$1.94`; small amounts with four places, so that they are not nothing. In a column, `places` are those of `placesOf`. */
export function usd(micros: number, places = placesOf([micros])): string {
  // More than that is no sum of money, and would fill the page.
  if (Math.abs(micros) > Number.MAX_SAFE_INTEGER) return `over ${usd(Number.MAX_SAFE_INTEGER, places)}`;
  const amount = Math.abs(micros) / 1_000_000;
  const text = amount.toLocaleString('en-US', {
    minimumFractionDigits: places,
    maximumFractionDigits: places,
  });
  return `${micros < 0 ? '−' : ''}$${text}`;
}

/** How many decimals the amounts of one column have, so that their points are below each other: as many as one of them needs. */
export function placesOf(column: readonly (number | null)[]): number {
  return column.some((micros) => micros !== null && micros !== 0 && Math.abs(micros) < 100_000) ? 4 : 2;
}

/** `42 s`, `3 min`, `2 h 5 min`, `4 d 3 h` */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return withRest(hours, 'h', minutes % 60, 'min');
  return withRest(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

function withRest(count: number, unit: string, rest: number, restUnit: string): string {
  return rest === 0 ? `${count} ${unit}` : `${count} ${unit} ${rest} ${restUnit}`;
}

/** The time of the day, or with the date if it is another day; in the reader's zone. */
export function clockTime(atMs: number, nowMs: number, timeZone?: string, isExact = false): string {
  const zone = timeZone === undefined ? {} : { timeZone };
  const date = new Date(atMs);
  const day = (ms: number) => new Date(ms).toLocaleDateString('en-CA', zone);
  const time = date.toLocaleTimeString('en-GB', {
    ...zone,
    hour: '2-digit',
    minute: '2-digit',
    ...(isExact ? { second: '2-digit' } : {}),
  });
  if (day(atMs) === day(nowMs)) return time;
  const isNear = Math.abs(atMs - nowMs) < 300 * 24 * hourMs;
  const shown = date.toLocaleDateString('en-GB', {
    ...zone,
    day: 'numeric',
    month: 'short',
    ...(isNear ? {} : { year: 'numeric' }),
  });
  return `${shown}, ${time}`;
}

/** As a field of the browser for a date and a time takes it: `2026-11-27T14:12`, in the reader's zone. Nothing of no time. */
export function fieldTime(atMs: number, timeZone?: string): string {
  if (!Number.isFinite(atMs)) return '';
  const zone = timeZone === undefined ? {} : { timeZone };
  // Of Sweden, because there dates are written as in ISO 8601.
  return new Date(atMs).toLocaleString('sv-SE', zone).slice(0, 16).replace(' ', 'T');
}

/** The time that such a field has; undefined: it has none. */
export function timeOfField(text: string, timeZone?: string): number | undefined {
  const asUtc = Date.parse(`${text}Z`);
  if (Number.isNaN(asUtc)) return undefined;
  const offsetAt = (ms: number) => Date.parse(`${fieldTime(ms, timeZone)}Z`) - ms;
  // The zone may have another offset then than at the same time of UTC.
  return asUtc - offsetAt(asUtc - offsetAt(asUtc));
}

/** `+20 %`, `−5 %` */
export function changeText(before: number, after: number): string {
  if (before <= 0) return '';
  const share = Math.round((100 * (after - before)) / before);
  return `${share < 0 ? '−' : '+'}${Math.abs(share).toLocaleString('en-US')} %`;
}

/** `4 GPU, 16 CPU, 128 GB` */
export function sizeText(size: {
  readonly gpuCount?: number;
  readonly cpu?: number;
  readonly memoryGb?: number;
  readonly storageGb?: number;
}): string {
  const { gpuCount = 0, cpu = 0, memoryGb = 0, storageGb = 0 } = size;
  const parts = [
    [gpuCount, 'GPU'],
    [cpu, 'CPU'],
    [memoryGb, 'GB'],
    [storageGb, 'GB of storage'],
  ] as const;
  return parts
    .filter(([amount]) => amount > 0)
    .map(([amount, unit]) => `${amount} ${unit}`)
    .join(', ');
}

export function upperFirst(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}

/** `1 object`, `2 objects`, `1,200 objects` */
export function counted(count: number, noun: string, nouns = `${noun}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? noun : nouns}`;
}

export function percent(part: number, whole: number): string {
  return whole <= 0 ? '–' : `${Math.floor((100 * part) / whole)} %`;
}

/** `640 B`, `12 KiB`, `3.4 MiB` */
export function bytes(count: number): string {
  if (count < 1024) return `${count} B`;
  const kib = count / 1024;
  return kib < 1024 ? `${Math.round(kib)} KiB` : `${(kib / 1024).toFixed(1)} MiB`;
}
