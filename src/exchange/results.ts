/** Arrays to be handed to other libraries, as results: those that are lazy are computed. */

import type { ArrayLike } from '../api/fluent-types.js';
import { exprOf, Lazy } from '../api/lazy.js';
import { NDArray } from '../api/ndarray.js';
import type { DType } from '../graph/dtype.js';
import { DTypeError, expected } from '../host/errors.js';

/** A result as it is, another array computed. */
export const resultOf = async (op: string, x: ArrayLike): Promise<NDArray> =>
  x instanceof NDArray ? x : new Lazy(exprOf(op, x)).compute();

/** The type of another library for a dtype. Throws a DTypeError where it has none. */
export function typeOf<T>(
  op: string,
  library: string,
  types: Readonly<Partial<Record<DType, T>>>,
  dtype: DType,
): T {
  const type = types[dtype];
  if (type !== undefined) return type;
  const known = Object.keys(types).join(', ');
  throw new DTypeError(expected(op, `a dtype that ${library} has: ${known}`, dtype, 'x.astype() converts'));
}

/** Whether a value is an object with these members; functions have members as well. */
export const hasMembers = (value: unknown, ...names: readonly string[]): boolean =>
  ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
  names.every((name) => name in value);
