import { expect, test } from 'vitest';
import { reasonOf } from '../../../../src/control-plane/runtimes/docker/reasons.ts';

test.each([
  ['exec: "serve": executable file not found in $PATH', 'CommandNotFound'],
  [
    'plugin type="bridge" failed (add): cni plugin bridge failed: failed to locate iptables: exec: "iptables": executable file not found in $PATH',
    'NotStarted',
  ],
  ['netavark: open /proc/sys/net/ipv4/ip_forward: permission denied', 'NotStarted'],
  ['crun: open executable: Permission denied', 'CommandNotExecutable'],
])('a container that does not start because of "%s" has the reason %s', (words, reason) => {
  expect(reasonOf('start', words)).toBe(reason);
});
