/**
 * Kernels of pairs whose values are the same with both axes exchanged: which of them compute half, and that their results
 * have the bits of tapes that compute all, wherever squares end.
 */
import { describe, expect, it } from 'vitest';
import { planTape } from '../../src/codegen/cpu/tape.js';
import { prepare } from '../../src/codegen/cpu/tape-domain.js';
import { trianglesOf } from '../../src/codegen/cpu/tape-triangle.js';
import type { Kernel } from '../../src/fusion/kernel/kernel.js';
import type { DType } from '../../src/graph/dtype.js';
import type { TypedArray } from '../../src/graph/expr.js';
import type { ReductionName } from '../../src/graph/reductions.js';
import { KernelBuilder } from '../support/kernel-builder.js';
import { nativeWith } from '../support/native-with.js';
import { generator, randomValues } from '../support/random.js';
import { runTape } from '../support/tape-runner.js';

type Formula = (b: KernelBuilder, x: number, y: number) => number;
const squared: Formula = (b, x, y) => b.map('square', b.map('subtract', x, y));
const product: Formula = (b, x, y) => b.map('multiply', x, y);

/** A kernel of pairs of rows of one array, of so many elements each; `finish`: of their sums. */
function pairsOf(
  rows: number,
  length: number,
  dtype: DType,
  formula: Formula,
  finish?: 'exp' | 'sqrt',
): Kernel {
  const b = new KernelBuilder([rows, rows], [length]);
  const x = b.load(dtype, [length, 0, 1], { buffer: 'x' });
  const y = b.load(dtype, [0, length, 1], { buffer: 'x' });
  const sum = b.reduce('sum', formula(b, x, y));
  return b.store(finish === undefined ? sum : b.map(finish, sum), [rows, 1]).build();
}

describe('a kernel of pairs', () => {
  it.each<[string, Kernel, number | undefined]>([
    ['of Gaussian kernels', pairsOf(3000, 16, 'float32', squared, 'exp'), 256],
    ['of Gaussian kernels in float64', pairsOf(3000, 16, 'float64', squared, 'exp'), 128],
    ['of few rows', pairsOf(300, 32, 'float64', squared, 'exp'), 64],
    ['of rows that fill one square', pairsOf(60, 400, 'float64', squared, 'exp'), undefined],
    ['whose stores take most of its time', pairsOf(3000, 2, 'float32', squared), undefined],
    ['that wide blocks compute as fast', pairsOf(3000, 3, 'float32', squared, 'exp'), undefined],
    [
      'that turn with their axes',
      pairsOf(3000, 16, 'float32', (b, x, y) => b.map('subtract', x, y)),
      undefined,
    ],
  ])('%s', (_, kernel, side) => {
    expect(planTape(kernel).triangle?.side).toBe(side);
  });

  it('is told from one whose stores hold results of one axis, too', () => {
    const b = new KernelBuilder([300, 300], [16]);
    const x = b.load('float64', [16, 0, 1], { buffer: 'x' });
    const sum = b.reduce('sum', squared(b, x, b.load('float64', [0, 16, 1], { buffer: 'x' })));
    b.store(b.map('exp', sum), [300, 1]).store(b.reduce('sum', x), [1, 0]);
    expect(planTape(b.build()).triangle).toBeUndefined();
  });
});

const DTYPES: readonly DType[] = ['float32', 'float64', 'int32', 'uint8', 'int64', 'complex64', 'complex128'];
const REDUCTIONS: readonly ReductionName[] = ['sum', 'prod'];

/** A random kernel of pairs: maps and reductions, several batches and results, at any strides of their arrays. */
function randomPairs(seed: number): Kernel {
  const next = generator(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)]!;
  const dtype = pick(DTYPES);
  const rows = pick([65, 70, 128, 131, 200]);
  const batch = pick([1, 1, 3]);
  const length = pick([0, 2, 5, 70]);
  const isOuter = next() < 0.5;
  const b = new KernelBuilder(
    isOuter ? [batch, rows, rows] : [rows, batch, rows],
    length === 0 ? [] : [length],
  );
  const each = Math.max(1, length);
  const own = rows * each;
  const strides = (row: number, column: number, ofBatch: number, reduced: number): number[] => [
    ...(isOuter ? [ofBatch, row, column] : [row, ofBatch, column]),
    ...(length === 0 ? [] : [reduced]),
  ];
  const side = next() < 0.5 ? { row: each, reduced: 1 } : { row: 1, reduced: rows };
  const x = b.load(dtype, strides(side.row, 0, own, side.reduced), { buffer: 'x' });
  const y = b.load(dtype, strides(0, side.row, own, side.reduced), { buffer: 'x' });
  const values = [squared(b, x, y), product(b, x, y), b.map('add', x, y)];
  values.splice(Math.floor(next() * 3), next() < 0.7 ? 2 : 1);
  const made = values.map((value) => (length === 0 ? value : b.reduce(pick(REDUCTIONS), value)));
  const all = batch * rows * rows;
  // Results beside one another in one array, as those of a join, or each in an array of its own.
  const step = next() < 0.5 ? made.length : 1;
  const isTurned = next() < 0.3;
  made.forEach((value, k) => {
    const [row, column] = isTurned ? [step, rows * step] : [rows * step, step];
    b.store(value, strides(row, column, rows * rows * step, 0), step === 1 ? 0 : k);
  });
  const kernel = b.build();
  if (step === 1) return kernel;
  const [input, output] = kernel.buffers;
  return {
    ...kernel,
    buffers: [input!, { ...output!, elementCount: step * all }],
    stores: kernel.stores.map(({ value, access }) => ({ value, access: { ...access, buffer: 1 } })),
  };
}

const SPECIAL = [Number.NaN, -0, 0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
function inputOf(kernel: Kernel, seed: number): TypedArray {
  const { dtype, elementCount } = kernel.buffers[0]!;
  const { data } = randomValues(dtype, [elementCount], seed);
  if (data instanceof Float32Array || data instanceof Float64Array)
    for (let k = 0; k < data.length; k += 41) data[k] = SPECIAL[(k / 41) % SPECIAL.length]!;
  return data;
}

describe('a triangle', () => {
  it('has the bits of the whole, whatever squares, blocks and threads', async () => {
    const found: string[] = [];
    for (const threads of ['1', '3']) {
      const native = await nativeWith({ WEFT_THREADS: threads });
      for (let seed = 0; seed < 24; seed++) {
        const kernel = randomPairs(seed);
        const prepared = prepare(kernel);
        const triangles = trianglesOf(prepared);
        if (triangles.length === 0) found.push(`seed ${seed} has no triangle`);
        const input = inputOf(kernel, seed);
        const whole = await runTape(native, kernel, [input], planTape(kernel).blocking);
        const next = generator(seed);
        for (let k = 0; k < 3; k++) {
          const { blocking, triangle } = triangles[Math.floor(next() * triangles.length)]!;
          const half = await runTape(native, kernel, [input], blocking, triangle);
          if (!whole.every((array, at) => isSame(array, half[at]!)))
            found.push(`seed ${seed}, ${threads} threads, ${JSON.stringify({ blocking, triangle })}`);
        }
      }
    }
    expect(found).toEqual([]);
  });
});

/** Whether all elements are the same, −0 apart from 0; a NaN is any NaN, whose sign is open where two of them meet. */
const isSame = (one: TypedArray, other: TypedArray): boolean =>
  one.length === other.length && one.every((value: number | bigint, k: number) => Object.is(value, other[k]));
