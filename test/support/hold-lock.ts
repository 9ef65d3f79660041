/** Takes the lock of the state file named by its argument, says so, and lives until it is killed. */
import { holdProcess } from '../../src/base/index.ts';
import { lockState } from '../../src/state/lock.ts';

const [, , stateFile = ''] = process.argv;
lockState(stateFile, `the test's child (pid ${process.pid})`);
holdProcess();
process.stdout.write('locked\n');
