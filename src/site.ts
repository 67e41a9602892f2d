/**
 * Call sites: where the user's code called Weft. Captured once per public call, by the outermost one, and formatted only
 * when an error or `explain()` wants it.
 *
 * A capture is an Error with three frames: this file's, the public method's, the user's. That costs about 1.5 µs; a
 * full stack costs twice as much and keeps more memory for every node.
 */
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Site } from './graph/expr.js';

const FRAMES = 3;
let depth = 0;
let current: Site | undefined;

/** Starts a public call. To be followed by `endCall` in a `finally`. Call it from the public function itself. */
export function beginCall(frames = FRAMES): void {
  if (depth++ > 0) return;
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = frames;
  current = new Error();
  Error.stackTraceLimit = limit;
}

export function endCall(): void {
  if (--depth === 0) current = undefined;
}

/** Runs the body of a public function under its call site. */
export function called<Result>(body: () => Result): Result {
  beginCall(FRAMES + 1);
  try {
    return body();
  } finally {
    endCall();
  }
}

/** The site of the public call that is running; undefined outside of one. */
export const currentSite = (): Site | undefined => current;

const HERE = dirname(fileURLToPath(import.meta.url));

/** `file:line:column` (with the function's name where there is one) of the first frame outside Weft. */
export function formatSite(site: Site | undefined): string | undefined {
  const stack: unknown = site?.stack; // another library may have replaced how stacks are formatted
  if (typeof stack !== 'string') return undefined;
  for (const line of stack.split('\n')) {
    const frame = /^\s*at (.*)$/.exec(line)?.[1];
    if (frame === undefined) continue;
    const place = frame.replaceAll('file://', '');
    if (!place.includes(`${HERE}/`)) return place;
  }
  return undefined;
}
