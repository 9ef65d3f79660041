import { z } from 'zod';
import { constrained, listOf } from '../../resources/parts/constraints.ts';
import {
  accountRef,
  adopt,
  command,
  deletionPolicy,
  driftPolicy,
  fittingName,
  httpPort,
  image,
  kindSchema,
  resources,
  sleepAfterMinutes,
  variableName,
} from '../../resources/parts/fields.ts';

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
  })
  .meta(listOf.values);

const serviceTemplateSpec = z.strictObject({
  accountRef,
  templateName: z
    .string()
    .min(1)
    .max(longestName)
    .optional()
    .describe('Its name at the provider; default metadata.name.'),
  description: z
    .string()
    .max(
      longestDescription,
      `at most ${longestDescription} characters: the ownership mark needs ${templateMarkLength} of 4096; shorten it`,
    )
    .optional()
    .describe('For people. A line with an ownership mark is put behind it.'),
  image: image.describe('Image reference.'),
  command: command.optional().describe('Command and arguments; default not managed.'),
  resources: resources.optional().describe('What services run with; default not managed.'),
  httpPort: httpPort.optional().describe('The port that services serve; default not managed.'),
  containerDiskGb: z
    .int()
    .min(1)
    .max(4096)
    .optional()
    .describe('Disk of the container in GB; default not managed.'),
  workspaceGb: z
    .int()
    .min(10)
    .max(4096)
    .optional()
    .describe('Storage of the workspace in GB; default not managed.'),
  sleepAfterMinutes: sleepAfterMinutes
    .optional()
    .describe(
      'Idle minutes after which services sleep, 1 to 1440; 0: never; default not managed. ' +
        'A null means never, too.',
    ),
  requiredEnvironment: requiredEnvironment
    .optional()
    .describe('Names of variables that services with this template have to be given; default not managed.'),
  driftPolicy,
  deletionPolicy: deletionPolicy
    .default('Delete')
    .describe(
      'What becomes of the template when this object is deleted: it is deleted, or stays, unmanaged. Services are not touched (§4 rule 4).',
    ),
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
export const serviceTemplateDocument = constrained(
  kindSchema(
    'ServiceTemplate',
    serviceTemplateSpec,
    'A reusable configuration, kept at the provider, too. It gives services what their own specs leave out.',
  ),
  fittingName(longestName, 'templateName', 'template'),
);
