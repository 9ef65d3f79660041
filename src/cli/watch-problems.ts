import { formatProblem, type DesiredSnapshot } from '../desired/index.ts';
import type { Logger } from '../telemetry/index.ts';

const countOfMore = /\d+ (?=more problems)/;

/** Reports each problem of a source once while it lasts, and the end of the last one. How many more there are changes all the time. */
export function watchProblems(
  onProblem: (line: string) => void,
  onMended: () => void,
): (snapshot: DesiredSnapshot) => void {
  let known = new Set<string>();
  return ({ problems }) => {
    const lines = new Map(problems.map(formatProblem).map((line) => [line.replace(countOfMore, ''), line]));
    for (const [mark, line] of lines) if (!known.has(mark)) onProblem(line);
    if (known.size > 0 && lines.size === 0) onMended();
    known = new Set(lines.keys());
  };
}

/** For `Manager.onSource`: the problems, and that there are none any more. */
export function logProblems(logger: Logger): (snapshot: DesiredSnapshot) => void {
  return watchProblems(
    (problem) => logger.error({ problem }, 'problem in the source'),
    () => logger.info('all problems in the source are solved'),
  );
}
