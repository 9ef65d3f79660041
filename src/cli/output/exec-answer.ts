/** What came of a command in a container. The shape of the answer is not documented (§4 "Gaps in endpoints"). */
export interface ExecResult {
  readonly stdout: string;
  readonly stderr: string;
  /** Undefined when the answer does not tell. */
  readonly exitCode: number | undefined;
  /** The API has cut the output. */
  readonly truncated: boolean;
}

/** Undefined when nothing in it is known. */
export function readExecAnswer(answer: unknown): ExecResult | undefined {
  if (typeof answer !== 'object' || answer === null) return undefined;
  const {
    stdout,
    stderr,
    output,
    exitCode,
    exit_code: exitCodeToo,
    truncated,
  } = answer as Record<string, unknown>;
  const code = [exitCode, exitCodeToo].find((value) => Number.isInteger(value)) as number | undefined;
  const shown = [stdout, output].find((value) => typeof value === 'string');
  if (code === undefined && shown === undefined && typeof stderr !== 'string') return undefined;
  return {
    stdout: shown ?? '',
    stderr: typeof stderr === 'string' ? stderr : '',
    exitCode: code,
    truncated: truncated === true,
  };
}

/** As the exit code of a process: what does not fit (killed, out of range) is 255. */
export function asExitCode(code: number): number {
  return code >= 0 && code <= 255 ? code : 255;
}
