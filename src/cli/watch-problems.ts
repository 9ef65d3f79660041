import { formatProblem, type DesiredSnapshot } from '../desired/index.ts';

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
