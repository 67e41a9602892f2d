/**
 * Call sites: where the user's code called Weft. Captured once per public call, by the outermost one, and
 * formatted only when an error or `explain()` wants it.
 *
 * A capture is an Error whose last frame is the user's, after the public method's. It costs about 1.5 µs,
 * most of a node's cost; every further frame adds time and memory, and so does every value that is alive in a
 * frame of compiled code. So the Error is made in the public function itself, without `new`, whose frame the
 * engine would read too, and what that does is in another one:
 *
 *     const limit = limitTrace();
 *     beginCall(Error(), limit);
 *     try { return build(…); } catch (error) { throw atCaller(error, method); } finally { endCall(); }
 */
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Site } from '../graph/expr.js';
import { atCaller, keepTrace } from './stack-traces.js';

/** Whether the limit may be set: a hardened environment freezes Error, and then its own limit holds. */
const settable =
  Object.getOwnPropertyDescriptor(Error, 'stackTraceLimit')?.writable ?? Object.isExtensible(Error);

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

/**
 * Runs the body of a public function under its call site. Weft's errors leave it with the trace of the
 * function's caller.
 */
export function called<Result>(own: CallableFunction, body: () => Result): Result {
  const limit = limitTrace(3);
  beginCall(Error(), limit);
  try {
    return body();
  } catch (error) {
    throw atCaller(error, own); // node-do-not-add-exception-line
  } finally {
    endCall();
  }
}

/**
 * Runs the body of an asynchronous public function, which awaits this: its site is for `calledAt`, its errors
 * as of `called`.
 */
export async function calledAsync<Result>(
  own: CallableFunction,
  body: (site: Site) => Promise<Result>,
): Promise<Result> {
  const limit = limitTrace(3);
  const site = Error();
  if (settable) Error.stackTraceLimit = limit;
  try {
    return await body(site);
  } catch (error) {
    throw atCaller(error, own);
  }
}

/** Runs a synchronous part of a public call that was made at `site`. */
export function calledAt<Result>(site: Site, body: () => Result): Result {
  beginCall(site, Error.stackTraceLimit);
  try {
    return body();
  } finally {
    endCall();
  }
}

/**
 * Runs a function of the user's inside a public call: its own calls have their own sites, and its errors keep
 * their traces.
 */
export function outsideCall<Result>(fn: () => Result): Result {
  const [depthBefore, currentBefore] = [depth, current];
  [depth, current] = [0, undefined];
  try {
    return fn();
  } catch (error) {
    keepTrace(error);
    throw error; // node-do-not-add-exception-line
  } finally {
    [depth, current] = [depthBefore, currentBefore];
  }
}

/** The site of the public call that is running; undefined outside of one. */
export const currentSite = (): Site | undefined => current;

/** The folder of Weft's sources, of which this file is in a room. */
const HERE = `${dirname(dirname(fileURLToPath(import.meta.url)))}/`;

/**
 * `file:line:column` (with the function's name where there is one) of the user's frame; undefined where there
 * is none. It is found by its place in the trace: loaders and source maps give Weft's files other names.
 */
export function formatSite(site: Site | undefined): string | undefined {
  const stack: unknown = site?.stack; // another library may have replaced how stacks are formatted
  if (typeof stack !== 'string') return undefined;
  const places = stack
    .split('\n')
    .map((line) => /^\s*at (.*)$/.exec(line)?.[1]?.replaceAll('file://', ''))
    .filter((place) => place !== undefined);
  // A limit that cannot be set is longer.
  return settable ? places.at(-1) : places.find((place) => !place.includes(HERE));
}

/** `file:line` of the first frame outside Weft. */
export function lineOf(site: Site | undefined): string | undefined {
  const place = formatSite(site);
  if (place === undefined) return undefined;
  const [, inside = place] = /\(([^()]*)\)$/.exec(place) ?? [];
  return inside.replace(/^(.*:\d+):\d+$/, '$1');
}
