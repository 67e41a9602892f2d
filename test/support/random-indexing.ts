/**
 * Actions of random programs (`random-graph.ts`) that look at order or write by index: sorts, scans,
 * segments, updates, and parts that masks select, joined with others.
 */
import { isComplex, isFloat } from '../../src/graph/dtype.js';
import { arange, concat, type Lazy } from '../../src/index.js';
import { sizeOf } from './host.js';
import {
  at,
  type Choice,
  componentsOf,
  integerLimit,
  type Made,
  type State,
  type Value,
} from './random-values.js';

/** A value with its place among the others. */
interface Operand extends Value {
  readonly i: number;
}

const isReal = ({ lazy }: Value): boolean => !isComplex(lazy.dtype);

/** Whether float sums up to this size are exact. */
const isSummed = ({ lazy }: Value, limit: number | undefined): boolean =>
  !(isFloat(lazy.dtype) || isComplex(lazy.dtype)) ||
  (limit !== undefined && limit <= integerLimit(lazy.dtype));

const times = (bound: number | undefined, count: number): number | undefined =>
  bound === undefined ? undefined : bound * Math.max(count, 1);

function sorted(x: Operand, axis: number, b: number): Made {
  if (!isReal(x)) return undefined;
  const descending = b % 2 === 1;
  const code = `v${x.i}.sort(${axis}, { descending: ${descending} })`;
  const { exact, bound } = x;
  return { value: { lazy: x.lazy.sort(axis, { descending }), exact, bound }, code };
}

function scanned(x: Operand, axis: number, b: number): Made {
  const method = at(['cumulativeSum', 'cumulativeMax', 'cumulativeMin'] as const, b);
  const reverse = b % 2 === 1;
  const code = `v${x.i}.${method}(${axis}, { reverse: ${reverse} })`;
  if (method !== 'cumulativeSum') {
    if (!isReal(x)) return undefined;
    return { value: { lazy: x.lazy[method](axis, { reverse }), exact: x.exact, bound: x.bound }, code };
  }
  const bound = times(x.bound, x.lazy.shape[axis]!);
  const exact = x.exact && isSummed(x, bound);
  return { value: { lazy: x.lazy.cumulativeSum(axis, { reverse }), exact, bound }, code, zeros: 'any' };
}

/** Rows in three segments. */
function segmented(x: Operand, b: number): Made {
  const rows = x.lazy.shape[0]!;
  const method = at(['segmentSum', 'segmentProd', 'segmentMax', 'segmentMin'] as const, b);
  const own = Math.ceil(rows / 3);
  if (rows < 3) return undefined;
  const ids = arange(rows, 'int32').mul(7).remainder(3);
  const code = `v${x.i}.${method}(arange(${rows}, 'int32').mul(7).remainder(3), 3)`;
  const made = (bound: number | undefined, exact: boolean): Made => ({
    value: { lazy: x.lazy[method](ids, 3), exact, bound },
    code,
    zeros: 'any',
  });
  if (method === 'segmentSum') {
    const bound = times(x.bound, own);
    return made(bound, x.exact && isSummed(x, bound));
  }
  if (method === 'segmentProd') {
    if (x.bound === undefined || x.bound > 8 || own > 4) return undefined;
    const bound = (Math.max(x.bound, 1) * componentsOf(x.lazy.dtype)) ** own;
    return made(bound, x.exact && isSummed(x, bound));
  }
  return isReal(x) ? made(x.bound, x.exact) : undefined;
}

/** Rows updated by the rows of the same array, some of them twice. */
function updated(x: Operand, b: number): Made {
  const rows = x.lazy.shape[0]!;
  const method = at(['set', 'add', 'multiply', 'max', 'min'] as const, b);
  if (rows === 0 || ((method === 'max' || method === 'min') && !isReal(x))) return undefined;
  if (x.lazy.dtype === 'bool' && method !== 'set') return undefined;
  const ids = arange(rows, 'int32').mul(2).remainder(rows);
  const lazy = x.lazy.at(ids)[method](x.lazy);
  const code = `v${x.i}.at(arange(${rows}, 'int32').mul(2).remainder(${rows})).${method}(v${x.i})`;
  if (method === 'add') {
    const bound = times(x.bound, 3);
    return { value: { lazy, exact: x.exact && isSummed(x, bound), bound }, code, zeros: 'any' };
  }
  if (method === 'multiply') {
    if (x.bound === undefined || x.bound > 20) return undefined;
    const bound = (Math.max(x.bound, 1) * componentsOf(x.lazy.dtype)) ** 3;
    return { value: { lazy, exact: x.exact && isSummed(x, bound), bound }, code, zeros: 'any' };
  }
  return { value: { lazy, exact: x.exact, bound: x.bound }, code, zeros: 'any' };
}

/** The elements that a mask selects, joined with all and reduced: its size depends on data. */
function selected(x: Operand, b: number): Made {
  if (!isReal(x) || !x.exact) return undefined;
  const kept = x.lazy.slice(x.lazy.greater(0));
  const own = `v${x.i}.slice(v${x.i}.greater(0))`;
  const count = 2 * sizeOf(x.lazy.shape);
  const [finish, text] = at<readonly [(joined: Lazy) => Lazy, string]>(
    [
      [(joined) => joined.sum(), 'sum()'],
      [(joined) => joined.max(), 'max()'],
      [(joined) => joined.sort().cumulativeMin().sum(), 'sort().cumulativeMin().sum()'],
    ],
    b,
  );
  const joined = b % 2 === 0 ? concat([kept, x.lazy.ravel()]) : concat([x.lazy.ravel(), kept, kept]);
  const parts = b % 2 === 0 ? `${own}, v${x.i}.ravel()` : `v${x.i}.ravel(), ${own}, ${own}`;
  const bound = text === 'max()' ? x.bound : times(x.bound, 2 * count);
  if (text !== 'max()' && !isSummed(x, bound)) return undefined;
  return {
    value: { lazy: finish(joined), exact: true, bound },
    code: `concat([${parts}]).${text}`,
    zeros: 'any',
  };
}

/** An action by order or index. */
export function indexed(state: State, { a, b, c }: Choice): Made {
  const i = state.index(a);
  const x: Operand = { ...state.values[i]!, i };
  const rank = x.lazy.shape.length;
  if (rank === 0 || sizeOf(x.lazy.shape) === 0) return undefined;
  const axis = b % rank;
  return at(
    [
      () => sorted(x, axis, b),
      () => scanned(x, axis, b),
      () => segmented(x, b),
      () => updated(x, b),
      () => selected(x, b),
    ],
    c,
  )();
}
