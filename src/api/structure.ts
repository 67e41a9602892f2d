/**
 * Lists and objects of arrays, in each other, as one line of arrays and the form to put results back into:
 *
 *     { mean: a, sums: [b, c] }   →   [a, b, c] and { mean: ·, sums: [·, ·] }
 *
 * Called where several arrays are computed together: `lazy.ts`, `compile-signatures.ts`.
 */

import { isScalar } from '../graph/scalar.js';
import { isTypedArray } from '../host/elements.js';
import { ArgumentError, expected } from '../host/errors.js';
import { isShaped } from '../host/host-array.js';

/**
 * Where results go: the places of a list, or those of an object with their names; `undefined` is a place of
 * one array.
 */
export type Form =
  | undefined
  | {
      readonly names: readonly string[] | undefined;
      readonly parts: readonly Form[];
      readonly isFlat: boolean;
    };

const MOST_LEVELS = 64;

/** Whether a value is an object that holds others by name: no array, no data, no Map. */
export const isRecord = (value: unknown): value is object =>
  Object.prototype.toString.call(value) === '[object Object]' && !isShaped(value) && !isScalar(value);

/**
 * The arrays in a value, in order, and its form. `leaf` makes a node of an array; of what holds arrays it
 * gives undefined. Its second argument is the path to the value, as in `sums.1`.
 */
export function flattened<T>(
  op: string,
  value: unknown,
  leaf: (value: unknown, path: string) => T | undefined,
): [leaves: T[], form: Form] {
  const leaves: T[] = [];
  const visit = (part: unknown, path: string, level: number): Form => {
    const made = leaf(part, path);
    if (made !== undefined) {
      leaves.push(made);
      return undefined;
    }
    if (level === MOST_LEVELS) throw new ArgumentError(expected(op, `at most ${level} levels`, 'more'));
    const names = Array.isArray(part) ? undefined : Object.keys(part as object);
    const below = path === '' ? '' : `${path}.`;
    const parts: Form[] = [];
    if (names !== undefined)
      for (const name of names)
        parts.push(visit(Reflect.get(part as object, name), `${below}${name}`, level + 1));
    else {
      const list = part as readonly unknown[]; // holes count
      for (let k = 0; k < list.length; k++) parts.push(visit(list[k], `${below}${k}`, level + 1));
    }
    return { names, parts, isFlat: parts.every((each) => each === undefined) };
  };
  const form = visit(value, '', 0);
  return [leaves, form];
}

/** Results in the places of a form. */
export function arranged(form: Form, results: readonly unknown[]): unknown {
  if (form === undefined) return results[0];
  let next = 0;
  const place = (part: Form): unknown => {
    if (part === undefined) return results[next++];
    const { names, parts } = part;
    const values = parts.map(place);
    return names === undefined ? values : Object.fromEntries(names.map((name, k) => [name, values[k]]));
  };
  return form?.isFlat === true && form.names === undefined ? results : place(form);
}

/** Whether a list holds arrays or objects of them; else it is the elements of one array. */
export const holdsArrays = (list: readonly unknown[]): boolean =>
  list.some((each) => {
    if (typeof each !== 'object' || each === null || isTypedArray(each)) return false;
    return Array.isArray(each) ? holdsArrays(each) : !isScalar(each);
  });
