/**
 * The one thing that the Engine API can't do: end a command in a container. It only shows the process id on the
 * engine's machine. When that is this machine, and the process is in that container's control group, its process
 * group is killed.
 */
import { readFileSync } from 'node:fs';

/** Whether the command was ended. */
export function killContainerProcess(pid: number, containerId: string): boolean {
  try {
    if (pid <= 1 || !readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes(containerId)) return false;
    process.kill(-pid, 'SIGKILL');
    return true;
  } catch {
    return false;
  }
}
