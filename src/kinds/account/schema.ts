import { z } from 'zod';
import { withRules, type JsonSchema } from '../../resources/parts/constraints.ts';
import { credentialsHeader } from './schema-header.ts';
import { dataKey, kindSchema, objectName } from '../../resources/parts/fields.ts';
import { declaredPrices } from './schema-prices.ts';
import { refusalRules } from './schema-refusals.ts';

const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Whether the address is one of this machine. */
export function isLoopback(url: string): boolean {
  return URL.canParse(url) && loopback.test(new URL(url).hostname);
}

const problems = {
  noAddress: 'must be an address such as https://api.example.com',
  otherScheme: 'must start with https://',
  user: 'must not hold a user name or password',
  query: 'must not have a query or a fragment',
  withApi: 'is the base address, without /api',
  plain:
    'must be https; plain http is for loopback only, unless `insecure: true` states that the network is trusted',
} as const;

/** Why `url` can't be a base address, or undefined when it can. */
export function baseAddressProblem(url: string, insecure: boolean): string | undefined {
  if (!URL.canParse(url)) return problems.noAddress;
  const parsed = new URL(url);
  if (parsed.protocol !== 'https:' && parsed.protocol !== 'http:') return problems.otherScheme;
  if (parsed.username || parsed.password) return problems.user;
  if (parsed.search || parsed.hash) return problems.query;
  if (/\/api\/?$/.test(parsed.pathname)) return problems.withApi;
  if (parsed.protocol === 'http:' && !insecure && !loopback.test(parsed.hostname)) return problems.plain;
  return undefined;
}

/**
 * The same in CEL, a little stricter where the parser is generous. What no pattern can say is left to the process, which holds
 * the object: numbers that are no IP address, ports above 65535, what is no punycode.
 */
const addressRules = [
  {
    message: problems.noAddress,
    // User names and other schemes have rules of their own.
    rule: String.raw`!self.url.matches('[\\x00-\\x20]') && (self.url.matches('^[A-Za-z][A-Za-z0-9+.-]*://([^/?#]*@)?([A-Za-z0-9._-]|[^\\x00-\\x7F])+(:[0-9]{0,5})?([/?#]|$)') || self.url.matches('^[A-Za-z][A-Za-z0-9+.-]*://([^/?#]*@)?\\[[0-9A-Fa-f:.]+\\](:[0-9]{0,5})?([/?#]|$)'))`,
  },
  { message: problems.otherScheme, rule: `!self.url.contains('://') || self.url.matches('^(?i:https?)://')` },
  { message: problems.user, rule: `!self.url.matches('^[^/]*//[^/?#]*@')` },
  { message: problems.query, rule: `!self.url.contains('?') && !self.url.contains('#')` },
  { message: problems.withApi, rule: `!self.url.matches('^[^/]*//[^/]*/(.*/)?api/?$')` },
  {
    message: problems.plain,
    rule: String.raw`self.insecure || !self.url.matches('^(?i:http)://') || self.url.matches('^(?i:http)://(localhost|127([.][0-9]{1,3}){3}|\\[::1\\])(:[0-9]*)?([/?#]|$)')`,
  },
].map(({ message, rule }) => ({ rule, message, fieldPath: '.url' }));

/** For editors: the forms that the documentation has. */
const addressSchemas = [
  matching(String.raw`^[A-Za-z]+://[^/?#\s]+([/?#]|$)`, problems.noAddress),
  matching('^[Hh][Tt][Tt][Pp][Ss]?:|^(?![A-Za-z]+:)', problems.otherScheme),
  matching('^(?![^/]*//[^/?#]*@)', problems.user),
  matching('^[^?#]*$', problems.query),
  matching('^(?![^/]*//[^/]*/(.*/)?api/?$)', problems.withApi),
  {
    if: { properties: { insecure: { const: true } }, required: ['insecure'] },
    else: matching(
      String.raw`^(?![Hh][Tt][Tt][Pp]://(?!(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d*)?([/?#]|$)))`,
      problems.plain,
    ),
  },
];

const quietProblem = 'must not be less than pollSeconds';
const quietRule = {
  rule: '!has(self.quietPollSeconds) || self.quietPollSeconds >= self.pollSeconds',
  message: quietProblem,
  fieldPath: '.quietPollSeconds',
};

function matching(pattern: string, errorMessage: string): JsonSchema {
  return { properties: { url: { pattern, errorMessage } } };
}

const accountSpec = withRules(
  z
    .strictObject({
      url: z
        .string()
        .max(2048)
        .describe('Base address of the control API, without /api: https, or http for this machine only.'),
      insecure: z
        .boolean()
        .default(false)
        .describe('Allows plain http to other machines: the key can then be read on the way.'),
      credentialsSecretRef: z
        .strictObject({
          name: objectName.describe('A Secret of the same namespace.'),
          key: dataKey.describe('The key in it that holds the API key.'),
        })
        .optional()
        .describe('Where the API key is; default the key that the manager was given in its environment.'),
      credentialsHeader,
      requests: z
        .strictObject({
          perSecond: z.number().positive().max(1000).default(5).describe('The most requests per second.'),
          burst: z
            .int()
            .min(1)
            .max(10_000)
            .default(10)
            .describe(
              'How many may start at once after a rest. With 1 or 2, what starts late is not made up for.',
            ),
          concurrency: z.int().min(1).max(256).default(4).describe('How many may be under way.'),
        })
        .prefault({})
        .describe('The pace of requests to the API. A 429 makes it slower by itself.'),
      pollSeconds: z
        .number()
        .min(0.2)
        .max(3600)
        .default(15)
        .describe('How often the account is read, in seconds. One read serves everything in it.'),
      quietPollSeconds: z
        .number()
        .min(0.2)
        .max(3600)
        .optional()
        .describe(
          'When nothing has changed for ten minutes and nothing is under way, the interval doubles with each read, up to this; not less than ' +
            '`pollSeconds`, and with the same it stays as it is. Default 60, or `pollSeconds` if that is more.',
        ),
      visibilitySeconds: z
        .int()
        .min(1)
        .max(86_400)
        .default(600)
        .describe(
          'How long the API may not show something that was created, or may have been, before it counts as absent, in seconds. ' +
            'Until then it is not created a second time. The same applies to the activities of tasks.',
        ),
      minimumBalanceMicros: z
        .int()
        .optional()
        .describe(
          'Nothing is created, started or grown that would leave less than this, in micro-USD, of the balance after an hour of what is ' +
            'asked for and not shown yet; default: more than 0. Negative for an account that may be overdrawn.',
        ),
      prices: declaredPrices,
      refusals: refusalRules,
    })
    .superRefine((spec, context) => {
      const problem = baseAddressProblem(spec.url, spec.insecure);
      if (problem) context.addIssue({ code: 'custom', path: ['url'], message: problem });
      const { pollSeconds, quietPollSeconds = pollSeconds } = spec;
      if (quietPollSeconds < pollSeconds)
        context.addIssue({ code: 'custom', path: ['quietPollSeconds'], message: quietProblem });
    }),
  [...addressRules, quietRule],
  addressSchemas,
);
export type AccountSpec = z.infer<typeof accountSpec>;

export const accountDocument = kindSchema(
  'Account',
  accountSpec,
  'Where the control API is, and as whom it is used. Other objects of the namespace refer to it with accountRef.',
);

const usualQuietPollSeconds = 60;

/** How long the account rests between two reads at most, in seconds. */
export function longestPollSeconds({
  pollSeconds,
  quietPollSeconds = usualQuietPollSeconds,
}: Pick<AccountSpec, 'pollSeconds' | 'quietPollSeconds'>): number {
  return Math.max(pollSeconds, quietPollSeconds);
}
