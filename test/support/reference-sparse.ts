/** A sparse matrix times dense columns, slowly and obviously. Used by the interpreters. */
import { type DType, isComplex, type Scalar } from '../../src/graph/dtype.js';
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
