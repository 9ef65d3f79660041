/**
 * Whether `candidate` is a later version of an object than `current`. Kubernetes' versions are growing numbers,
 * comparable since 1.35 by contract and before that in fact. If a server has other values, the candidate counts as
 * later when it differs.
 */
export function newerVersion(candidate: string, current: string): boolean {
  if (isNumber(candidate) && isNumber(current)) {
    return candidate.length === current.length ? candidate > current : candidate.length > current.length;
  }
  return candidate !== current;
}

function isNumber(text: string): boolean {
  return /^(0|[1-9]\d*)$/.test(text);
}
