/**
 * Loaded into a process under test (`NODE_OPTIONS=--import=FILE`): at each SIGUSR2 it prints the bytes of the
 * heap that are still in use after a full garbage collection.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

process.on('SIGUSR2', () => {
  // What the first collection finalises, the second one frees.
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  process.stdout.write(`heap ${heapUsed + external}\n`);
});
