/** Routines of sparse matrices, slowly and obviously. Used by the interpreters. */
import { type Complex, type DType, isComplex, type Scalar } from '../../src/graph/dtype.js';
import type { RoutineInput } from './reference-bins.js';
import { reduceValues } from './reference-reduce.js';
import { isComplexValue } from './scalar.js';

function times(a: Scalar, b: Scalar, dtype: DType): Scalar {
  if (typeof a === 'number') return a * Number(b);
  if (!isComplexValue(a) || !isComplexValue(b)) return reduceValues('prod', [a, b], dtype);
  return { re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re };
}

export function plus(a: Scalar, b: Scalar, dtype: DType): Scalar {
  if (typeof a === 'number') return a + Number(b);
  if (!isComplexValue(a) || !isComplexValue(b)) return reduceValues('sum', [a, b], dtype);
  return { re: a.re + b.re, im: a.im + b.im };
}

export const zeroFor = (dtype: DType): Scalar =>
  isComplex(dtype) ? { re: 0, im: 0 } : dtype === 'int64' || dtype === 'uint64' ? 0n : 0;

/** Every element is summed by lanes, each of every `lanes`-th product, whose sums are then halved. */
export function sparseProduct(lanes: number, inputs: readonly RoutineInput[]): readonly Scalar[] {
  const [dense, starts, places, stored] = inputs as readonly RoutineInput[] & { length: 4 };
  const { dtype } = stored!;
  const width = dense!.shape[1]!;
  return starts!.values.slice(1).flatMap((end, row) => {
    const first = Number(starts!.values[row]);
    return Array.from({ length: width }, (_, column) => {
      let sums = Array.from({ length: lanes }, () => zeroFor(dtype));
      for (let k = first; k < Number(end); k++) {
        const lane = (k - first) % lanes;
        const place = Math.min(Number(places!.values[k]), dense!.shape[0]! - 1);
        const factor = dense!.values[place * width + column]!;
        sums[lane] = plus(sums[lane]!, times(stored!.values[k]!, factor, dtype), dtype);
      }
      while (sums.length > 1) {
        const half = sums.length / 2;
        sums = sums.slice(0, half).map((a, k) => plus(a, sums[half + k]!, dtype));
      }
      return sums[0]!;
    });
  });
}

function dividedBy(a: Scalar, b: Scalar): Scalar {
  if (typeof a === 'number') return a / Number(b);
  const [x, y] = [a, b] as readonly [Complex, Complex];
  const size = y.re * y.re + y.im * y.im;
  return { re: (x.re * y.re + x.im * y.im) / size, im: (x.im * y.re - x.re * y.im) / size };
}

/** Rows one after the other, from the first one on, or of an upper triangle from the last one. */
export function sparseTriangularSolve(
  [, isUpper]: readonly number[],
  inputs: readonly RoutineInput[],
): readonly Scalar[] {
  const [b, starts, places, stored, diagonal] = inputs as readonly RoutineInput[] & { length: 5 };
  const { dtype } = b!;
  const [, rows, width] = b!.shape as readonly [number, number, number];
  const x: Scalar[] = [...b!.values];
  for (let step = 0; step < rows; step++) {
    const row = isUpper === 1 ? rows - 1 - step : step;
    for (let column = 0; column < width; column++) {
      let rest = b!.values[row * width + column]!;
      for (let k = Number(starts!.values[row]); k < Number(starts!.values[row + 1]); k++) {
        const place = Number(places!.values[k]);
        if (isUpper === 1 ? place <= row : place >= row) continue;
        const known = times(stored!.values[k]!, x[place * width + column]!, dtype);
        rest = plus(rest, times(known, isComplex(dtype) ? { re: -1, im: 0 } : -1, dtype), dtype);
      }
      x[row * width + column] = dividedBy(rest, diagonal!.values[row]!);
    }
  }
  return x;
}

/** The places of a row's stored elements. */
const placesOf = (starts: RoutineInput, row: number): number[] => {
  const first = Number(starts.values[row]);
  return Array.from({ length: Math.max(0, Number(starts.values[row + 1]) - first) }, (_, k) => first + k);
};

/** The row of each stored element; behind the last one the number of rows. */
export function sparseRows([bound]: readonly number[], [starts]: readonly RoutineInput[]): readonly Scalar[] {
  const rows = starts!.values.length - 1;
  const found = Array.from({ length: rows }, (_, row) =>
    placesOf(starts!, row).map(() => BigInt(row)),
  ).flat();
  return Array.from({ length: bound! }, (_, k) => found[k] ?? BigInt(rows));
}

/** The elements of each row of a product of two sparse matrices, by column. */
function productRows(
  [startsA, placesA, valuesA]: readonly RoutineInput[],
  [startsB, placesB, valuesB]: readonly RoutineInput[],
): readonly ReadonlyMap<bigint, Scalar>[] {
  const dtype = valuesB?.dtype ?? 'float64';
  return startsA!.values.slice(1).map((_, row) => {
    const sums = new Map<bigint, Scalar>();
    for (const k of placesOf(startsA!, row))
      for (const j of placesOf(startsB!, Number(placesA!.values[k]))) {
        const column = BigInt(Number(placesB!.values[j]));
        const product = valuesB === undefined ? 0 : times(valuesA!.values[k]!, valuesB.values[j]!, dtype);
        sums.set(column, plus(sums.get(column) ?? zeroFor(dtype), product, dtype));
      }
    return sums;
  });
}

export const sparseMatmulCounts = ([startsA, placesA, startsB, placesB]: readonly RoutineInput[]): Scalar[] =>
  productRows([startsA!, placesA!], [startsB!, placesB!]).map(({ size }) => BigInt(size));

export function sparseMatmul([, , , bound]: readonly number[], inputs: readonly RoutineInput[]): Scalar[][] {
  const { dtype } = inputs[2]!;
  const found = productRows(inputs.slice(0, 3), inputs.slice(3, 6)).flatMap((row) =>
    [...row].sort(([a], [b]) => Number(a - b)),
  );
  const filled = (none: Scalar, part: 0 | 1): Scalar[] =>
    Array.from({ length: bound! }, (_, k) => found[k]?.[part] ?? none);
  return [filled(0n, 0), filled(zeroFor(dtype), 1)];
}

/** The places of the elements that a mask selects, of each row. */
const selectedRows = (starts: RoutineInput, mask: RoutineInput): readonly (readonly number[])[] =>
  starts.values.slice(1).map((_, row) => placesOf(starts, row).filter((k) => Number(mask.values[k]) !== 0));

export const sparseSelectCounts = ([starts, mask]: readonly RoutineInput[]): Scalar[] =>
  selectedRows(starts!, mask!).map(({ length }) => BigInt(length));

export function sparseSelect(
  [bound]: readonly number[],
  [starts, places, values, mask]: readonly RoutineInput[],
): Scalar[][] {
  const found = selectedRows(starts!, mask!).flat();
  const zero = zeroFor(values!.dtype);
  return [
    Array.from({ length: bound! }, (_, k) => (k < found.length ? places!.values[found[k]!]! : 0n)),
    Array.from({ length: bound! }, (_, k) => (k < found.length ? values!.values[found[k]!]! : zero)),
  ];
}

/** Zeros, and the elements of each row. */
export function sparseDense(
  [columns]: readonly number[],
  [starts, places, values]: readonly RoutineInput[],
): Scalar[] {
  const zero = zeroFor(values!.dtype);
  return starts!.values.slice(1).flatMap((_, row) => {
    const line = Array.from({ length: columns! }, () => zero);
    for (const k of placesOf(starts!, row)) line[Number(places!.values[k])] = values!.values[k]!;
    return line;
  });
}

/** Column, place in A and place in B of each element of a row that either matrix has, or both. */
function mergedRows(isOfBoth: boolean, inputs: readonly RoutineInput[]): readonly (readonly bigint[][])[] {
  const [startsA, placesA, startsB, placesB] = inputs as readonly RoutineInput[] & { length: 4 };
  const inRow = (starts: RoutineInput, places: RoutineInput, row: number): Map<bigint, bigint> =>
    new Map(placesOf(starts, row).map((k) => [BigInt(Number(places.values[k])), BigInt(k)]));
  return startsA!.values.slice(1).map((_, row) => {
    const [a, b] = [inRow(startsA!, placesA!, row), inRow(startsB!, placesB!, row)];
    const columns = [...new Set([...a.keys(), ...b.keys()])].sort((x, y) => Number(x - y));
    const wanted = isOfBoth ? columns.filter((column) => a.has(column) && b.has(column)) : columns;
    return wanted.map((column) => [column, a.get(column) ?? -1n, b.get(column) ?? -1n]);
  });
}

export const sparseMergeCounts = ([isOfBoth]: readonly number[], inputs: readonly RoutineInput[]): Scalar[] =>
  mergedRows(isOfBoth === 1, inputs).map((row) => BigInt(row.length));

export function sparseMerge(
  [isOfBoth, , bound]: readonly number[],
  inputs: readonly RoutineInput[],
): Scalar[][] {
  const [startsA, placesA, valuesA, startsB, placesB, valuesB] = inputs;
  const found = mergedRows(isOfBoth === 1, [startsA!, placesA!, startsB!, placesB!]).flat();
  const zero = zeroFor(valuesA!.dtype);
  const valueAt = ({ values }: RoutineInput, place: bigint | undefined): Scalar =>
    place === undefined || place < 0n ? zero : values[Number(place)]!;
  const all = Array.from({ length: bound! }, (_, k) => found[k]);
  return [
    all.map((element) => element?.[0] ?? 0n),
    all.map((element) => valueAt(valuesA!, element?.[1])),
    all.map((element) => valueAt(valuesB!, element?.[2])),
  ];
}
