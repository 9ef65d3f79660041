/** Names that people write at first, and what a Notification has instead. */
const inSecret = 'write it into a Secret, and `urlFrom: {secretKeyRef: {name: SECRET, key: KEY}}` here';
const inSink = 'write it under `sink`, as in `sink: {webhook: {urlFrom: ...}}`';

export const notificationHints: Readonly<Record<string, string>> = {
  'spec.url': inSecret,
  'spec.webhook': inSink,
  'spec.slack': inSink,
  'spec.sink.url': inSecret,
  'spec.sink.webhook.url': inSecret,
  'spec.sink.slack.url': inSecret,
  'spec.sink.webhook.signingKey': 'write `signingKeyFrom: {secretKeyRef: {name: SECRET, key: KEY}}`',
  'spec.sink.pagerduty': 'use `webhook`, or the alerts of Prometheus',
  'spec.sink.email': 'use `webhook`, or the alerts of Prometheus',
  'spec.severity': 'write `match: {severities: [critical]}`',
  'spec.severities': 'write `match: {severities: [critical]}`',
  'spec.kinds': 'write `match: {kinds: [ServiceFleet]}`',
  'spec.selector': 'write `match: {labels: {matchLabels: {...}}}`',
};
