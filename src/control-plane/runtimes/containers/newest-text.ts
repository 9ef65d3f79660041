/** The newest of what a container has written. */

const keptBytes = 1024 * 1024;

/** At most 1 MiB, from the beginning of a line if that is not all. */
export async function newestText(source: AsyncIterable<Buffer>): Promise<string> {
  const window = Buffer.allocUnsafe(2 * keptBytes);
  let end = 0;
  let allBytes = 0;
  for await (const chunk of source) {
    const bytes = chunk.subarray(-keptBytes);
    if (end + bytes.length > window.length) {
      window.copyWithin(0, end - keptBytes, end);
      end = keptBytes;
    }
    end += bytes.copy(window, end);
    allBytes += chunk.length;
  }
  const newest = window.subarray(Math.max(0, end - keptBytes), end);
  if (newest.length === allBytes) return newest.toString();
  return newest.subarray(newest.indexOf('\n') + 1).toString();
}
