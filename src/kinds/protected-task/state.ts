/** What is remembered of a ProtectedTask. */
import { z } from 'zod';
import type { KindStateDeclaration } from '../../resources/parts/kind-state.ts';

const registration = z.object({
  serviceId: z.string(),
  /** The uid of the object. After somebody else released it, a new activity needs another id. */
  activityId: z.string(),
  /** The Idempotency-Key of the release. */
  releaseKey: z.string(),
});

const schema = z.object({
  /** Its activity, if one is or may be registered. */
  registration: registration.optional(),
  /** Unix milliseconds at which the API confirmed the release of its activity. */
  releasedAt: z.number().optional(),
});

export type TaskState = Readonly<z.output<typeof schema>>;
export type Registration = Readonly<z.output<typeof registration>>;

export const taskState: KindStateDeclaration<TaskState> = {
  schema,
  earlierNames: { registration: 'lease' },
  withIds: ({ registration: known, ...state }, canonical) => ({
    ...state,
    ...(known ? { registration: { ...known, serviceId: canonical(known.serviceId) } } : {}),
  }),
  /** An activity with another id may be somebody else's. */
  unsigned: ({ registration: known, ...state }, uid) =>
    known?.activityId === uid ? { ...state, registration: known } : state,
  registered: ({ registration: known, releasedAt }) =>
    known && { serviceId: known.serviceId, isReleased: releasedAt !== undefined },
};
