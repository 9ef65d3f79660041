/** Quantities of Kubernetes (`500m`, `1Gi`, `2e3`), as numbers. */

const form = /^([+-]?\d*\.?\d+(?:[eE][+-]?\d+)?|[+-]?\d+\.)([numkMGTPE]|[KMGTPE]i)?$/;
const factors: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** 0 for what is no quantity. */
export function amountOf(text: unknown): number {
  if (typeof text === 'number') return Number.isFinite(text) ? text : 0;
  const [, digits, suffix] = form.exec(typeof text === 'string' ? text : '') ?? [];
  if (digits === undefined) return 0;
  return Number(digits) * (suffix === undefined ? 1 : (factors[suffix] ?? 1));
}
