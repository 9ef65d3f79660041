/** Keeps the process alive until the returned function is called: pending timers of a `Clock` alone do not. */
export function holdProcess(): () => void {
  const handle = setInterval(() => undefined, 2 ** 30);
  return () => clearInterval(handle);
}
