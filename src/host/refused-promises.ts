/**
 * Promises among values that are refused. Nobody awaits such a promise, so one that rejects would end the
 * process, even where the error that refused it was caught. Called where errors are made of the user's
 * values.
 */
import { types } from 'node:util';

/** Promises of every realm; an object that merely has a `then` is not one. */
export const isPromise = (value: unknown): value is Promise<unknown> => types.isPromise(value);

/** How far lists and objects are looked into. */
const DEPTH = 4;

/** Marks the rejections of a promise, and of those in lists and plain objects, as handled. */
export function ignoreRejections(value: unknown, depth = DEPTH): void {
  if (typeof value !== 'object' || value === null) return;
  if (isPromise(value)) {
    value.catch(() => undefined);
    return;
  }
  if (depth === 0) return;
  try {
    for (const part of partsOf(value)) ignoreRejections(part, depth - 1);
  } catch {
    // A getter or a proxy of the user's throws: it gives no promise.
  }
}

function partsOf(value: object): readonly unknown[] {
  if (Array.isArray(value)) return value;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null ? Object.values(value) : [];
}
