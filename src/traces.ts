/** Lengths of stack traces. Called by `site.ts`, which wants short ones, and `errors.ts`, which wants long ones. */

/** Whether the limit may be set: a hardened environment freezes Error, and then its own limit holds. */
export const settable =
  Object.getOwnPropertyDescriptor(Error, 'stackTraceLimit')?.writable ?? Object.isExtensible(Error);

/** Frames of Weft's, between the function that the user called and the check that refuses, that a trace has besides. */
const OWN_FRAMES = 20;

/** Gives an error a trace that reaches the user's code, however deep the check lies. */
export function traceToUser(error: Error): void {
  const limit: unknown = Error.stackTraceLimit;
  if (!settable || typeof limit !== 'number' || limit === 0) return;
  Error.stackTraceLimit = limit + OWN_FRAMES;
  Error.captureStackTrace(error, error.constructor as new () => Error);
  Error.stackTraceLimit = limit;
}
