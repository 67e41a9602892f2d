/**
 * Errors for what a result lacks: elements by `r[0]`, and the methods of a Lazy. Where there is nothing to be
 * found a lookup ends at a proxy behind the prototype, so that what is there is found as fast as without it. `then` is
 * there, and undefined.
 */

import { formatValue } from '../graph/format.js';
import { ArgumentError, expected } from './errors.js';
import { atCaller } from './stack-traces.js';

const INDEX = /^-?\d+$/;

const isVector = (array: unknown): boolean => (array as { readonly ndim?: unknown }).ndim === 1;

/** Puts a proxy behind a prototype that refuses to read indices. */
export function refuseIndices(prototype: object): void {
  const get = (target: object, key: string | symbol, array: unknown): unknown => {
    if (typeof key !== 'string' || !INDEX.test(key)) return Reflect.get(target, key, array);
    const received = `[${key}] of ${formatValue(array)}`;
    const hint = isVector(array) ? `use r.at(${key})` : `use r.at(${key}, …), or iterate over the array`;
    throw atCaller(new ArgumentError(expected('NDArray', 'a method to read elements', received, hint)), get); // node-do-not-add-exception-line
  };
  const refusing = new Proxy(Object.create(Object.prototype) as object, { get });
  // Each promise asks its result for `then`, and would ask the proxy: 0.25 µs of a compute of 2.6.
  Object.defineProperty(prototype, 'then', { value: undefined, writable: true });
  Object.setPrototypeOf(prototype, Object.create(refusing) as object);
}

/**
 * Gives a prototype the properties of another one that it lacks, so that they say what to do instead. They stand behind it:
 * of a prototype of hundreds the engine looks each property up in a table.
 */
export function refuseMethods(prototype: object, other: object): void {
  const behind = Object.getPrototypeOf(prototype) as object;
  for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(other))) {
    const isMethod = typeof value === 'function';
    if (name in prototype || !(isMethod || name === 'T' || name === 'mT')) continue;
    const use = isMethod ? `${name}(…)` : name;
    const refuse = function (this: unknown): never {
      const hint = `r is a result: lazy(r).${use}`;
      throw atCaller(new ArgumentError(expected(name, 'a Lazy', formatValue(this), hint)), refuse); // node-do-not-add-exception-line
    };
    Object.defineProperty(refuse, 'name', { value: name });
    Object.defineProperty(
      behind,
      name,
      isMethod ? { value: refuse, writable: true, configurable: true } : { get: refuse, configurable: true },
    );
  }
}
