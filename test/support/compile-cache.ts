/** Before each test file: what Node compiles, and takes the types out of, it keeps for the next worker, which loads most of the same. */
import { enableCompileCache } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';

enableCompileCache(path.join(tmpdir(), 'fleetkeeper-compile-cache'));
