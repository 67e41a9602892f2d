/**
 * Where traces of Weft's errors begin: at the user's line that called Weft, not in Weft. Public functions
 * give what they throw to `atCaller`. Frames are cut by function, not by path, so that source maps and
 * loaders, which rename files, change nothing.
 *
 * Node prints the source line above an uncaught error: of a promise that of the trace's first frame, of a
 * synchronous `throw` that of the statement, which is Weft's, unless the line says
 * `node-do-not-add-exception-line`. Hence that comment where Weft rethrows.
 */
import { CompileError, InternalError, isOwnError } from './errors.js';

/** Errors that a function of the user's threw to Weft: their traces begin at his lines already. */
const fromUser = new WeakSet<object>();

/**
 * Gives an error of Weft's the trace of the caller of a public function, and gives the error back. Defects of
 * Weft's keep their traces, and so does what a function of the user's threw.
 */
export function atCaller(error: unknown, called: CallableFunction | NewableFunction): unknown {
  const isCut = isOwnError(error) && !(error instanceof InternalError || error instanceof CompileError);
  if (isCut && !fromUser.has(error)) {
    // A hardened environment may lack the function, or freeze errors; then the trace stays as it is.
    if (typeof Error.captureStackTrace === 'function' && Object.isExtensible(error))
      Error.captureStackTrace(error, called);
  }
  return error;
}

/** Has an error that a function of the user's threw keep its trace. */
export function keepTrace(error: unknown): void {
  if (isOwnError(error)) fromUser.add(error);
}

/** Whether a function of the user's threw an error. */
export const isFromUser = (error: object): boolean => fromUser.has(error);

/** Runs the body of a public function that makes no nodes, and needs no call site. */
export function bounded<Result>(own: CallableFunction, body: () => Result): Result {
  try {
    return body();
  } catch (error) {
    throw atCaller(error, own); // node-do-not-add-exception-line
  }
}
