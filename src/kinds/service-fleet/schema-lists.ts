/** Lists whose entries differ in their names. A cluster refuses two of one name by the type of the list. */
import type { z } from 'zod';
import { listOf } from '../../resources/parts/constraints.ts';

export function named<Entry extends z.ZodType<readonly { readonly name: string }[]>>(
  list: Entry,
  noun: string,
): Entry {
  return list
    .superRefine((entries, context) => {
      for (const [index, { name }] of entries.entries()) {
        if (entries.findIndex((other) => other.name === name) === index) continue;
        const message = `the ${noun} ${name} is given twice`;
        context.addIssue({ code: 'custom', path: [index, 'name'], message });
      }
    })
    .meta(listOf.entriesBy('name'));
}
