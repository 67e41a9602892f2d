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
  return function* () {
    made ??= { value: yield* make() };
    return made.value;
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
