import { expect } from 'vitest';
import type { Answer, Json } from './api.ts';
import { errorBody, listedStatuses } from './shapes.ts';

/** §7: refused, with one of the statuses that the contract lists and in its error form; which one is not shown. */
export function expectRefused(answer: Answer): void {
  expect(`${answer.status} ${answer.text}`).toMatch(listedStatuses);
  expect(errorBody.safeParse(answer.body).error?.message).toBeUndefined();
}

/** What of a service or a volume the contract names, to tell whether a refused request has changed it. */
export function knownFields(item: Json): Json {
  const { state, status, revision, resources, name, sizeGb, requestedSizeGb } = item;
  return { state, status, revision, resources, name, sizeGb, requestedSizeGb };
}
