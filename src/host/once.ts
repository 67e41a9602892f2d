import type { Slices } from './slices.js';

/** A value that is made when it is first asked for, and kept. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  let maker: (() => T) | undefined = make;
  return () => {
    if (made === undefined) {
      made = { value: maker!() };
      maker = undefined; // what it was made of may be collected
    }
    return made.value;
  };
}

/** The same of work in slices. */
export function onceInSlices<T>(make: () => Slices<T>): () => Slices<T> {
  let made: { readonly value: T } | undefined;
  let maker: (() => Slices<T>) | undefined = make;
  return function* () {
    if (made === undefined) {
      made = { value: yield* maker!() };
      maker = undefined;
    }
    return made.value;
  };
}

/** A list whose elements are made when they are first asked for. */
export interface LazyList<T> {
  readonly length: number;
  readonly at: (k: number) => T;
}

export function lazyList<T extends object>(length: number, make: (k: number) => T): LazyList<T> {
  const made = new Map<number, T>();
  const at = (k: number): T => {
    const found = made.get(k) ?? make(k);
    made.set(k, found);
    return found;
  };
  return { length, at };
}

/** A function in slices that keeps its values. */
export function remembered<A, R>(of: (argument: A) => Slices<R>): (argument: A) => Slices<R> {
  const known = new Map<A, { readonly result: R }>();
  return function* (argument) {
    const found = known.get(argument) ?? { result: yield* of(argument) };
    known.set(argument, found);
    return found.result;
  };
}

/** A function that keeps its last value: for one that is asked for the same argument again and again. */
export function lastOf<A, R>(of: (argument: A) => R): (argument: A) => R {
  let last: { readonly argument: A; readonly result: R } | undefined;
  return (argument) => {
    if (last === undefined || last.argument !== argument) last = { argument, result: of(argument) };
    return last.result;
  };
}
