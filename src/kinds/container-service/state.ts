/** What is remembered of a ContainerService. */
import { z } from 'zod';
import type { KindStateDeclaration } from '../../resources/parts/kind-state.ts';
import type { TemplateValues } from '../service-template/schema.ts';

const schema = z.object({
  /** Why Fleetkeeper paused the service. That pause is not drift. */
  pausedFor: z.enum(['VolumeExpansion', 'Budget']).optional(),
  /** The independent volume that was made together with the service and has no object of its own. */
  madeVolumeId: z.string().optional(),
  /** The storage that was made with the service. Undefined: it was found, or an earlier version made it. */
  storageMade: z.enum(['own', 'independent', 'none']).optional(),
  /** Of that creation: a keyed digest of the storage that it asked for. An earlier version keeps both when it makes the service anew. */
  storageMadeFor: z.string().optional(),
  /**
   * Consecutive restarts by remediation: their number, the time of the last one (Unix milliseconds) and the generation of
   * the object.
   */
  remediation: z.object({ restarts: z.number(), at: z.number(), generation: z.number() }).optional(),
  /**
   * The values that the service copied from its template. Later changes of the template don't reach the service by
   * themselves.
   */
  template: z.object({ name: z.string(), values: z.custom<TemplateValues>(isMap) }).optional(),
  /**
   * While its fleet drains it: whether something in it is protected, and by what. `readAt`: of the first read that showed it
   * so (Unix milliseconds).
   */
  activities: z.object({ readAt: z.number(), by: z.string().optional() }).optional(),
  /** Keyed digests of the values of the variables, and `of`: of the environment that has them. */
  variables: z.object({ of: z.string(), digests: z.record(z.string(), z.string()) }).optional(),
});

export type ServiceState = Readonly<z.output<typeof schema>>;

export const serviceState: KindStateDeclaration<ServiceState> = {
  schema,
  madeWithKey: ['storageMadeFor', 'template', 'variables'],
  withIds: ({ madeVolumeId: id, ...state }, canonical) => ({
    ...state,
    ...(id === undefined ? {} : { madeVolumeId: canonical(id) }),
  }),
  hasClaims: ({ madeVolumeId }) => madeVolumeId !== undefined,
  // That it owns storage only asks for more consent, whoever wrote it.
  withoutClaims: ({ storageMade, ...state }) => ({
    ...state,
    madeVolumeId: undefined,
    storageMade: storageMade === 'own' ? storageMade : undefined,
  }),
};

function isMap(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}
