/** Once before all: what the tests start as processes is built from the sources as they are now. */
import { build } from 'rolldown';
import options from '../../../rolldown.config.ts';

export default async function setup(): Promise<void> {
  // Another run may be at work beside this one; its processes still load what was built for them.
  await build({ ...options, output: { ...options.output, cleanDir: false } });
}
