/**
 * Reasons of plans that were made without a look at the object: they neither find drift nor see it gone, so what was told of
 * that stays. `passing`: a look comes by itself, in seconds; for `lasting` ones nobody knows how the object is meanwhile.
 */
import type { Plan } from '../plan/index.ts';

type Blindness = 'passing' | 'lasting';

const unobserved: Readonly<Record<string, Blindness>> = {
  // The look is under way, or could not be made now.
  ActivitiesUnreadable: 'passing',
  AwaitingObservation: 'passing',
  ConfirmingAbsence: 'passing',
  OutcomeUnknown: 'passing',
  ReadsDisagree: 'passing',
  StaleRead: 'passing',
  Unreadable: 'passing',
  // There is no account to look into.
  AccountInvalid: 'lasting',
  AccountNotFound: 'lasting',
  ApiUnreachable: 'lasting',
  ContractDrift: 'lasting',
  CredentialMissing: 'lasting',
  CredentialRejected: 'lasting',
  IdentityChanged: 'lasting',
  OriginChanged: 'lasting',
  OriginNotAllowed: 'lasting',
  // There is no document to compare with.
  InvalidAnnotation: 'lasting',
  InvalidSpec: 'lasting',
  Leaving: 'lasting',
  MassChangeBrake: 'lasting',
  SourceIncomplete: 'lasting',
  // What is shown says nothing, or is not ours.
  AdoptedTwice: 'lasting',
  AdoptionChanged: 'lasting',
  AdoptNotFound: 'lasting',
  AnswerUnreadable: 'lasting',
  MarkedTwice: 'lasting',
  OwnedByAnother: 'lasting',
  RevisionInvalid: 'lasting',
  RevisionRegressed: 'lasting',
};

/** Undefined: the plan rests on a look. One that shows differences does, whatever its reason. */
export function blindness(plan: Plan): Blindness | undefined {
  const mayBeBlind = (plan.kind === 'wait' || plan.kind === 'hold') && plan.differences.length === 0;
  return mayBeBlind ? unobserved[plan.reason] : undefined;
}
