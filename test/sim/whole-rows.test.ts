/**
 * Short rows, of a thread or a few, whose warps bring them in and out through shared memory: the bits of threads that share a row
 * otherwise, for packs of every size, rows that do not fill the last warp, accumulators in turn and by halves, and rows read or
 * stored several times. On the simulated CUDA, which checks every access.
 */
import { expect, it } from 'vitest';
import { cudaKernel, scheduleOf } from '../../src/codegen/cuda/cuda.js';
import { rowsBy, wholeRows } from '../../src/codegen/cuda/schedules/whole-rows.js';
import { normalize } from '../../src/codegen/cuts/domain.js';
import type { DType } from '../../src/graph/dtype.js';
import { lazy } from '../../src/index.js';
import { runCudaCases } from '../support/cuda-runner.js';
import { KernelBuilder } from '../support/kernel-builder.js';
import { randomValues } from '../support/random.js';

type Formula = (b: KernelBuilder, length: number, dtype: DType) => KernelBuilder;

const FORMULAS: Record<string, Formula> = {
  softmax: (b, length, dtype) => {
    const x = b.load(dtype, [length, 1]);
    const e = b.map('exp', b.map('subtract', x, b.reduce('max', x)));
    return b.store(b.map('divide', e, b.reduce('sum', e)), [length, 1]);
  },
  'sum of squares': (b, length, dtype) => {
    const x = b.load(dtype, [length, 1]);
    return b.store(b.reduce('sum', b.map('multiply', x, x))).store(b.reduce('max', x));
  },
  shares: (b, length, dtype) => {
    const x = b.load(dtype, [length, 1]);
    return b.store(b.map('divide', x, b.reduce('sum', x)), [length, 1]);
  },
  'deviations and their part': (b, length, dtype) => {
    const x = b.load(dtype, [length, 1]);
    const deviations = b.reduce('squaredDeviations', x);
    return b.store(b.map('divide', x, deviations), [length, 1]).store(deviations);
  },
  'two arrays, one of all rows': (b, length, dtype) => {
    const [x, y, z] = [b.load(dtype, [length, 1]), b.load(dtype, [length, 1]), b.load(dtype, [0, 1])];
    const product = b.map('multiply', b.map('add', x, z), y);
    const sum = b.reduce('sum', product);
    return b.store(b.map('maximum', b.map('divide', y, sum), x), [length, 1]).store(product, [length, 1]);
  },
  'the place of the greatest': (b, length, dtype) => {
    const x = b.load(dtype, [length, 1]);
    return b.store(b.reduce('argmax', x)).store(b.map('less', x, b.reduce('max', x)), [length, 1]);
  },
};

const CASES: readonly (readonly [keyof typeof FORMULAS, number, DType])[] = [
  ['softmax', 15, 'float32'], ['softmax', 16, 'float64'], ['softmax', 10, 'float32'], ['softmax', 3, 'float16'],
  ['softmax', 6, 'float64'], ['softmax', 32, 'float16'], ['softmax', 17, 'float32'], ['softmax', 24, 'float32'],
  ['softmax', 31, 'bfloat16'], ['softmax', 12, 'float64'], ['shares', 15, 'complex64'], ['the place of the greatest', 7, 'int64'],
  ['sum of squares', 10, 'float32'], ['sum of squares', 20, 'float64'], ['sum of squares', 24, 'int8'],
  ['deviations and their part', 15, 'float32'], ['deviations and their part', 10, 'float64'],
  ['deviations and their part', 12, 'float16'], ['two arrays, one of all rows', 6, 'float32'],
  ['two arrays, one of all rows', 13, 'float16'], ['shares', 5, 'complex128'],
  ['the place of the greatest', 18, 'int16'], ['the place of the greatest', 9, 'float64'],
  ['softmax', 33, 'float32'], ['softmax', 65, 'float32'], ['softmax', 129, 'float32'], ['softmax', 41, 'float64'],
  ['softmax', 50, 'float16'], ['shares', 99, 'bfloat16'], ['shares', 33, 'complex64'], ['shares', 255, 'float32'],
  ['deviations and their part', 17, 'float64'], ['deviations and their part', 31, 'float64'],
  ['deviations and their part', 70, 'float32'], ['deviations and their part', 33, 'float16'],
  ['two arrays, one of all rows', 35, 'float32'], ['the place of the greatest', 33, 'float32'],
  ['the place of the greatest', 46, 'int8'], ['sum of squares', 57, 'float32'],
]; // biome-ignore format: a table

/** Rows from which on a warp shares those of more than 32 elements. */
const MANY = 4101;

it.each(CASES)('have the bits of shared rows: %s of %i %s', async (formula, length, dtype) => {
  const kernel = FORMULAS[formula]!(
    new KernelBuilder([length > 32 ? MANY : 301], [length]),
    length,
    dtype,
  ).build('rows');
  const normal = normalize(kernel);
  const shared = scheduleOf(kernel);
  if (shared.kind !== 'rows' && shared.kind !== 'reduce') throw new Error(`a schedule of ${shared.kind}`);
  // Also where a thread had a row already.
  const own = wholeRows(normal, shared)!;
  expect(own.lanes).toBe(shared.threadsR / own.threadsR);
  // By more threads, too, as devices of other numbers of registers might.
  const others = length > 16 && own.threadsR < 4 ? [rowsBy(2 * own.threadsR, length, shared)] : [];
  const wholes = [own, ...others.filter(({ lanes }) => lanes! > 2)];
  const inputs = kernel.buffers.map(({ role, dtype: type, elementCount }, k) =>
    role === 'input' ? randomValues(type, [elementCount], k, -2, 3).data : undefined,
  );
  const [first, ...found] = await runCudaCases(
    [shared, ...wholes].map((schedule) => ({ kernel, cuda: cudaKernel(kernel, schedule), inputs })),
  );
  for (const other of found) expect(other).toEqual(first);
});

it('are taken where they are predicted to be faster, also in tiles, which have the same bits', async () => {
  const data = Float32Array.from({ length: 30_001 * 15 }, (_, k) => Math.sin(k * k));
  const x = lazy(data, { shape: [30_001, 15] });
  const shares = x.softmax(1);
  expect(String(shares.explain({ device: 'cuda' }))).toMatch(/schedule rows: .*lanes 16 \(predicted, /);
  const whole = await shares.compute({ device: 'cuda' });
  const tiled = { device: 'cuda', memory: 2 ** 20 };
  expect(String(shares.explain(tiled))).toMatch(/in 12 tiles of sweep 0, [\s\S]*lanes 16 /);
  expect((await shares.compute(tiled)).data).toEqual(whole.data);
  const expected = (await shares.compute({ device: 'cpu' })).data as Float32Array;
  const furthest = expected.reduce(
    (most, value, k) => Math.max(most, Math.abs(value - Number(whole.data[k]))),
    0,
  );
  expect(furthest).toBeLessThan(1e-6);
});
