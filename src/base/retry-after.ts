const retryAfterLimitsMs = { shortest: 1000, longest: 3_600_000 };

/**
 * The header `Retry-After` (seconds or an HTTP date) in milliseconds, held between 1 s and 1 h. Undefined when the header
 * is missing or makes no sense.
 */
export function parseRetryAfter(header: string | undefined, wallMs: number): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  const delayMs = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - wallMs;
  if (!Number.isFinite(delayMs)) return undefined;
  return Math.min(Math.max(delayMs, retryAfterLimitsMs.shortest), retryAfterLimitsMs.longest);
}
