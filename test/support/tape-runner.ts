/**
 * Runs kernels on the CPU device through the addon, ahead of any graph; and random kernels to run.
 */

import { encodeTape, tapeBy } from '../../src/codegen/cpu/tape.js';
import type { Blocking } from '../../src/codegen/cpu/tape-blocking.js';
import type { Triangle } from '../../src/codegen/cpu/tape-triangle.js';
import type * as Native from '../../src/exec/native/native.js';
import type { Affine, Bound, Kernel } from '../../src/fusion/kernel/kernel.js';
import { byteLengthOf, type DType } from '../../src/graph/dtype.js';
import type { TypedArray } from '../../src/graph/expr.js';
import type { OpName } from '../../src/graph/ops.js';
import type { ReductionName } from '../../src/graph/reductions.js';
import { over } from './host.js';
import { KernelBuilder } from './kernel-builder.js';
import { generator, randomIntegers } from './random.js';

/** A program of one kernel, by the planner's blocking or another. Making it finds the kernel's functions. */
export function tapeProgram(
  native: typeof Native,
  kernel: Kernel,
  blocking?: Blocking,
  triangle?: Triangle,
): Native.NativeProgram {
  const tape = blocking === undefined ? encodeTape(kernel) : tapeBy(kernel, blocking, triangle);
  return native.createProgram({
    device: 'cpu',
    arenaByteLength: 0,
    images: [],
    buffers: kernel.buffers.map(({ dtype, role, elementCount }) => ({
      role,
      byteLength: byteLengthOf(dtype) * elementCount,
      offset: -1,
    })),
    tapes: [tape],
    steps: [{ kind: 'tape', tape: 0, buffers: kernel.buffers.map((_, k) => k) }],
  });
}

/** The outputs of a kernel, in the order of its buffers. `inputs[i]` is the array behind input buffer i. */
export async function runTape(
  native: typeof Native,
  kernel: Kernel,
  inputs: readonly (TypedArray | undefined)[],
  blocking?: Blocking,
  triangle?: Triangle,
): Promise<TypedArray[]> {
  const program = tapeProgram(native, kernel, blocking, triangle);
  const outputs = kernel.buffers.filter(({ role }) => role === 'output');
  const given = kernel.buffers.flatMap(({ role }, k) => (role === 'input' ? [inputs[k]!] : []));
  const result = await native.run(program, given, { outputs: outputs.map(() => 'host') });
  return result.outputs.map((buffer, k) => {
    if (!(buffer instanceof ArrayBuffer)) throw new Error('a host output is an ArrayBuffer');
    return over(outputs[k]!.dtype, buffer, 0, outputs[k]!.elementCount);
  });
}

/** Small integers for every input of a kernel: their sums are exact. */
export function inputsOf(kernel: Kernel, seed: number): (TypedArray | undefined)[] {
  return kernel.buffers.map(({ dtype, role, elementCount }, k) =>
    role === 'input' ? randomIntegers(dtype, [elementCount], seed + k, -3, 3).data : undefined,
  );
}

const EXTENTS = [2, 3, 5, 8, 16, 31, 32, 33, 63, 64, 65, 70, 128, 130, 257];
const UNARY: readonly OpName[] = ['abs', 'negative', 'square', 'floor', 'sign'];
const BINARY: readonly OpName[] = ['add', 'subtract', 'maximum', 'minimum', 'copysign'];
const REDUCTIONS: readonly ReductionName[] = ['sum', 'max', 'min', 'argmax', 'argmin', 'any', 'all', 'sum'];

/**
 * A kernel of up to three parallel and two reduced axes, over permuted, broadcast, stepped, flipped and
 * padded arrays.
 */
export function randomKernel(seed: number, mostElements = 20_000): Kernel {
  const next = generator(seed);
  const between = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1));
  const pick = <T>(list: readonly T[]): T => list[between(0, list.length - 1)]!;

  const parallelCount = between(0, 3);
  const sizes: number[] = [];
  let total = 1;
  for (let k = parallelCount + between(0, 2); k > 0; k--) {
    const size = pick(EXTENTS);
    sizes.push(total * size <= mostElements ? size : 2);
    total *= sizes[sizes.length - 1]!;
  }
  const builder = new KernelBuilder(sizes.slice(0, parallelCount), sizes.slice(parallelCount));
  const dtype: DType = pick(['float32', 'float64', 'float32', 'float16']);
  const values: number[] = [];

  const load = (): number => {
    const axes = sizes.map((_, k) => k).filter(() => next() < 0.8);
    for (let k = axes.length - 1; k > 0; k--) {
      const other = next() < 0.4 ? between(0, k) : k;
      [axes[k], axes[other]] = [axes[other]!, axes[k]!];
    }
    const strides = sizes.map(() => 0);
    const bounds: Bound[] = [];
    let run = 1;
    let offset = 0;
    for (const axis of axes.reverse()) {
      const size = sizes[axis]!;
      const draw = next();
      strides[axis] = run;
      if (draw < 0.15) {
        const before = between(1, 3);
        const source = Math.max(1, size - before - between(0, 2));
        const unit: Affine = { offset: -before, strides: sizes.map((_, k) => (k === axis ? 1 : 0)) };
        bounds.push({ ...unit, size: source });
        offset -= before * run;
      } else if (draw < 0.3) {
        strides[axis] = -run;
        offset += run * (size - 1);
      } else if (draw < 0.45) {
        strides[axis] = 2 * run;
        run *= 2;
      }
      run *= size;
    }
    return builder.load(dtype, strides, { offset, bounds });
  };
  // A gather from rows, columns or elements of a table, by an index that the kernel computes.
  const gather = (): number => {
    const size = between(1, 9);
    const last = builder.constant('int64', size - 1);
    const index = builder.cast(builder.map('floor', pick(values)), 'int64');
    const value = builder.map('minimum', builder.map('maximum', index, builder.constant('int64', 0)), last);
    const axis = between(-1, sizes.length - 1);
    const isRow = next() < 0.5;
    const width = axis < 0 ? 1 : sizes[axis]!;
    const strides = sizes.map((_, k) => (k === axis ? (isRow ? 1 : size) : 0));
    return builder.gather(dtype, strides, { value, stride: isRow ? width : 1, size });
  };
  const compute = (): void => {
    for (let k = between(1, 4); k > 0; k--) {
      const draw = next();
      const [a, b] = [pick(values), pick(values)];
      if (draw < 0.4) values.push(builder.map(pick(BINARY), a, b));
      else if (draw < 0.8) values.push(builder.map(pick(UNARY), a));
      else
        values.push(builder.map('where', builder.map(pick(['less', 'equal', 'greaterEqual']), a, b), a, b));
    }
  };

  for (let k = between(1, 4); k > 0; k--) values.push(load());
  if (seed % 3 === 0) values.push(gather());
  values.push(builder.constant(dtype, 2));
  compute();
  if (parallelCount === sizes.length)
    return builder.store(values.at(-1)!).store(values.at(-2)!, dense(sizes)).build();
  for (let phase = between(1, 3); phase > 0; phase--) {
    const reduction = pick(REDUCTIONS);
    // Kept small: what is reduced again must stay exact.
    const small = builder.map(
      'minimum',
      builder.map('maximum', pick(values), builder.constant(dtype, -2)),
      builder.constant(dtype, 2),
    );
    // No −0, which is equal to 0: which of the two a maximum gives is open.
    const whole = builder.map('add', builder.map('floor', small), builder.constant(dtype, 0));
    const result = builder.reduce(reduction, whole);
    builder.store(result);
    if (reduction === 'max' || reduction === 'min') values.push(result);
    if (next() < 0.6) compute();
  }
  if (next() < 0.5) {
    compute();
    builder.store(builder.map('add', values.at(-1)!, values[0]!), dense(sizes));
  }
  return builder.build();
}

function dense(sizes: readonly number[]): number[] {
  const strides: number[] = [];
  let run = 1;
  for (let k = sizes.length - 1; k >= 0; k--) {
    strides[k] = run;
    run *= sizes[k]!;
  }
  return strides;
}
