/**
 * Every error a user can meet, in one form: `[op] expected …: received …`.
 *
 * Errors of shape, axis and range are `RangeError`s; errors of dtype and argument are `TypeError`s, so that
 * code written for the standard classes keeps working. Errors of execution carry the call site of the node
 * they ran.
 */

/** A shape, an axis or a size that does not fit. */
export class ShapeError extends RangeError {
  override name = 'ShapeError';
}

/** A number out of the range an argument or a dtype allows. */
export class RangeArgumentError extends RangeError {
  override name = 'RangeArgumentError';
}

/** A dtype that an operation does not take. */
export class DTypeError extends TypeError {
  override name = 'DTypeError';
}

/** An argument of the wrong type or form. */
export class ArgumentError extends TypeError {
  override name = 'ArgumentError';
}

/** A device that does not exist, is not usable, or does not match another. */
export class DeviceError extends Error {
  override name = 'DeviceError';
  constructor(
    message: string,
    /** The driver's or library's status, where one was returned: `CUDA_ERROR_OUT_OF_MEMORY`. */
    readonly status?: string,
  ) {
    super(message);
  }
}

/** A device that ran out of memory, or a job that cannot fit. */
export class MemoryError extends DeviceError {
  override name = 'MemoryError';
  /**
   * Of a job that does not fit into its `memory`, and of one that does not fit into its `hostMemory`: as much
   * as suffices, in bytes.
   */
  readonly needed: Readonly<Partial<Record<'memory' | 'hostMemory', number>>>;
  constructor(message: string, status?: string, needed: MemoryError['needed'] = {}) {
    super(message, status);
    this.needed = needed;
  }
}

/**
 * A device that was lost (a fault in its context), which is final for the process, or that did not get on.
 */
export class DeviceLostError extends DeviceError {
  override name = 'DeviceLostError';
  constructor(
    message: string,
    status?: string,
    /** The device, where several were in use: `cuda:1`. */
    readonly device?: string,
  ) {
    super(message, status);
  }
}

/**
 * A matrix that has no such solution or factors: it is singular, not positive definite, or nothing converged.
 */
export class LinalgError extends Error {
  override name = 'LinalgError';
  constructor(
    message: string,
    /** Which matrix of the stack, counted in C order over the leading axes. */
    readonly matrix: number,
  ) {
    super(message);
  }
}

/**
 * A kernel that did not compile: one of the user's own, whose lines the message names, or a generated one,
 * which is a defect of Weft's and whose message holds the numbered source.
 */
export class CompileError extends Error {
  override name = 'CompileError';
  /** The compiler's own words, where it has said any. */
  readonly log: string | undefined;
  constructor(message: string, options?: ErrorOptions & { readonly log?: string }) {
    super(message, options);
    this.log = options?.log;
  }
}

/**
 * A file that cannot be read or written, that is not what it should be, or that changed after it was opened.
 */
export class FileError extends Error {
  override name = 'FileError';
  constructor(
    message: string,
    /** The file, as an absolute path. */
    readonly path: string,
    /**
     * The system's name for what went wrong (`ENOENT`, `ENOSPC`), or `ERR_FILE_FORMAT` for bytes that are not
     * what the format says, `ERR_FILE_CHECKSUM` for bytes that differ from what was written,
     * `ERR_FILE_CHANGED` for a file that was changed or replaced since it was loaded, `ERR_FILE_KIND` for
     * what is no regular file, `ERR_FILE_TIMEOUT` for bytes whose decoding made no progress.
     */
    readonly code?: string,
  ) {
    super(message);
  }
}

/** The native addon could not be found or loaded. */
export class NativeError extends Error {
  override name = 'NativeError';
  constructor(
    readonly problem: string,
    /** The user's way out of it. */
    readonly remedy: string,
    options?: ErrorOptions,
  ) {
    super(`${problem} (${remedy})`, options);
  }
}

/** An internal invariant that does not hold: a defect of Weft's. */
export class InternalError extends Error {
  override name = 'InternalError';
}

const OWN = [
  ShapeError,
  RangeArgumentError,
  DTypeError,
  ArgumentError,
  DeviceError,
  LinalgError,
  CompileError,
  FileError,
  NativeError,
  InternalError,
];

/** Whether an error is of these classes; what a function of the user's threw is left as it is. */
export const isOwnError = (error: unknown): error is Error => OWN.some((type) => error instanceof type);

/** An error of the same class, with the same properties and trace, whose message has a line more. */
export function withLine<E extends Error>(error: E, line: string): E {
  const copy: E = Object.setPrototypeOf(new Error(), Object.getPrototypeOf(error));
  const message = { value: `${error.message}\n${line}`, enumerable: false };
  return Object.defineProperties(copy, {
    ...Object.getOwnPropertyDescriptors(error),
    message: { ...message, writable: true, configurable: true },
  });
}

/** The message form of every user error. `hint` ends the message where one helps. */
export function expected(op: string, what: string, received: string, hint?: string): string {
  return `[${op}] expected ${what}: ${received}${hint === undefined ? '' : ` (${hint})`}`;
}

/** Ends an exhaustive switch: the compiler refuses it while a case is missing. */
export function unreachable(value: never): never {
  throw new InternalError(`unreachable: ${JSON.stringify(value)}`);
}
