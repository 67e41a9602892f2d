/**
 * Evaluates a Kernel slowly and obviously: row by row, instruction by instruction, on exact values rounded to
 * the instruction's dtype. What the generated code of either backend is compared with, ahead of any graph.
 */

import { opOf } from '../../src/fusion/kernel/arithmetic.js';
import { argumentsOf, formOf, type Kernel } from '../../src/fusion/kernel/kernel.js';
import { levelsOf } from '../../src/fusion/kernel/levels.js';
import type { DType, Scalar } from '../../src/graph/dtype.js';
import type { TypedArray } from '../../src/graph/expr.js';
import { givenValue } from '../../src/graph/runtime-scalar.js';
import { affineAt, isInside, placeOf } from './folds.js';
import { allocate, elementAt, indices, setElement } from './host.js';
import { scalarOp } from './reference.js';
import { cudaOp, repeatOp } from './reference-loops.js';
import { extremePosition, reduceValues } from './reference-reduce.js';
import { castScalar, isComplexValue, zeroOf } from './scalar.js';

const castTo = (value: Scalar, dtype: DType): Scalar => {
  const real = isComplexValue(value) && !dtype.startsWith('complex') && dtype !== 'bool';
  return castScalar(real ? value.re : value, dtype);
};

/** The values of every buffer after the kernel ran: inputs as given, outputs new. */
export function interpretKernel(kernel: Kernel, inputs: readonly (TypedArray | undefined)[]): TypedArray[] {
  const arrays = kernel.buffers.map(
    ({ dtype, elementCount }, k) => inputs[k] ?? allocate(dtype, elementCount),
  );
  const { element } = levelsOf(kernel);
  const inner = Array.from(indices(kernel.reduced), (index) => [...index]);
  const evaluations = kernel.tape.map((_, position) => evaluationOf(kernel, position, arrays));
  for (const row of indices(kernel.parallel)) {
    const domain = inner.map((index) => [...row, ...index]);
    const first = [...row, ...kernel.reduced.map(() => 0)];
    const values: Scalar[][] = [];
    for (const [position, evaluate] of evaluations.entries()) {
      const points = element[position] ? domain : [first];
      values.push(evaluate(points, values, domain.length));
    }
    for (const { value, access } of kernel.stores) {
      const spread = element[value] || access.strides.some((s, k) => k >= row.length && s !== 0);
      const { dtype } = kernel.buffers[access.buffer]!;
      (spread ? domain : [first]).forEach((index, k) => {
        setElement(
          dtype,
          arrays[access.buffer]!,
          affineAt(access, index),
          values[value]![element[value] ? k : 0]!,
        );
      });
    }
  }
  return arrays;
}

type Point = readonly number[];

/** The values of an instruction at its points, by those of the instructions before it; `length`: points of the row. */
type Evaluation = (points: readonly Point[], values: readonly Scalar[][], length: number) => Scalar[];

const pick = (values: readonly Scalar[], k: number): Scalar => values[values.length === 1 ? 0 : k]!;

/** One instruction at every point it has a value for. */
function evaluationOf(kernel: Kernel, position: number, arrays: readonly TypedArray[]): Evaluation {
  const instruction = kernel.tape[position]!;
  const i = formOf(instruction);
  const from = argumentsOf(instruction);
  const mapped =
    (op: (args: readonly Scalar[]) => Scalar): Evaluation =>
    (points, values) => {
      const args = from.map((arg) => values[arg]!);
      return points.map((_, k) => op(args.map((arg) => pick(arg, k))));
    };
  switch (i.kind) {
    case 'load': {
      const stride = i.access.index?.stride ?? 0;
      return (points, values) => {
        const further = from[0] === undefined ? undefined : values[from[0]]!;
        return points.map((index, k) => {
          const place = placeOf(i.access, index);
          if (place === undefined) return zeroOf(i.dtype);
          const chosen = further === undefined ? 0 : stride * Number(pick(further, k));
          return elementAt(i.dtype, arrays[i.access.buffer]!, place + chosen);
        });
      };
    }
    case 'const': {
      const value = castScalar(givenValue(i.value), i.dtype);
      return () => [value];
    }
    case 'index':
      return (points) => points.map((index) => BigInt(affineAt(i.affine, index)));
    case 'inside':
      return (points) => points.map((index) => i.bounds.every((bound) => isInside(bound, index)));
    case 'cast':
      return mapped(([value]) => castTo(value!, i.dtype));
    case 'map': {
      const dtypes = from.map((arg) => kernel.tape[arg]!.dtype);
      return mapped(scalarOp(opOf(instruction)!, dtypes, i.dtype));
    }
    case 'repeat':
      return mapped(repeatOp(i.loop, i.result, scalarOp));
    case 'function':
      return mapped(cudaOp(i.function, i.result, scalarOp));
    case 'reduce': {
      const [taken, places] = i.args as readonly [number, number | undefined];
      const { dtype } = kernel.tape[taken]!;
      return (_, values, length) => {
        const all = Array.from({ length }, (_, k) => pick(values[taken]!, k));
        if (places === undefined) return [castTo(reduceValues(i.reduction, all, dtype), i.dtype)];
        const positions = all.map((_, k) => pick(values[places]!, k));
        return [castTo(extremePosition(i.reduction, all, positions, dtype), i.dtype)];
      };
    }
  }
}
