/** A sparse matrix times dense columns, slowly and obviously. Used by the interpreters. */
import { type Complex, type DType, isComplex, type Scalar } from '../../src/graph/dtype.js';
import type { RoutineInput } from './reference-bins.js';
import { reduceValues } from './reference-reduce.js';
import { isComplexValue } from './scalar.js';

function times(a: Scalar, b: Scalar, dtype: DType): Scalar {
  if (typeof a === 'number') return a * Number(b);
  if (!isComplexValue(a) || !isComplexValue(b)) return reduceValues('prod', [a, b], dtype);
  return { re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re };
}

function plus(a: Scalar, b: Scalar, dtype: DType): Scalar {
  if (typeof a === 'number') return a + Number(b);
  if (!isComplexValue(a) || !isComplexValue(b)) return reduceValues('sum', [a, b], dtype);
  return { re: a.re + b.re, im: a.im + b.im };
}

const zeroOf = (dtype: DType): Scalar =>
  isComplex(dtype) ? { re: 0, im: 0 } : dtype === 'int64' || dtype === 'uint64' ? 0n : 0;

/** Every element is summed by lanes, each of every `lanes`-th product, whose sums are then halved. */
export function sparseProduct(lanes: number, inputs: readonly RoutineInput[]): readonly Scalar[] {
  const [starts, places, stored, dense] = inputs as readonly RoutineInput[] & { length: 4 };
  const { dtype } = stored!;
  const width = dense!.shape[1]!;
  return starts!.values.slice(1).flatMap((end, row) => {
    const first = Number(starts!.values[row]);
    return Array.from({ length: width }, (_, column) => {
      let sums = Array.from({ length: lanes }, () => zeroOf(dtype));
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
