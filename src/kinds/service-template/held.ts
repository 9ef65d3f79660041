/** Templates of an account, whoever made them: what `inventory` shows of them, and the documents that `import` writes. */
import type { wire } from '../../api/index.ts';
import { wholeResources } from '../../api/wire.ts';
import type { HeldThings, Place, SpecDraft } from '../../engine/index.ts';
import { withoutTemplateMark } from '../../engine/plan/index.ts';
import { accountRef, adopted, listed, present } from '../drafts.ts';

export const heldTemplates: HeldThings<wire.Template> = {
  name: ({ name }) => name,
  state: () => undefined,
  burn: () => 0n,
  draft,
};

function draft(template: wire.Template, place: Place): SpecDraft {
  return {
    spec: {
      ...accountRef(place),
      templateName: template.name,
      description: withoutTemplateMark(template.description ?? '') || undefined,
      image: present(template.image),
      command: listed(template.command),
      resources: wholeResources(template.resources),
      httpPort: present(template.httpPort),
      containerDiskGb: present(template.containerDiskGb),
      workspaceGb: present(template.workspaceGb),
      sleepAfterMinutes: template.sleepAfterMinutes === null ? 0 : template.sleepAfterMinutes,
      requiredEnvironment: listed(template.requiredEnvironment),
      ...adopted(template.id),
    },
    needed: ['image'],
    gaps: [],
  };
}
