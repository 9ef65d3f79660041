/** Inputs of the planners of all kinds. */
import type { Sensitive } from '../../base/index.ts';
import type { OwnerGate } from '../../resources/index.ts';
import type { RegistryCredentials } from './types.ts';

export interface PlannedObject<Spec> {
  readonly name: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: Spec;
  readonly deleting: boolean;
  /** Its owner holds its changes back. */
  readonly gate?: OwnerGate | undefined;
  /** It needs no restart if its last one was for this token, and not for that of its spec. */
  readonly restartedFor?: string | undefined;
}

/** Why values that an object refers to can't be used. */
export type ReferenceReason = 'InvalidReference' | 'DuplicateSecret';

/** The desired environment, or why it can't be resolved. */
export type DesiredEnvironment =
  | { readonly kind: 'unmanaged' }
  | { readonly kind: 'given'; readonly values: Sensitive<Readonly<Record<string, string>>> }
  | {
      readonly kind: 'problem';
      /** `InvalidSpec`: it is too large. */
      readonly reason: ReferenceReason | 'InvalidSpec';
      readonly path: readonly (string | number)[];
      readonly message: string;
    }
  /** Values have changed that reach it only when its owner allows it: what it has is neither compared nor sent. */
  | { readonly kind: 'as-applied' };

/** The credentials of a registry, or why they can't be resolved. */
export type DesiredCredentials =
  | { readonly kind: 'unmanaged' }
  | { readonly kind: 'given'; readonly values: RegistryCredentials }
  | {
      readonly kind: 'problem';
      readonly reason: ReferenceReason;
      readonly path: readonly (string | number)[];
      readonly message: string;
    };
