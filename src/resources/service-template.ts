import { z } from 'zod';
import {
  accountRef,
  adopt,
  deletionPolicy,
  driftPolicy,
  httpPort,
  kindSchema,
  resources,
  sleepAfterMinutes,
  variableName,
} from './fields.ts';

/** Room left in a template's description for the line with the ownership mark. */
export const templateMarkLength = 64;
const longestDescription = 4096 - templateMarkLength;
const longestName = 128;

const requiredEnvironment = z
  .array(variableName)
  .max(256)
  .superRefine((names, context) => {
    for (const [index, name] of names.entries()) {
      if (names.indexOf(name) === index) continue;
      context.addIssue({ code: 'custom', path: [index], message: `the variable ${name} is named twice` });
    }
  });

const serviceTemplateSpec = z.strictObject({
  accountRef,
  templateName: z.string().min(1).max(longestName).optional(),
  description: z
    .string()
    .max(
      longestDescription,
      `at most ${longestDescription} characters: the ownership mark needs ${templateMarkLength} of 4096; shorten it`,
    )
    .optional(),
  image: z.string().min(1).max(1024),
  command: z.array(z.string()).max(1024).optional(),
  resources: resources.optional(),
  httpPort: httpPort.optional(),
  containerDiskGb: z.int().min(1).max(4096).optional(),
  workspaceGb: z.int().min(10).max(4096).optional(),
  sleepAfterMinutes: sleepAfterMinutes.optional(),
  requiredEnvironment: requiredEnvironment.optional(),
  driftPolicy,
  deletionPolicy: deletionPolicy.default('Delete'),
  adopt,
});
export type ServiceTemplateSpec = z.infer<typeof serviceTemplateSpec>;

/** What a template gives to the services that refer to it. */
export interface TemplateValues extends Partial<
  Pick<ServiceTemplateSpec, 'image' | 'command' | 'resources' | 'httpPort' | 'sleepAfterMinutes'>
> {
  readonly requiredEnvironment: readonly string[];
}

/** Without a `templateName`, the object's own name is the template's. */
export const serviceTemplate = kindSchema('ServiceTemplate', serviceTemplateSpec).superRefine(
  ({ metadata: { name }, spec }, context) => {
    if (spec.templateName !== undefined || name.length <= longestName) return;
    const message = `at most ${longestName} characters, unless \`spec.templateName\` gives the template a shorter name`;
    context.addIssue({ code: 'custom', path: ['metadata', 'name'], message });
  },
);
