/** Content of the API document for each endpoint of §4, beyond what its route validates. */
import { z } from 'zod';
import * as answers from './answers.ts';

export const tags = {
  Catalog: 'What is offered, to everybody',
  Account: 'The caller, its balance, and everything that it has',
  Services: 'Containers: creation, patches, lifecycle, activities',
  Containers: 'What is seen and done inside of a running service',
  Volumes: 'Storage that exists without compute',
  Templates: 'Reusable configurations',
  Registries: 'Pull access to private repositories',
} as const;

export interface Endpoint {
  readonly id: string;
  readonly tag: keyof typeof tags;
  readonly summary: string;
  /** The section of the contract. */
  readonly contract: string;
  readonly status: 200 | 201;
  readonly answer: z.ZodType;
  /** Of the answer; default JSON. */
  readonly mediaType?: 'text/plain';
}

/** By method and path, as the routes are written. */
export const endpoints: Readonly<Record<string, Endpoint>> = {
  'GET /api/catalog': {
    id: 'getCatalog',
    tag: 'Catalog',
    summary: 'Regions, built-in templates, GPU models, prices',
    contract: '§4, §2 "Catalog object"',
    status: 200,
    answer: answers.catalog,
  },
  'GET /api/me': {
    id: 'getIdentity',
    tag: 'Account',
    summary: 'Who calls',
    contract: '§4, §5',
    status: 200,
    answer: answers.identity,
  },
  'GET /api/account': {
    id: 'getAccount',
    tag: 'Account',
    summary: 'Balance, services, volumes and the newest ledger entries',
    contract: '§4 rule 1, §2 "Account object"',
    status: 200,
    answer: answers.account,
  },
  'GET /api/registries': {
    id: 'listRegistries',
    tag: 'Registries',
    summary: 'All image registries, oldest first',
    contract: '§4, §2 "Image registry"',
    status: 200,
    answer: z.looseObject({ registries: z.array(answers.registry) }),
  },
  'POST /api/registries': {
    id: 'createRegistry',
    tag: 'Registries',
    summary: 'Store pull access to one repository; needs a verified email',
    contract: '§4, §2 "Image registry", §5 rule 4, §8',
    status: 201,
    answer: answers.registry,
  },
  'PUT /api/registries/:id': {
    id: 'rotateRegistry',
    tag: 'Registries',
    summary: 'Replace the credentials for future launches; needs a verified email',
    contract: '§4 rules 3 and 5, §2 "Image registry", §5 rule 4',
    status: 200,
    answer: answers.registry,
  },
  'DELETE /api/registries/:id': {
    id: 'deleteRegistry',
    tag: 'Registries',
    summary: 'Delete pull access that only sleeping services are linked to',
    contract: '§4, §3 rule 6',
    status: 200,
    answer: answers.deletion,
  },
  'POST /api/services': {
    id: 'createService',
    tag: 'Services',
    summary: 'Create a service; needs a verified email, funds and capacity',
    contract: '§4 rule 2, §2 "Service create spec", §3 rule 2, §5 rule 4',
    status: 201,
    answer: answers.service,
  },
  'GET /api/services/:id': {
    id: 'getService',
    tag: 'Services',
    summary: 'One service',
    contract: '§4, §2 "Service"',
    status: 200,
    answer: z.looseObject({ service: answers.service }),
  },
  'PATCH /api/services/:id': {
    id: 'patchService',
    tag: 'Services',
    summary: 'Change image, command, environment or port; may restart processes, needs a verified email',
    contract: '§4 rules 2 and 3, §2 "Service patch"',
    status: 200,
    answer: answers.service,
  },
  'POST /api/services/:id/actions': {
    id: 'actOnService',
    tag: 'Services',
    summary: 'Start, stop, restart, resize or delete; resources with resize only',
    contract: '§4, §2 "Service action", §3 rules 1 to 3',
    status: 200,
    answer: answers.service,
  },
  'PATCH /api/services/:id/sleep': {
    id: 'setSleepPolicy',
    tag: 'Services',
    summary: 'After how many idle minutes the service sleeps; null: never',
    contract: '§4, §8',
    status: 200,
    answer: answers.service,
  },
  'GET /api/services/:id/events': {
    id: 'listEvents',
    tag: 'Services',
    summary: 'What happened to the service, newest first, at most 100',
    contract: '§4, §6 rule 1, §2 "Service event"',
    status: 200,
    answer: z.looseObject({ events: z.array(answers.event).max(100) }),
  },
  'GET /api/services/:id/metrics': {
    id: 'getMetrics',
    tag: 'Containers',
    summary: 'Use of resources over the last 15, 60 or 360 minutes',
    contract: '§4, §8',
    status: 200,
    answer: answers.metrics,
  },
  'GET /api/services/:id/logs': {
    id: 'getLogs',
    tag: 'Containers',
    summary: 'What the containers have written, oldest first',
    contract: '§4',
    status: 200,
    answer: z.string(),
    mediaType: 'text/plain',
  },
  'POST /api/services/:id/exec': {
    id: 'execInService',
    tag: 'Containers',
    summary: 'Run a command; the same key never runs it twice',
    contract: '§4 rule 8',
    status: 200,
    answer: answers.executionResult,
  },
  'GET /api/services/:id/activity': {
    id: 'listActivities',
    tag: 'Services',
    summary: 'The unreleased tasks that protect the service, oldest first',
    contract: '§4 rule 6',
    status: 200,
    answer: z.looseObject({ activities: z.array(answers.activity) }),
  },
  'POST /api/services/:id/activity': {
    id: 'recordActivity',
    tag: 'Services',
    summary: 'Register a task, keep it fresh, release it; each time with a new key',
    contract: '§4 rule 6, §2 "Activity record", §6 rule 2',
    status: 200,
    answer: answers.activityReceipt,
  },
  'POST /api/services/:id/browser-session': {
    id: 'openBrowserSession',
    tag: 'Containers',
    summary: 'A private address of a browser session, where these are offered',
    contract: '§4 rule 7',
    status: 200,
    answer: answers.browserSession,
  },
  'GET /api/templates': {
    id: 'listTemplates',
    tag: 'Templates',
    summary: 'The built-in ones, then those of the account',
    contract: '§4, §2 "Template"',
    status: 200,
    answer: z.looseObject({ templates: z.array(answers.template) }),
  },
  'POST /api/templates': {
    id: 'createTemplate',
    tag: 'Templates',
    summary: 'Create a template; what is omitted takes its default',
    contract: '§4, §2 "Template", §8',
    status: 201,
    answer: answers.template,
  },
  'PUT /api/templates/:id': {
    id: 'replaceTemplate',
    tag: 'Templates',
    summary: 'Replace the whole specification; services are left alone',
    contract: '§4 rules 3 and 4, §2 "Template update body"',
    status: 200,
    answer: answers.template,
  },
  'DELETE /api/templates/:id': {
    id: 'deleteTemplate',
    tag: 'Templates',
    summary: 'Delete a template; services are left alone',
    contract: '§4 rules 3 and 4',
    status: 200,
    answer: answers.deletion,
  },
  'POST /api/volumes': {
    id: 'createVolume',
    tag: 'Volumes',
    summary: 'Create an independent volume; needs a verified email and funds',
    contract: '§4, §2 "Volume create spec", §5 rule 4, §8',
    status: 201,
    answer: answers.volume,
  },
  'GET /api/volumes': {
    id: 'listVolumes',
    tag: 'Volumes',
    summary: 'All volumes, those of services included',
    contract: '§4, §2 "Volume"',
    status: 200,
    answer: z.looseObject({ volumes: z.array(answers.volume) }),
  },
  'GET /api/volumes/:id': {
    id: 'getVolume',
    tag: 'Volumes',
    summary: 'One volume',
    contract: '§4, §2 "Volume"',
    status: 200,
    answer: z.looseObject({ volume: answers.volume }),
  },
  'PATCH /api/volumes/:id': {
    id: 'updateVolume',
    tag: 'Volumes',
    summary: 'Rename or grow: at least one of name and sizeGb; needs a verified email',
    contract: '§4 rule 3, §2 "Volume update body", §3 rule 5, §5 rule 4',
    status: 200,
    answer: answers.volume,
  },
  'DELETE /api/volumes/:id': {
    id: 'deleteVolume',
    tag: 'Volumes',
    summary: 'Delete an unattached independent volume, and its files',
    contract: '§4 rule 9, §3 rule 4',
    status: 200,
    answer: answers.volumeDeletion,
  },
};
