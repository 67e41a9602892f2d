/**
 * Values of random graphs by structure: reductions, views, joins and contractions. Used by `random-graph.ts`.
 */
import { isComplex, isFloat } from '../../src/graph/dtype.js';
import type { Shape } from '../../src/graph/expr.js';
import { concat, einsum, type Lazy, stack, where } from '../../src/index.js';
import { sizeOf } from './host.js';
import {
  at,
  broadcastable,
  type Choice,
  componentsOf,
  integerLimit,
  type Made,
  type State,
} from './random-values.js';

const REDUCTIONS = [
  'sum',
  'max',
  'min',
  'any',
  'all',
  'argmax',
  'argmin',
  'prod',
  'mean',
  'var',
  'countNonzero',
  'logsumexp',
  'std',
] as const;

type Axis = number | readonly number[] | null;

/** One axis, all of them, or the first and the last. */
function axisOf(rank: number, choice: number): Axis {
  if (rank === 0 || choice % 4 === 3) return null;
  return rank > 1 && choice % 5 === 4 ? [0, rank - 1] : choice % rank;
}

function reduced(x: Lazy, method: (typeof REDUCTIONS)[number], axis: Axis, keepdims: boolean): Lazy {
  if (method === 'argmax' || method === 'argmin') return x[method](axis as number | null, { keepdims });
  return x[method](axis, { keepdims });
}

export function reduce(state: State, { a, b, c }: Choice): Made {
  const method = at(REDUCTIONS, c);
  const i = state.index(a);
  const { lazy: x, exact, bound } = state.values[i]!;
  const rank = x.shape.length;
  const axis = axisOf(rank, b);
  const count = axis === null ? sizeOf(x.shape) : [axis].flat().reduce((n, k) => n * x.shape[k]!, 1);
  const keepdims = b % 2 === 1;
  const ordered = method === 'max' || method === 'min' || method === 'argmax' || method === 'argmin';
  if (ordered && (count === 0 || isComplex(x.dtype))) return undefined;
  if (Array.isArray(axis) && method.startsWith('arg')) return undefined;
  const floating = isFloat(x.dtype) || isComplex(x.dtype);
  let limit: number | undefined;
  let stays = true;
  switch (method) {
    case 'sum':
      limit = bound === undefined ? undefined : bound * Math.max(count, 1);
      stays = !floating || (limit !== undefined && limit <= integerLimit(x.dtype));
      break;
    case 'max':
    case 'min':
      limit = bound;
      break;
    case 'any':
    case 'all':
    case 'argmax':
    case 'argmin':
    case 'countNonzero':
      if (!exact) return undefined;
      limit = method === 'any' || method === 'all' ? 1 : Math.max(count, 1);
      break;
    case 'prod':
      if (floating && (bound === undefined || bound > 8 || count > 5)) return undefined;
      limit =
        bound === undefined || count > 5 ? undefined : (Math.max(bound, 1) * componentsOf(x.dtype)) ** count;
      stays = !floating || (limit !== undefined && limit <= integerLimit(x.dtype));
      break;
    case 'mean':
    case 'var':
    case 'std':
      if (count === 0 || x.dtype === 'bool' || isComplex(x.dtype)) return undefined;
      stays = false;
      break;
    case 'logsumexp':
      if (count === 0 || !isFloat(x.dtype) || bound === undefined || bound > 50) return undefined;
      stays = false;
      break;
  }
  const whole = reduced(x, method, axis, keepdims);
  // Of half of them only a part along the last axis is needed: nothing else reads the reduction.
  const isPart = a % 2 === 0 && whole.shape.length > 0;
  const part = isPart ? sliceAlong(whole, whole.shape.length - 1, c) : { lazy: whole, code: '' };
  return {
    value: { lazy: part.lazy, exact: exact && stays, bound: limit },
    code: `v${i}.${method}(${JSON.stringify(axis)}, { keepdims: ${keepdims} })${part.code}`,
    zeros: 'any',
  };
}

/** A slice along one axis, and its code. */
function sliceAlong(x: Lazy, axis: number, choice: number): { readonly lazy: Lazy; readonly code: string } {
  const spec = [choice % 3, null, 1 + (choice % 2)] as const;
  const lazy = x.slice(...Array<string>(axis).fill(':'), spec);
  return { lazy, code: `.slice(${"':', ".repeat(axis)}${JSON.stringify(spec)})` };
}

export function view(state: State, { a, b, c }: Choice): Made {
  const i = state.index(a);
  const { lazy: x, ...known } = state.values[i]!;
  const rank = x.shape.length;
  const made = (lazy: Lazy, code: string): Made => ({ value: { ...known, lazy }, code: `v${i}.${code}` });
  const axis = rank === 0 ? 0 : b % rank;
  switch (c % 16) {
    case 0:
      return made(x.transpose(), 'transpose()');
    case 1:
      return made(x.reshape([-1]), 'reshape([-1])');
    case 2:
      return made(x.expandDims(b % (rank + 1)), `expandDims(${b % (rank + 1)})`);
    case 3:
      return rank > 0 ? made(x.flip(axis), `flip(${axis})`) : undefined;
    case 4: {
      if (rank === 0) return undefined;
      const { lazy, code } = sliceAlong(x, axis, b);
      return made(lazy, code.slice(1));
    }
    case 5:
      return rank > 0 ? made(x.roll(b, axis), `roll(${b}, ${axis})`) : undefined;
    case 6:
      return sizeOf(x.shape) <= 300
        ? made(x.broadcastTo([2, ...x.shape]), `broadcastTo([2, ${x.shape}])`)
        : undefined;
    case 7:
      return rank > 1 ? made(x.tril((b % 5) - 2), `tril(${(b % 5) - 2})`) : undefined;
    case 8:
      return sizeOf(x.shape) <= 300 && rank > 0 ? made(x.pad([b % 3, 1]), `pad([${b % 3}, 1])`) : undefined;
    case 9:
      return sizeOf(x.shape) <= 300 ? made(x.tile([2, 1]), 'tile([2, 1])') : undefined;
    case 10:
      return sizeOf(x.shape) <= 300 && rank > 0 ? made(x.repeat(2, axis), `repeat(2, ${axis})`) : undefined;
    case 11:
      return rank > 1 ? made(x.moveaxis(0, -1), 'moveaxis(0, -1)') : undefined;
    case 12:
      return x.shape.includes(1)
        ? made(x.squeeze(x.shape.indexOf(1)), `squeeze(${x.shape.indexOf(1)})`)
        : undefined;
    case 14: {
      if (rank === 0 || x.shape[axis] === 0) return undefined;
      const list = [a, b, -1 - c, 0].map((n) => n % x.shape[axis]!);
      return made(x.take(list, axis), `take([${list}], ${axis})`);
    }
    case 13:
      return rank > 1 ? made(x.triu((b % 3) - 1), `triu(${(b % 3) - 1})`) : undefined;
    default:
      return rank > 1 ? made(x.slice(null, [null, null, -1]), 'slice(null, [null, null, -1])') : undefined;
  }
}

export function join(state: State, { a, b, c }: Choice): Made {
  const i = state.index(a);
  const x = state.values[i]!;
  if (sizeOf(x.lazy.shape) > 600) return undefined;
  const same = state.values
    .map((_, k) => k)
    .filter((k) => state.values[k]!.lazy.shape.join() === x.lazy.shape.join());
  const j = at(same, b);
  const y = state.values[j]!;
  const rank = x.lazy.shape.length;
  const bound = x.bound === undefined || y.bound === undefined ? undefined : Math.max(x.bound, y.bound);
  const known = { exact: x.exact && y.exact, bound };
  if (c % 3 === 0 && rank > 0)
    return {
      value: { lazy: concat([x.lazy, y.lazy], c % rank), ...known },
      code: `concat([v${i}, v${j}], ${c % rank})`,
    };
  if (c % 3 === 1)
    return {
      value: { lazy: stack([x.lazy, y.lazy], c % (rank + 1)), ...known },
      code: `stack([v${i}, v${j}], ${c % (rank + 1)})`,
    };
  const masks = state.values
    .map((_, k) => k)
    .filter(
      (k) =>
        state.values[k]!.lazy.dtype === 'bool' && broadcastable(state.values[k]!.lazy.shape, x.lazy.shape),
    );
  if (masks.length === 0) return undefined;
  const m = at(masks, c);
  return {
    value: { lazy: where(state.values[m]!.lazy, x.lazy, y.lazy), ...known },
    code: `where(v${m}, v${i}, v${j})`,
  };
}

export function product(state: State, { a, b }: Choice): Made {
  const i = state.index(a);
  const x = state.values[i]!;
  const k = x.lazy.shape.at(-1);
  const fits = state.values
    .map((_, j) => j)
    .filter(
      (j) =>
        state.values[j]!.lazy.shape.length === 2 &&
        state.values[j]!.lazy.shape[0] === k &&
        state.values[j]!.lazy.dtype === x.lazy.dtype,
    );
  const transposed = fits.length === 0 && x.lazy.shape.length === 2;
  if (k === undefined || (fits.length === 0 && !transposed)) return undefined;
  const j = transposed ? i : at(fits, b);
  const y = state.values[j]!;
  const dtype = x.lazy.dtype;
  if (dtype === 'bool') return undefined;
  const limit =
    x.bound === undefined || y.bound === undefined
      ? undefined
      : x.bound * y.bound * Math.max(k, 1) * componentsOf(dtype);
  const floating = isFloat(dtype) || isComplex(dtype);
  // A product of products may be taken in another order: then only exact integers stay exact.
  const stays = !floating || (limit !== undefined && 4096 * limit <= integerLimit(dtype));
  if (floating && !stays) return undefined;
  return {
    value: {
      lazy: x.lazy.matmul(transposed ? y.lazy.transpose() : y.lazy),
      exact: x.exact && y.exact,
      bound: limit,
    },
    code: `v${i}.matmul(v${j}${transposed ? '.transpose()' : ''})`,
    zeros: 'any',
  };
}

/** Sums of products whose axes are named; the sizes of equal letters agree. */
const SUBSCRIPTS = ['ij,ij->i', 'ij,ij->', 'ij,ik->jk', 'i,j->ij', 'ij->ji', 'ij,j->i', 'ijk,ik->j'] as const;

export function contraction(state: State, { a, b, c }: Choice): Made {
  const subscripts = at(SUBSCRIPTS, c);
  const [terms, output] = subscripts.split('->') as [string, string];
  const labels = terms.split(',');
  const i = state.index(a);
  const x = state.values[i]!;
  const { dtype } = x.lazy;
  const sizes = bind(new Map(), labels[0]!, x.lazy.shape);
  if (sizes === undefined || dtype === 'bool') return undefined;
  const fits = state.values
    .map((_, j) => j)
    .filter((j) => {
      const { lazy } = state.values[j]!;
      return (
        lazy.dtype === dtype && labels[1] !== undefined && bind(sizes, labels[1], lazy.shape) !== undefined
      );
    });
  if (labels.length > 1 && fits.length === 0) return undefined;
  const picked = labels.length > 1 ? [i, at(fits, b)] : [i];
  const values = picked.map((k) => state.values[k]!);
  const all = picked.reduce((known, k, n) => bind(known, labels[n]!, state.values[k]!.lazy.shape)!, sizes);
  const summed = [...all].reduce((n, [label, size]) => (output.includes(label) ? n : n * size), 1);
  if ([...output].reduce((n, label) => n * all.get(label)!, 1) > 20_000) return undefined;
  const limit = values.reduce<number | undefined>(
    (product, { bound }) => (product === undefined || bound === undefined ? undefined : product * bound),
    Math.max(summed, 1) * componentsOf(dtype),
  );
  const floating = isFloat(dtype) || isComplex(dtype);
  // As for products of matrices: any order of the products and sums has to be exact.
  if (floating && (limit === undefined || 4096 * limit > integerLimit(dtype))) return undefined;
  return {
    value: {
      lazy: einsum(subscripts, ...values.map(({ lazy }) => lazy)),
      exact: values.every(({ exact }) => exact),
      bound: limit,
    },
    code: `einsum('${subscripts}', ${picked.map((k) => `v${k}`).join(', ')})`,
    zeros: 'any',
  };
}

/** The sizes of axes with those of one more operand; undefined: they disagree. */
function bind(
  known: ReadonlyMap<string, number>,
  labels: string,
  shape: Shape,
): ReadonlyMap<string, number> | undefined {
  if (labels.length !== shape.length) return undefined;
  const sizes = new Map(known);
  for (const [k, label] of [...labels].entries()) {
    if ((sizes.get(label) ?? shape[k]) !== shape[k]) return undefined;
    sizes.set(label, shape[k]!);
  }
  return sizes;
}
