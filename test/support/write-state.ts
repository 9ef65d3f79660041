/** Writes intents to the state file named by its argument, beginning with a number, without end, and tells each one that is durable. */
import { systemRandom } from '../../src/base/index.ts';
import { openState } from '../../src/state/index.ts';
import { intentOf, owner, recordOf, trainer } from '../unit/state/support.ts';

const [, , stateFile = '', first = ''] = process.argv;
const { store } = openState(stateFile, systemRandom, owner);
// Large, so that SQLite copies its log into the database after every few of them.
const record = recordOf(trainer, {
  manifest: { annotations: {}, labels: {}, spec: { padding: 'x'.repeat(500_000) } },
});

for (let number = Number(first); ; number += 1) {
  await store.saveIntent(intentOf(trainer, `key-${number}`, { outcome: 'applied' }), record);
  process.stdout.write(`${number}\n`);
}
