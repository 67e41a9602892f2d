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
  const ops = kernel.tape.map((i) => {
    const op = opOf(i);
    const taken = argumentsOf(i).map((arg) => kernel.tape[arg]!.dtype);
    return op === undefined ? undefined : scalarOp(op, taken, i.dtype);
  });
  for (const row of indices(kernel.parallel)) {
    const domain = inner.map((index) => [...row, ...index]);
    const first = [...row, ...kernel.reduced.map(() => 0)];
    const values: Scalar[][] = [];
    kernel.tape.forEach((_, position) => {
      const points = element[position] ? domain : [first];
      values.push(evaluate(kernel, position, ops[position], points, values, arrays, domain.length));
    });
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

/** One instruction at every point it has a value for. */
function evaluate(
  kernel: Kernel,
  position: number,
  op: ReturnType<typeof scalarOp> | undefined,
  points: readonly (readonly number[])[],
  values: readonly Scalar[][],
  arrays: readonly TypedArray[],
  length: number,
): Scalar[] {
  const i = formOf(kernel.tape[position]!);
  const args = argumentsOf(kernel.tape[position]!).map((arg) => values[arg]!);
  const pick = (arg: readonly Scalar[], k: number): Scalar => arg[arg.length === 1 ? 0 : k]!;
  switch (i.kind) {
    case 'load':
      return points.map((index, k) => {
        const place = placeOf(i.access, index);
        if (place === undefined) return zeroOf(i.dtype);
        const chosen = (i.access.index?.stride ?? 0) * Number(args[0] === undefined ? 0 : pick(args[0], k));
        return elementAt(i.dtype, arrays[i.access.buffer]!, place + chosen);
      });
    case 'const':
      return [castScalar(givenValue(i.value), i.dtype)];
    case 'index':
      return points.map((index) => BigInt(affineAt(i.affine, index)));
    case 'inside':
      return points.map((index) => i.bounds.every((bound) => isInside(bound, index)));
    case 'cast':
      return points.map((_, k) => castTo(pick(args[0]!, k), i.dtype));
    case 'map':
      return points.map((_, k) => op!(args.map((arg) => pick(arg, k))));
    case 'repeat': {
      const repeat = repeatOp(i.loop, i.result, scalarOp);
      return points.map((_, k) => repeat(args.map((arg) => pick(arg, k))));
    }
    case 'function': {
      const own = cudaOp(i.function, i.result, scalarOp);
      return points.map((_, k) => own(args.map((arg) => pick(arg, k))));
    }
    case 'reduce': {
      const dtype = kernel.tape[i.args[0]!]!.dtype;
      const all = Array.from({ length }, (_, k) => pick(args[0]!, k));
      if (i.args.length === 1) return [castTo(reduceValues(i.reduction, all, dtype), i.dtype)];
      const positions = all.map((_, k) => pick(args[1]!, k));
      return [castTo(extremePosition(i.reduction, all, positions, dtype), i.dtype)];
    }
  }
}
