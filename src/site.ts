/**
 * Call sites: where the user's code called Weft. Captured once per public call, by the outermost one, and formatted only
 * when an error or `explain()` wants it.
 *
 * A capture is an Error with two frames: the public method's and the user's. It costs about 1.5 µs, most of a node's cost;
 * every further frame adds time and memory, and so does every value that is alive in a frame of compiled code. So the Error
 * is made in the public function itself, without `new`, whose frame the engine would read too, and what that does is in another
 * one:
 *
 *     const limit = limitTrace();
 *     beginCall(Error(), limit);
 *     try { return build(…); } finally { endCall(); }
 */
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Site } from './graph/expr.js';
import { settable } from './traces.js';

let depth = 0;
let current: Site | undefined;

/** Limits the next trace to few frames; `beginCall` takes what it returns and restores the limit. */
export function limitTrace(frames = 2): number {
  const limit = Error.stackTraceLimit;
  if (settable) Error.stackTraceLimit = frames;
  return limit;
}

/** Starts a public call made at `site`. To be followed by `endCall` in a `finally`. */
export function beginCall(site: Site, limit: number): void {
  if (settable) Error.stackTraceLimit = limit;
  if (depth++ === 0) current = site;
}

export function endCall(): void {
  if (--depth === 0) current = undefined;
}

/** Runs the body of a public function under its call site. */
export function called<Result>(body: () => Result): Result {
  const limit = limitTrace(3);
  return calledAt(Error(), body, limit);
}

/** The call site of an asynchronous public function, to be taken before its first `await` and given to `calledAt`. */
export function callSite(): Site {
  const limit = limitTrace(3);
  const site = Error();
  if (settable) Error.stackTraceLimit = limit;
  return site;
}

/** Runs a synchronous part of a public call that was made at `site`. */
export function calledAt<Result>(site: Site, body: () => Result, limit = Error.stackTraceLimit): Result {
  beginCall(site, limit);
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
