/** Once before all: what the tests start as processes is built from the sources as they are now. */
import { build } from 'rolldown';
import options from '../../../rolldown.config.ts';

export default async function setup(): Promise<void> {
  await build({ ...options, logLevel: 'warn' });
}
