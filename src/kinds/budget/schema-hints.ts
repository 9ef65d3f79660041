/** Names that people write at first, and what a Budget has instead. */
const limits = 'write it under `limits`, in micro-USD: $15 an hour is `limits: {hourlyMicros: 15000000}`';

export const budgetHints: Readonly<Record<string, string>> = {
  'spec.hourly': limits,
  'spec.hourlyMicros': limits,
  'spec.monthly': limits,
  'spec.monthlyMicros': limits,
  'spec.limit': limits,
  'spec.amount': limits,
  'spec.matchLabels': 'write `selector: {matchLabels: {...}}`',
  'spec.labels': 'write `selector: {matchLabels: {...}}`',
  'spec.account': 'write `accountRef: {name: ACCOUNT}`',
};
