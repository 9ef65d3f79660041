export { askedByText, whyOf, whyText, type Askers } from './why.ts';
export { heldByOwner } from './owner-gate.ts';
export { brakeWindowMs, isMassChange, isSuspiciousRead, massChangeLimit } from './brake.ts';
export { variableChanges, type VariableChanges } from './variables.ts';
export { additionText, differenceText, shortened, valueText } from './difference-text.ts';
export {
  byRank,
  givesWayTo,
  limitText,
  passedLimits,
  sheddingLimits,
  priorityOf,
  reached,
  roomOf,
  unknownPrices,
  type BudgetFigures,
  type Claim,
  type Room,
} from './budget.ts';
export {
  costsLessFrom,
  courseSteps,
  forecast,
  type Course,
  type CourseStep,
  type Forecast,
} from './forecast.ts';
export {
  nothingShed,
  planShedding,
  type SheddingInputs,
  type SheddingPlan,
  type ShedMember,
} from './shedding.ts';
export {
  amountOf,
  countingRules,
  firstTally,
  microsOf,
  observedMicros,
  readTally,
  storedAfterMs,
  storedTally,
  tallied,
  type Tally,
  type TallyRead,
  type TallyRules,
} from './tally.ts';
export {
  afterGrant,
  afterRefusal,
  afterSighting,
  capacityPauseMs,
  capacityText,
  demandKey,
  firstsOf,
  nextInLine,
  turnOf,
  turnText,
  type Asking,
  type Capacity,
  type CapacityDemand,
  type Turn,
  type Waiting,
} from './capacity.ts';
export { catalogGate, concernsCatalog, type Placement } from './catalog.ts';
export { describeCause, newDrift, nothingVisible, withCauses } from './cause.ts';
export {
  correctionPause,
  keepsChangingReason,
  unsettled,
  withCorrection,
  withoutCorrection,
} from './corrections.ts';
export { leftIds, withLeft, withMissing, withoutLeft } from './left.ts';
export { dataLossConfirmed, hasVanished, planLifecycle, proceed } from './lifecycle.ts';
export {
  appliedAtCreation,
  compareFields,
  fieldDigests,
  geographyField,
  hidden,
  isDrift,
  isFormOfName,
  isOnlyReported,
  isRemoved,
  isSameRegion,
  possibleForms,
  regionField,
  rememberedDigests,
  shownDigests,
  type Field,
} from './differences.ts';
export { reportsUnrecorded, withUnrecorded } from './unrecorded.ts';
export {
  driftSignature,
  holdForMassDrift,
  massDriftReason,
  massDriftWindowMs,
  type DriftBrake,
  type MassDrift,
} from './drift-brake.ts';
export { describedDuplicate, type DescribedDuplicate } from './duplicates.ts';
export { identityName, judgeIdentity, identifies, withoutKey, type IdentityVerdict } from './identity.ts';
export { isSameImage } from './image-form.ts';
export type { DesiredCredentials, DesiredEnvironment, PlannedObject } from './inputs.ts';
export { leavableFields, remedies } from './leavable-fields.ts';
export {
  burnMicrosPerHour,
  clampedMicros,
  freshnessGate,
  holdsCompute,
  increaseGate,
  increasesOf,
  priceOf,
  runwaySeconds,
  serviceBurn,
  spendingGate,
  verificationGate,
  volumeBurn,
  type Funds,
  usdOf,
} from './money.ts';
export { originHold, type OriginHold } from './origin.ts';
export {
  beaconName,
  compactUid,
  derivedUid,
  markedUid,
  describedWithMark,
  environmentDigest,
  ownerId,
  parseBeacon,
  readMark,
  readTemplateMark,
  readVolumeMark,
  templateMark,
  volumeMark,
  volumeMarkId,
  volumeMarkStart,
  withoutTemplateMark,
  withVolumeMark,
  type Owner,
} from './ownership.ts';
export {
  askedMicros,
  catalogPrices,
  costOf,
  demandText,
  estimate,
  free,
  increaseMicros,
  mayShowSamePrice,
  priceKey,
  weakest,
  type Charge,
  type Cost,
  type Demand,
  type Place,
  type PriceBook,
  type Pricing,
  type UnitPrices,
} from './prices.ts';
export { protectedReason } from './protected.ts';
export { quotas, type Quota } from './quotas.ts';
export type { RosterContent, RosterMoves, RosterPlan } from './roster-plan.ts';
export { remediationReason } from './restarts.ts';
export { baselineNow, distrust, isRegressed, lagMs, observed, seenInAnswer, unusableReason } from './seen.ts';
export { passingStates, settledStates, waitInUnknownState } from './service-states.ts';
export { left, settle, type Verdict } from './settle.ts';
export { deadlineState, localTime, type AccountTime, type TaskTime } from './deadline.ts';
export { jobState, taskEnd, type JobAnswer, type JobState, type TaskEnd } from './task-end.ts';
export { providerText } from './provider-text.ts';
export {
  holdFor,
  inSync,
  recheckMs,
  shut,
  spendingGateOf,
  waitFor,
  activitiesFreshMs,
  type Act,
  type Arrange,
  type Action,
  type ActionName,
  type Difference,
  type Gate,
  type Gates,
  type Hold,
  type InSync,
  type Observation,
  type OwnedChange,
  type Plan,
  type RegistryCredentials,
  type Step,
  type Wait,
} from './types.ts';
export { isUnforeseen } from './unforeseen.ts';
