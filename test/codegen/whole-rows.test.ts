/** Which kernels have short rows by whole threads, or by a few, and that these compile. Their bits: `test/sim/whole-rows.test.ts`. */
import { expect, it } from 'vitest';
import { cudaKernel, printSchedule } from '../../src/codegen/cuda/cuda.js';
import { footprintOf } from '../../src/codegen/cuda/footprint.js';
import { CUDA_TARGET } from '../../src/exec/targets/cuda.js';
import type { Kernel } from '../../src/fusion/kernel/kernel.js';
import { type Lazy, placeholder, stack } from '../../src/index.js';
import { partitionOf } from '../support/graphs.js';
import { whyNoNvrtc, withoutNvrtc } from '../support/nvrtc.js';
import { expectCompiled } from '../support/nvrtc-images.js';

const ROWS = 1_000_000;

function kernelOf(result: Lazy): Kernel {
  const { steps } = partitionOf([result.expr], { passes: CUDA_TARGET.passes, last: CUDA_TARGET.wholePasses });
  const [step] = steps;
  if (steps.length !== 1 || step?.kind !== 'kernel') throw new Error('not one kernel');
  return step.kernel.kernel;
}

const scheduleOf = (result: Lazy): string => printSchedule(footprintOf(kernelOf(result)).schedule);
const rows = (length: number, dtype: 'float16' | 'float32' | 'float64' | 'uint8' = 'float32'): Lazy =>
  placeholder([ROWS, length], dtype);
const column = (x: Lazy): Lazy => x.reshape(ROWS, 1);

it('has a row a thread where several would share it', () => {
  expect(scheduleOf(rows(15).softmax(1))).toMatch(/threadsR 1, width 1, chunks 15, .*lanes 16/);
  expect(scheduleOf(rows(10).sum(1))).toMatch(/threadsR 1, width 2, chunks 5, .*lanes 8/);
  expect(scheduleOf(rows(16, 'float64').norm(2, 1))).toMatch(/threadsR 1, width 2, chunks 8, .*lanes 8/);
  expect(scheduleOf(rows(17, 'float16').var(1))).toMatch(/threadsR 1, width 1, chunks 17, .*lanes 32/);
});

it('has rows so whose elements are products, in sums with their own', () => {
  const x = rows(15);
  const [squares, powers] = [x.square(), x.exp()];
  for (const result of [
    x.sub(column(x.sum(1).mul(2))),
    squares.sub(column(squares.mean(1))),
    powers.sub(column(powers.mean(1))),
  ])
    expect(scheduleOf(result)).toMatch(/threadsR 1, width 1, chunks 15, .*lanes 16/);
});

it('has a row a few threads whose elements come one by one', () => {
  expect(scheduleOf(rows(33).softmax(1))).toMatch(/threadsR 1, width 1, chunks 33, .*lanes 32/);
  expect(scheduleOf(rows(65).softmax(1))).toMatch(/threadsR 2, width 1, chunks 33, .*lanes 16/);
  expect(scheduleOf(rows(33, 'float64').var(1))).toMatch(/threadsR 2, width 1, chunks 17, .*lanes 16/);
});

it('shares rows where that is as fast, and where it cannot be otherwise', () => {
  // Four threads of 16 bytes each, bound by memory.
  expect(scheduleOf(rows(16).softmax(1))).toMatch(/threadsR 4, /);
  // Long rows, and such that are loaded 16 bytes at once.
  expect(scheduleOf(rows(64).var(1))).not.toContain('lanes');
  expect(scheduleOf(rows(128).softmax(1))).not.toContain('lanes');
  expect(scheduleOf(rows(301).softmax(1))).not.toContain('lanes');
  // Rows that are not one after the other, and an array that each hundred of them share.
  expect(scheduleOf(rows(20).slice([], [0, 15]).softmax(1))).not.toContain('lanes');
  const shared = rows(15)
    .reshape(ROWS / 100, 100, 15)
    .add(placeholder([100, 15], 'float32'));
  expect(scheduleOf(shared.softmax(2))).not.toContain('lanes');
});

it.skipIf(withoutNvrtc)(`compiles${whyNoNvrtc}`, async () => {
  const [weighed, bytes] = [rows(6).mul(placeholder([6], 'float32')), rows(5, 'uint8')];
  const results = [
    rows(15).softmax(1),
    rows(16, 'float64').softmax(1),
    rows(31, 'float16').logsumexp(1),
    rows(33).softmax(1),
    rows(31, 'float64').var(1),
    bytes.div(column(bytes.sum(1))),
    weighed.div(column(weighed.std(1))),
    stack(
      Array.from({ length: 33 }, (_, k) => placeholder([ROWS], 'float32').mul(k)),
      -1,
    ),
  ];
  const sources = results.map((result) => {
    const kernel = kernelOf(result);
    return cudaKernel(kernel, footprintOf(kernel).schedule).source;
  });
  for (const source of sources) expect(source).toMatch(/weft_(turn|store_in)_rows/);
  await expectCompiled(sources, 'sm_90');
});
