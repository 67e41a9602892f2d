/** Loops of elements, run one element at a time: what every backend is compared with. */

import { type DType, isHalf, type Scalar } from '../../src/graph/dtype.js';
import { dtypeAt } from '../../src/graph/element-loop.js';
import type { CudaFunction, ElementLoop, ElementStep, StepValue } from '../../src/graph/loop-step.js';
import type { OpName } from '../../src/graph/ops.js';
import { castScalar, isComplexValue } from './scalar.js';

type ScalarOp = (op: OpName, dtypes: readonly DType[], result: DType) => Function;
type Function = (args: readonly Scalar[]) => Scalar;

/** A state after a loop, as a function of the loop's arguments; `scalarOp` gives the functions of ops. */
export function repeatOp(loop: ElementLoop, result: number, scalarOp: ScalarOp): Function {
  const functions = loop.values.map((value) => functionOf(loop, value, scalarOp));
  return (args) => {
    let values = [...args];
    for (;;) {
      loop.values.forEach(({ args: taken }, k) => {
        if (k < loop.conditionLength) values.push(functions[k]!(taken.map((at) => values[at]!)));
      });
      if (values[loop.condition] !== true) return values[result]!;
      loop.values.forEach(({ args: taken }, k) => {
        if (k >= loop.conditionLength) values.push(functions[k]!(taken.map((at) => values[at]!)));
      });
      values = args.map((value, k) => (k < loop.next.length ? values[loop.next[k]!]! : value));
    }
  };
}

/** A result of a function in CUDA C, by its version for the CPU. */
export function cudaOp(own: CudaFunction, result: number, scalarOp: ScalarOp): Function {
  if (own.cpu === undefined) throw new TypeError('a function in CUDA C without a version for the CPU');
  const { values, next } = own.cpu;
  const functions = values.map((value) => functionOf(own.cpu!, value, scalarOp));
  return (args) => {
    const made = [...args];
    values.forEach((value, k) => {
      made.push(functions[k]!(value.args.map((arg) => made[arg]!)));
    });
    return made[next[result]!]!;
  };
}

function functionOf(loop: ElementStep, value: StepValue, scalarOp: ScalarOp): Function {
  const dtypes = value.args.map((arg) => dtypeAt(loop, arg));
  switch (value.kind) {
    case 'map':
      if (dtypes.some(isHalf)) throw new TypeError(`${value.op} of a half in a loop`);
      return scalarOp(value.op, dtypes, value.dtype);
    case 'cast':
      return ([x]) => castTo(x!, value.dtype);
    case 'const':
      return () => castTo(value.value, value.dtype);
    case 'repeat':
      return repeatOp(value.loop, value.result, scalarOp);
    case 'function':
      return cudaOp(value.function, value.result, scalarOp);
  }
}

const castTo = (value: Scalar, dtype: DType): Scalar =>
  castScalar(
    isComplexValue(value) && !dtype.startsWith('complex') && dtype !== 'bool' ? value.re : value,
    dtype,
  );
