import { formatProblem, type DesiredSnapshot } from '../desired/index.ts';
import type { Logger } from '../telemetry/index.ts';

/** Reports each problem of a source once while it lasts, and the end of the last one. */
export function watchProblems(
  onProblem: (line: string) => void,
  onMended: () => void,
): (snapshot: DesiredSnapshot) => void {
  let known = new Set<string>();
  return ({ problems }) => {
    const lines = new Set(problems.map(formatProblem));
    for (const line of lines) if (!known.has(line)) onProblem(line);
    if (known.size > 0 && lines.size === 0) onMended();
    known = lines;
  };
}

/** For `Manager.onSource`: the problems, and that there are none any more. */
export function logProblems(logger: Logger): (snapshot: DesiredSnapshot) => void {
  return watchProblems(
    (problem) => logger.error({ problem }, 'problem in the source'),
    () => logger.info('all problems in the source are solved'),
  );
}
