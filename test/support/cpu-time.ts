/** Milliseconds of computing of this thread: what a busy machine does beside it is not counted. */
export function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
