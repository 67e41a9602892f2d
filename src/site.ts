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

let depth = 0;
let current: Site | undefined;
/** The limit of traces outside of public calls. */
let outside = 0;
/** Frames of Weft's between a public function and where it throws, above which a trace still has the user's. */
const OWN_FRAMES = 20;

/** Whether the limit may be set: a hardened environment freezes Error, and then its own limit holds. */
const settable =
  Object.getOwnPropertyDescriptor(Error, 'stackTraceLimit')?.writable ?? Object.isExtensible(Error);

/** Limits the next trace to few frames; `beginCall` takes what it returns and restores the limit. */
export function limitTrace(frames = 2): number {
  const limit = Error.stackTraceLimit;
  if (settable) Error.stackTraceLimit = frames;
  return limit;
}

/** Starts a public call made at `site`; errors in it have traces that reach the user's code. `endCall` follows in a `finally`. */
export function beginCall(site: Site, limit: number): void {
  if (depth++ > 0) {
    if (settable) Error.stackTraceLimit = limit;
    return;
  }
  current = site;
  outside = limit;
  if (settable) Error.stackTraceLimit = limit + OWN_FRAMES;
}

export function endCall(): void {
  if (--depth > 0) return;
  current = undefined;
  if (settable) Error.stackTraceLimit = outside;
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
