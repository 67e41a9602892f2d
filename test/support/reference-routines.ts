/** Routines of `graph/routines.ts` on exact values, slowly and obviously. Used by the interpreters. */
import { type Complex, type DType, isComplex, isFloat, type Scalar } from '../../src/graph/dtype.js';
import type { RoutineName } from '../../src/graph/routines.js';
import { SCAN_OPS, type ScanOp, scanTile } from '../../src/graph/scan-tiles.js';
import { indices } from './host.js';
import { binValues, type RoutineInput } from './reference-bins.js';
import { fourierValues } from './reference-fourier.js';
import { reduceValues } from './reference-reduce.js';
import {
  sparseDense,
  sparseMatmul,
  sparseMatmulCounts,
  sparseMerge,
  sparseMergeCounts,
  sparseProduct,
  sparseRows,
  sparseSelect,
  sparseSelectCounts,
  sparseTriangularSolve,
} from './reference-sparse.js';
import { sparseWay } from './reference-sparse-ways.js';
import { castScalar, integerRange, isComplexValue } from './scalar.js';

type Values = readonly Scalar[];
type Parts = readonly (number | bigint)[];

/** Real and imaginary part; booleans are 0 and 1. */
const partsOf = (value: Scalar): Parts => {
  if (isComplexValue(value)) return [value.re, value.im];
  return [typeof value === 'boolean' ? Number(value) : value];
};

const isNaNPart = (part: number | bigint): boolean => Number.isNaN(part as number);

/** Numbers before those with NaN parts, a NaN as real part last. */
const classOf = (parts: Parts): number =>
  parts.reduce<number>((sum, part, k) => sum + (isNaNPart(part) ? parts.length - k : 0), 0);

/** Compares numbers of one class. */
function compareParts(a: Parts, b: Parts, sign: number, zeros: boolean): number {
  for (let k = 0; k < a.length; k++) {
    const [x, y] = [a[k]!, b[k]!];
    if (isNaNPart(x) || isNaNPart(y)) continue;
    if (x !== y) return x < y ? -sign : sign;
    if (zeros && x === 0 && !Object.is(x, y)) return Object.is(x, -0) ? -sign : sign;
  }
  return 0;
}

/** The values of each result of a routine. */
export function routineValues(
  routine: RoutineName,
  parameters: readonly number[],
  inputs: readonly RoutineInput[],
): Values[] {
  if (routine === 'bins' || routine === 'histogram')
    return [binValues(routine === 'histogram', parameters, inputs)];
  if (routine === 'members' || routine === 'among') return [members(parameters[0] === 1, inputs)];
  if (routine === 'labels') return labels(parameters, inputs[0]!);
  // Of two ways, the one of other nodes.
  if (routine === 'unique') return [inputs[1]!.values, inputs[2]!.values];
  if (routine === 'uniqueCounts') return inputs.slice(-3).map(({ values }) => values);
  const sparse = sparseWay(routine, parameters, inputs);
  if (sparse !== undefined) return sparse;
  const [input, before] = inputs as readonly [RoutineInput, RoutineInput?];
  if (routine === 'sort' || routine === 'argsort')
    return [sorted(routine === 'argsort', parameters[0] === 1, input)];
  if (routine === 'compact' || routine === 'distinct') return kept(routine, inputs);
  if (routine === 'components') return [componentRoots(parameters, input)];
  if (routine === 'attention') return [attention(parameters, inputs)];
  if (routine === 'sparseProduct') return [sparseProduct(parameters[0]!, inputs)];
  if (routine === 'sparseTriangularSolve') return [sparseTriangularSolve(parameters, inputs)];
  if (routine === 'sparseDense') return [sparseDense(parameters, inputs)];
  if (routine === 'sparseRows') return [sparseRows(parameters, inputs)];
  if (routine === 'sparseMatmulCounts') return [sparseMatmulCounts(inputs)];
  if (routine === 'sparseMatmul') return sparseMatmul(parameters, inputs);
  if (routine === 'sparseSelectCounts') return [sparseSelectCounts(inputs)];
  if (routine === 'sparseSelect') return sparseSelect(parameters, inputs);
  if (routine === 'sparseMergeCounts') return [sparseMergeCounts(parameters, inputs)];
  if (routine === 'sparseMerge') return sparseMerge(parameters, inputs);
  if (routine === 'runProducts') return [runProducts(input, before!)];
  if (routine === 'writeRow') return [withRow(inputs)];
  if (routine === 'fft' || routine === 'rfft' || routine === 'irfft')
    return [fourierValues(routine, parameters, input)];
  if (routine === 'ranks' || routine === 'top') return selected(routine, parameters, input);
  const op = SCAN_OPS[parameters[0]!]!;
  const isReverse = parameters[1] === 1;
  if (routine === 'scanTotals') return [tileTotals(op, input)];
  if (routine === 'scanBefore') return [beforeTiles(op, isReverse, input)];
  return [scanned(op, isReverse, input, before)];
}

/** The places or elements where a mask is true, or the elements that differ from those before, and their number. */
function kept(routine: 'compact' | 'distinct', inputs: readonly RoutineInput[]): Values[] {
  const [{ values: line }, second] = inputs as readonly [RoutineInput, RoutineInput?];
  const isKept = (value: Scalar, at: number): boolean =>
    routine === 'compact' ? value === true : at === 0 || !isEqual(value, line[at - 1]!);
  const chosen = routine === 'distinct' ? line : (second?.values ?? line.map((_, at) => BigInt(at)));
  const result = chosen.filter((_, at) => isKept(line[at]!, at));
  const last = chosen.at(-1)!;
  return [chosen.map((_, k) => (k < result.length ? result[k]! : last)), [BigInt(result.length)]];
}

/** Whether each element is one of a set of integers, or none. */
function members(isInverse: boolean, [line, set]: readonly RoutineInput[]): Values {
  const all = new Set(set!.values);
  return line!.values.map((value) => all.has(value) !== isInverse);
}

/** The components of a mask by numbers from 1 in the order of their first elements, and how many there are. */
function labels(parameters: readonly number[], input: RoutineInput): Values[] {
  const roots = componentRoots(parameters, input);
  const numbers = new Map<Scalar, bigint>([[-1n, 0n]]);
  for (const root of roots) if (!numbers.has(root)) numbers.set(root, BigInt(numbers.size));
  return [roots.map((root) => numbers.get(root)!), [BigInt(numbers.size - 1)]];
}

/** The least place that each element of a mask reaches over neighbours, by flooding from every place. */
function componentRoots(parameters: readonly number[], { shape, values }: RoutineInput): Values {
  const before: number[][] = [];
  for (let k = 0; k < parameters.length; k += shape.length)
    before.push(parameters.slice(k, k + shape.length).map((by) => by - 1));
  const offsets = [...before, ...before.map((offset) => offset.map((by) => -by))];
  const places = Array.from(indices(shape), (index) => [...index]);
  const placeOf = (index: readonly number[]): number =>
    index.reduce((place, at, k) => place * shape[k]! + at, 0);
  const roots = values.map(() => -1n);
  for (const start of values.keys()) {
    if (values[start] !== true || roots[start] !== -1n) continue;
    const stack = [start];
    roots[start] = BigInt(start);
    for (let place = stack.pop(); place !== undefined; place = stack.pop()) {
      for (const offset of offsets) {
        const index = places[place]!.map((at, k) => at + offset[k]!);
        if (index.some((at, k) => at < 0 || at >= shape[k]!)) continue;
        const next = placeOf(index);
        if (values[next] !== true || roots[next] !== -1n) continue;
        roots[next] = BigInt(start);
        stack.push(next);
      }
    }
  }
  return roots;
}

const isEqual = (a: Scalar, b: Scalar): boolean =>
  typeof a === 'object' && typeof b === 'object' ? a.re === b.re && a.im === b.im : a === b;

/** Elements before, along and behind the axis of a scan. */
type Lines = readonly [outer: number, length: number, inner: number];

/** The places of the elements along the middle axis of three, for each line of them. */
function* linesOf([outer, length, inner]: Lines, isReverse: boolean): Generator<number[]> {
  for (let line = 0; line < outer * inner; line++) {
    const first = Math.floor(line / inner) * length * inner + (line % inner);
    const places = Array.from({ length }, (_, k) => first + k * inner);
    yield isReverse ? places.reverse() : places;
  }
}

/** An array [outer, rows, width] with one row set. */
function withRow([x, at, row]: readonly RoutineInput[]): Values {
  const [, rows, width] = x!.shape as readonly [number, number, number];
  return x!.values.map((value, k) => {
    const line = Math.floor(k / width);
    const isSet = BigInt(line % rows) === BigInt(at!.values[0] as bigint);
    return isSet ? row!.values[Math.floor(line / rows) * width + (k % width)]! : value;
  });
}

/** The products of runs of rows: those of every 32nd row first, then of halves of these. */
function runProducts({ dtype, shape, values }: RoutineInput, ends: RoutineInput): Values {
  const width = shape[1]!;
  const product = (factors: Values): Scalar =>
    factors.reduce((a, b) => combined('prod', a, b, dtype), identityOf('prod', dtype));
  return ends.values.flatMap((end, run) => {
    const first = run === 0 ? 0 : Number(ends.values[run - 1]);
    const rows = Array.from({ length: Number(end) - first }, (_, k) => first + k);
    return Array.from({ length: width }, (_, column) => {
      let lanes = Array.from({ length: 32 }, (_, lane) =>
        product(
          rows.filter((row) => (row - first) % 32 === lane).map((row) => values[row * width + column]!),
        ),
      );
      while (lanes.length > 1) {
        const half = lanes.length / 2;
        lanes = lanes.slice(0, half).map((a, k) => combined('prod', a, lanes[half + k]!, dtype));
      }
      return lanes[0]!;
    });
  });
}

/** The running values along the middle axis, from the value before each tile. */
function scanned(
  op: ScanOp,
  isReverse: boolean,
  { dtype, shape, values }: RoutineInput,
  before?: RoutineInput,
): Values {
  const lines = shape as unknown as Lines;
  const [, length, inner] = lines;
  const tile = scanTile(dtype, inner);
  const tiles = Math.ceil(length / tile);
  const result: Scalar[] = [...values];
  for (const places of linesOf(lines, isReverse)) {
    let sum = identityOf(op, dtype);
    for (const place of places) {
      const row = Math.floor(place / inner);
      const at = row % length;
      const isFirst = isReverse ? (at + 1) % tile === 0 || at + 1 === length : at % tile === 0;
      const own = (Math.floor(row / length) * tiles + Math.floor(at / tile)) * inner + (place % inner);
      if (before !== undefined && isFirst) sum = before.values[own]!;
      sum = combined(op, sum, widened(op, values[place]!), dtype);
      result[place] = castScalar(rounded(op, sum), dtype);
    }
  }
  return result;
}

/** The values over each tile of the middle axis. */
function tileTotals(op: ScanOp, { dtype, shape, values }: RoutineInput): Values {
  const [outer, length, inner] = shape as unknown as Lines;
  const tile = scanTile(dtype, inner);
  const tiles = Math.ceil(length / tile);
  const result = Array.from({ length: outer * tiles * inner }, () => identityOf(op, dtype));
  for (const [place, value] of values.entries()) {
    const row = Math.floor(place / inner);
    const own =
      (Math.floor(row / length) * tiles + Math.floor((row % length) / tile)) * inner + (place % inner);
    result[own] = combined(op, result[own]!, widened(op, value), dtype);
  }
  return result;
}

/** The values over all tiles before each, by the tiles' totals. */
function beforeTiles(op: ScanOp, isReverse: boolean, { dtype, shape, values }: RoutineInput): Values {
  const result: Scalar[] = [...values];
  for (const places of linesOf(shape as unknown as Lines, isReverse)) {
    let sum = identityOf(op, dtype);
    for (const place of places) {
      result[place] = sum;
      sum = combined(op, sum, values[place]!, dtype);
    }
  }
  return result;
}

/** The value that combined with another one gives that one. */
function identityOf(op: ScanOp, dtype: DType): Scalar {
  if (op === 'logsumexp') return { re: Number.NEGATIVE_INFINITY, im: 0 };
  const isSum = op === 'sum';
  if (isComplex(dtype)) return isSum ? { re: -0, im: -0 } : { re: 1, im: 0 };
  if (op === 'sum' || op === 'prod') return isFloat(dtype) ? (isSum ? -0 : 1) : isSum ? 0n : 1n;
  if (dtype === 'bool') return op === 'min';
  if (isFloat(dtype)) return op === 'min' ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
  const { least, most } = integerRange(dtype);
  return op === 'min' ? most : least;
}

/**
 * An element as a number to combine; a sum of exponentials is its largest exponent and the sum relative to
 * it.
 */
const widened = (op: ScanOp, value: Scalar): Scalar =>
  op === 'logsumexp' ? { re: Number(value), im: 1 } : value;
const rounded = (op: ScanOp, sum: Scalar): Scalar =>
  op === 'logsumexp' && isComplexValue(sum) ? sum.re + Math.log(sum.im) : sum;

/** As of two elements, but that -0 and -0 are -0. */
function combined(op: ScanOp, a: Scalar, b: Scalar, dtype: DType): Scalar {
  if (op === 'sum' && typeof a === 'number') return a + Number(b);
  if (isComplexValue(a) && isComplexValue(b)) {
    if (op === 'sum') return { re: a.re + b.re, im: a.im + b.im };
    if (op === 'logsumexp') {
      const most = a.re === b.re ? a.re : Math.max(a.re, b.re);
      const part = ({ re, im }: Complex): number => (re === most || im === 0 ? im : im * Math.exp(re - most));
      return { re: most, im: part(a) + part(b) };
    }
    if (a.re === 1 && a.im === 0) return b;
  }
  return reduceValues(op, [a, b], dtype);
}

/** softmax(Q Kᵀ · scale) V, where row i may have only columns up to i + offset; without a map of scores. */
function attention(
  [scale, isCausal, offset, repeats]: readonly number[],
  [q, k, v]: readonly RoutineInput[],
): Values {
  const [batch, m, inner] = q!.shape as [number, number, number];
  const [, n, width] = v!.shape as [number, number, number];
  const at = ({ values }: RoutineInput, place: number): number => Number(values[place]!);
  return [...indices([batch, m, width])].map((index) => {
    const [b, i, e] = index as [number, number, number];
    const other = Math.floor(b / repeats!) * n;
    const columns = isCausal === 1 ? Math.max(0, Math.min(n, i + offset! + 1)) : n;
    const scores = Array.from({ length: columns }, (_, j) =>
      Array.from(
        { length: inner },
        (__, d) => at(q!, (b * m + i) * inner + d) * at(k!, (other + j) * inner + d) * scale!,
      ).reduce((sum, product) => sum + product, 0),
    );
    const most = Math.max(...scores);
    const powers = scores.map((score) => Math.exp(score - most));
    const total = powers.reduce((sum, power) => sum + power, 0);
    const sum = powers.reduce((all, power, j) => all + power * at(v!, (other + j) * width + e), 0);
    return castScalar(sum / total, q!.dtype);
  });
}

/** The elements at ranks of sorted rows, or the first elements of rows in order and their indices. */
function selected(routine: 'ranks' | 'top', parameters: readonly number[], input: RoutineInput): Values[] {
  const { shape, values } = input;
  const length = shape.at(-1)!;
  const isTop = routine === 'top';
  const ordered = sorted(isTop, isTop && parameters[0] === 1, input);
  const places = isTop ? Array.from({ length: parameters[1]! }, (_, k) => k) : parameters;
  const found = Array.from({ length: shape[0]! }, (_, row) =>
    places.map((place) => ordered[row * length + place]!),
  );
  if (!isTop) return [found.flat()];
  return [found.flatMap((own, row) => own.map((at) => values[row * length + Number(at)]!)), found.flat()];
}

function sorted(isArgument: boolean, descending: boolean, { shape, values }: RoutineInput): Values {
  const length = shape.at(-1)!;
  const sign = descending ? -1 : 1;
  const ordered: Scalar[] = [];
  for (let row = 0; row * length < values.length; row++) {
    const own = values.slice(row * length, (row + 1) * length);
    const parts = own.map(partsOf);
    const classes = parts.map(classOf);
    const order = own.map((_, k) => k);
    order.sort(
      (i, j) => classes[i]! - classes[j]! || compareParts(parts[i]!, parts[j]!, sign, !isArgument) || i - j,
    );
    for (const k of order) ordered.push(isArgument ? BigInt(k) : own[k]!);
  }
  return ordered;
}
