/**
 * Names that a traced function reads and does not declare: values that were given with it, or parts of
 * JavaScript's library. Tools write imports in several ways, which all name what was given:
 *
 *     limit(x)    (0, weftjs_1.limit)(x)    (0,__vite_ssr_import_0__.limit)(x)
 */
import type { Scalar } from '../graph/dtype.js';
import { isScalar } from '../graph/scalar.js';
import { globalOf, isLibrary, memberOf } from './library.js';
import { type Callable, LocalArray } from './value.js';

/** Values that are given with a function: constants, lists of numbers, functions, records of these. */
export type Captures = Readonly<Record<string, unknown>>;

/** A given value as one of the language; undefined for what the language has no place for. */
export type Meaning = Scalar | LocalArray | Callable | undefined;

/** Finds the traced form of a function that was given. */
export type CallableOf = (fn: CallableFunction) => Callable | undefined;

export class Names {
  readonly #captures: Captures;
  readonly #callableOf: CallableOf;

  constructor(captures: Captures, callableOf: CallableOf) {
    this.#captures = captures;
    this.#callableOf = callableOf;
  }

  /** Whether a name was given. */
  has(name: string): boolean {
    return Object.hasOwn(this.#captures, name);
  }

  /** The meaning of a name that is no variable. */
  of(name: string): Meaning {
    return this.has(name) ? this.#meaning(this.#captures[name]) : globalOf(name);
  }

  /** The meaning of `object.name`, where the object is no variable. */
  member(object: string, name: string): Meaning {
    if (this.has(object)) {
      const record = this.#captures[object];
      const isRecord = typeof record === 'object' && record !== null && Object.hasOwn(record, name);
      return isRecord ? this.#meaning((record as Captures)[name]) : undefined;
    }
    if (isLibrary(object)) return memberOf(object, name);
    return this.has(name) ? this.#meaning(this.#captures[name]) : undefined; // an import, as tools write it
  }

  #meaning(value: unknown): Meaning {
    if (isScalar(value)) return value;
    if (typeof value === 'function') return this.#callableOf(value);
    const isList = Array.isArray(value) && value.every((each) => isScalar(each));
    return isList ? new LocalArray([...(value as Scalar[])]) : undefined;
  }
}

export const isCallable = (meaning: unknown): meaning is Callable =>
  typeof meaning === 'object' && meaning !== null && 'apply' in meaning;
