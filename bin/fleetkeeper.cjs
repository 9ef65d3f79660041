#!/usr/bin/env node
/** The command of the package. Written for any Node, so that an older one gets a sentence and not a syntax error. */
'use strict';
const wanted = 24;
if (Number(process.versions.node.split('.')[0]) >= wanted) {
  void import('../dist/main.mjs');
} else {
  process.stderr.write(
    'fleetkeeper: needs Node ' +
      wanted +
      ' or newer, and ' +
      process.execPath +
      ' is Node ' +
      process.versions.node +
      ': install a newer one, or run `npx --package=node@' +
      wanted +
      ' --package=FILE fleetkeeper` with FILE the package of fleetkeeper\n',
  );
  process.exitCode = 1;
}
