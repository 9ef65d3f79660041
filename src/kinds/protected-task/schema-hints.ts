/** What a task protects, and when it is over. */
const service = 'write `serviceRef: {name: NAME}` with the name of a ContainerService';

export const taskHints: Readonly<Record<string, string>> = {
  'spec.service': service,
  'spec.serviceName': service,
  'spec.serviceRef': service,
  'spec.deadline': 'write `until: {deadline: 2030-01-31T18:00:00Z}`',
  'spec.until': 'write `until: {deadline: 2030-01-31T18:00:00Z}`, or `until: {jobRef: {name: JOB}}`',
};
