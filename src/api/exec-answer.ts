import type { ExecRequest } from './wire.ts';

/** What came of a command in a container. The shape of the answer is not documented (§4 "Gaps in endpoints"). */
export interface ExecResult {
  readonly stdout: string;
  readonly stderr: string;
  /** Undefined when the answer does not tell. */
  readonly exitCode: number | undefined;
  /** The API has cut the output. */
  readonly truncated: boolean;
}

const longestSeconds = 60;
/** For the request itself, on top of the time of the command. */
const requestSeconds = 15;

/** How long the answer may take. */
export function execAnswerMs({ timeoutSeconds = longestSeconds }: ExecRequest): number {
  return (timeoutSeconds + requestSeconds) * 1000;
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
