/**
 * The body of a request, as bytes. Whatever form it comes in, it takes no more memory and time than its length allows: a part of one byte would keep
 * the buffer in which it was received, and each part takes the time of an event.
 */
import type { IncomingMessage } from 'node:http';
import { ApiError, invalidRequest } from '../domain/errors.ts';

const firstBytes = 4096;
/** A body may have so many parts, and one more for each so many bytes. */
const fewParts = 1000;
const bytesOfPart = 64;

type Done = (...answer: [refusal: Error, bytes: undefined] | [refusal: null, bytes: Buffer]) => void;

/** Calls `done` once: with the bytes, or with what the request is refused with. */
export function takeBody(payload: IncomingMessage, mostBytes: number, done: Done): void {
  const announced = Number(payload.headers['content-length'] ?? 0);
  let bytes = Buffer.allocUnsafeSlow(Math.min(Math.max(announced, firstBytes), mostBytes));
  let [end, parts] = [0, 0];
  let isOver = false;
  const finish: Done = (...answer) => {
    // A connection may fail afterwards.
    if (isOver) return;
    isOver = true;
    payload.removeAllListeners('data').removeAllListeners('end');
    done(...answer);
  };
  const refuse = (message: string) => {
    payload.pause();
    finish(new ApiError(400, 'body_too_large', message), undefined);
  };
  if (announced > mostBytes) return refuse(`the body has more than ${mostBytes} bytes`);
  payload.on('data', (part: Buffer) => {
    parts += 1;
    if (end + part.length > mostBytes) return refuse(`the body has more than ${mostBytes} bytes`);
    if (parts > fewParts + end / bytesOfPart)
      return refuse(`the body has more than ${parts} parts of few bytes`);
    if (end + part.length > bytes.length) {
      const larger = Buffer.allocUnsafeSlow(
        Math.min(Math.max(2 * bytes.length, end + part.length), mostBytes),
      );
      bytes.copy(larger, 0, 0, end);
      bytes = larger;
    }
    part.copy(bytes, end);
    end += part.length;
  });
  payload.on('end', () => finish(null, bytes.subarray(0, end)));
  payload.on('error', () => finish(invalidRequest('the body broke off'), undefined));
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
