/** The parameters of the read API. An unknown one is refused. */
import { z } from 'zod';
import { isReason } from '../../reasons/index.ts';
import { kindCalled, managedKinds, objectKey, type ObjectKey } from '../../resources/index.ts';
import { LabelSelectorError, parseLabelSelector } from '../../shown/label-selector.ts';
import { sorts } from '../fleet/sorted-rows.ts';
import { healths } from './parts.ts';

const short = z.string().max(256);
const limit = z
  .string()
  .regex(/^\d{1,3}$/, 'expected a number')
  .transform(Number)
  .pipe(z.int().min(1).max(200));
const cursor = z.string().max(1024).optional().describe('`next` of the page before.');
const name = z.string().max(253);

const kinds = z
  .string()
  .max(256)
  .transform((text, context) => {
    const found = text.split(',').map((called) => kindCalled(called));
    const unknown = found.indexOf(undefined);
    if (unknown >= 0) {
      const message = `${text.split(',')[unknown]} is no kind; kinds are ${managedKinds.join(', ')}`;
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    }
    return new Set(found.filter((kind) => kind !== undefined));
  });

const label = short.transform((text, context) => {
  try {
    return parseLabelSelector(text);
  } catch (error) {
    if (!(error instanceof LabelSelectorError)) throw error;
    context.addIssue({ code: 'custom', message: error.message });
    return z.NEVER;
  }
});

/** Of an object: `KIND/NAMESPACE/NAME`. */
export const key = z
  .string()
  .max(600)
  .transform((text, context): ObjectKey => {
    const [called = '', namespace = '', own = '', ...rest] = text.split('/');
    const kind = kindCalled(called);
    if (kind && namespace !== '' && own !== '' && rest.length === 0) return objectKey(kind, namespace, own);
    context.addIssue({ code: 'custom', message: 'expected KIND/NAMESPACE/NAME' });
    return z.NEVER;
  });

const account = z
  .string()
  .max(512)
  .regex(/^[^/]+\/[^/]+$/, 'expected NAMESPACE/NAME')
  .describe('NAMESPACE/NAME');

const time = z.iso
  .datetime({ offset: true })
  .transform((text) => Date.parse(text))
  .describe('RFC 3339.');

export const objectsQuery = z.strictObject({
  kind: kinds.optional().describe('One, or several with commas between them.'),
  namespace: name.optional(),
  reason: z.string().max(64).refine(isReason, 'no such reason; `fleetkeeper explain` lists all').optional(),
  health: z.enum(healths).optional(),
  account: account.optional(),
  fleet: key.optional().describe('The object that owns them, as KIND/NAMESPACE/NAME.'),
  label: label.optional().describe('A selector, as `kubectl -l` takes it.'),
  q: short.optional().describe('Text in name, reason, sentence, state, account or image.'),
  sort: z.enum(sorts).default('worst'),
  limit: limit.default(50),
  cursor,
});

export const problemsQuery = z.strictObject({ limit: limit.default(50), cursor });

export const treeQuery = z
  .strictObject({
    account: account.optional().describe('Only what is in it.'),
    fleet: z
      .string()
      .max(512)
      .regex(/^[^/]+\/[^/]+$/, 'expected NAMESPACE/NAME')
      .optional()
      .describe('Only this ServiceFleet, as NAMESPACE/NAME.'),
    depth: z
      .string()
      .regex(/^[1-6]$/, 'expected a number from 1 to 6')
      .transform(Number)
      .default(3),
  })
  .refine(({ account: one, fleet: other }) => one === undefined || other === undefined, {
    message: 'give account or fleet, not both',
  });

export const timelineQuery = z.strictObject({
  object: key.optional().describe('KIND/NAMESPACE/NAME'),
  account: account.optional(),
  from: time.optional(),
  to: time.optional(),
  limit: limit.default(100),
  cursor,
});

export const moneyQuery = z.strictObject({
  by: z
    .string()
    .max(320)
    .regex(/^(namespace|account|fleet|label=.+)$/, 'expected namespace, account, fleet, or label=KEY')
    .default('namespace'),
});

export const endpointsQuery = z.strictObject({
  format: z.enum(['json', 'prometheus']).default('json'),
});

export const noQuery = z.strictObject({});
