import { describe, expect, test } from 'vitest';
import { readExecAnswer } from '../../../src/api/index.ts';
import { asExitCode, isNotFound } from '../../../src/cli/commands/exec.ts';

// COVERAGE 16, 117
describe('the answer to a command, whose shape is not documented', () => {
  test.each([
    [
      { exitCode: 3, stdout: 'o', stderr: 'e', truncated: true },
      { exitCode: 3, stdout: 'o', stderr: 'e', truncated: true },
    ],
    [
      { exit_code: 1, output: 'o' },
      { exitCode: 1, stdout: 'o', stderr: '', truncated: false },
    ],
    [{ stdout: 'o' }, { exitCode: undefined, stdout: 'o', stderr: '', truncated: false }],
    [
      { exitCode: '0', stderr: 'e' },
      { exitCode: undefined, stdout: '', stderr: 'e', truncated: false },
    ],
  ])('%j is understood', (answer, expected) => {
    expect(readExecAnswer(answer)).toEqual(expected);
  });

  test.each([[null], ['done'], [{}], [{ jobId: 'x' }], [[1]]])('%j is not', (answer) => {
    expect(readExecAnswer(answer)).toBeUndefined();
  });

  const runc =
    'OCI runtime exec failed: exec failed: unable to start container process: exec: "lss": executable file not found in $PATH: unknown\r\n';
  const podman =
    'Error: runc: exec failed: unable to start container process: exec: "/lss": stat /lss: no such file or directory: OCI runtime attempted to invoke a command that was not found';
  test.each([
    [{ exitCode: 127, stdout: runc }, true],
    [{ exitCode: 126, stdout: runc }, true],
    [{ exitCode: 127, stderr: podman }, true],
    [{ exitCode: -1, stderr: 'crun: executable file `lss` not found in $PATH' }, true],
    [{ exitCode: 127, stderr: 'sh: lss: not found\n' }, false],
    [{ exitCode: 1, stderr: runc }, false],
    [{ exitCode: 0, stdout: runc }, false],
  ])('%j: the engine did not find the command: %s', (answer, expected) => {
    const result = { stdout: '', stderr: '', truncated: false, ...answer };
    expect(isNotFound(result)).toBe(expected);
  });

  test('ends a process with its code, or with 255 where a process has no such code', () => {
    expect([0, 1, 255, 256, -1].map(asExitCode)).toEqual([0, 1, 255, 255, 255]);
  });
});
