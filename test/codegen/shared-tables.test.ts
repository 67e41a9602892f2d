/** Maps that take from tables which a pair of blocks shares: where they are chosen, what each block has, and their CUDA C. */
import { describe, expect, it } from 'vitest';
import { cudaKernel } from '../../src/codegen/cuda/cuda.js';
import { wholeFootprintOf } from '../../src/codegen/cuda/footprint.js';
import type { TableSchedule } from '../../src/codegen/cuda/schedules/schedule-table.js';
import type { Kernel } from '../../src/fusion/kernel/kernel.js';
import type { DType } from '../../src/graph/dtype.js';
import { KernelBuilder } from '../support/kernel-builder.js';
import { whyNoNvrtc, withoutNvrtc } from '../support/nvrtc.js';
import { expectCompiled } from '../support/nvrtc-images.js';

const HOPPER = { sharedByteLength: 227 * 1024, hasBulkCopies: true, hasClusters: true };
const FITS = (227 * 1024) / 4;

function lookUp(
  sizes: readonly number[],
  { count = 2 ** 26, dtype = 'float32' as DType, offset = 0, stride = 1 } = {},
): Kernel {
  const b = new KernelBuilder([count]);
  const values = sizes.map((size, k) => {
    const value = b.cast(b.load('int32', [1]), 'int64');
    return b.gather(dtype, [0], { value, stride, size }, { offset, buffer: `table ${k}` });
  });
  return b.store(values.reduce((sum, value) => b.map('add', sum, value))).build('look_up');
}

const scheduleOf = (kernel: Kernel, limits: object = {}, multiprocessors = 132): unknown =>
  wholeFootprintOf(kernel, { ...HOPPER, ...limits }, { multiprocessors }).schedule;

describe('a table that pairs of blocks share', () => {
  it('is one that does not fit a block: each block has its first entries and a half of the others', () => {
    expect(scheduleOf(lookUp([2 ** 16]))).toMatchObject({ held: [50_688], halves: [7424], blocks: 132 });
    expect(scheduleOf(lookUp([3 * 2 ** 14]))).toMatchObject({ held: [3 * 2 ** 14], halves: [0] });
    expect(scheduleOf(lookUp([2 ** 17]))).toMatchObject({ held: [0], halves: [FITS] });
    expect(scheduleOf(lookUp([1000, 2 ** 16 + 1]))).toMatchObject({
      held: [1000, 2 * (FITS - 1000) - 2 ** 16 - 1],
      halves: [0, 2 ** 16 + 1 - FITS + 1000],
    });
  });

  it('is taken from by an even number of blocks, in clusters alone', () => {
    expect(scheduleOf(lookUp([2 ** 16]), {}, 75)).toMatchObject({ halves: [7424], blocks: 74 });
    expect(scheduleOf(lookUp([2 ** 16]), { hasClusters: false })).toMatchObject({
      held: [FITS],
      halves: [0],
      blocks: 132,
    });
  });

  it('leaves the first-level cache: chunks of one access pass it by that are read once', () => {
    const schedule = { kind: 'table', width: 4, threads: 64, blocks: 4, held: [100], halves: [0] } as const;
    const passing = (
      shape: readonly number[],
      index: readonly [DType, strides: readonly number[]],
      others: readonly (readonly [DType, strides: readonly number[], offset?: number])[] = [],
    ): number => {
      const b = new KernelBuilder(shape);
      const value = b.cast(b.load(...index), 'int64');
      const strides = shape.map(() => 0);
      let sum = b.gather('float32', strides, { value, stride: 1, size: 100 }, { buffer: 'table' });
      for (const [dtype, along, offset] of others) {
        const other = b.load(dtype, along, { offset: offset ?? 0, buffer: `${dtype} ${along}` });
        sum = b.map('add', sum, b.cast(other, 'float32'));
      }
      const { source } = cudaKernel(b.store(sum).build('look_up'), schedule);
      // Of each the first chunk of a thread, and the next ones; one is the definition.
      return Math.max(0, source.split('weft_load_once(').length - 2) / 2;
    };
    const [line, rows] = [[4096], [64, 64]];
    expect(passing(line, ['int32', [1]])).toBe(1);
    expect(passing(line, ['int64', [1]])).toBe(0);
    expect(passing(line, ['int32', [2]])).toBe(0);
    expect(passing(line, ['int32', [1]], [['float32', [1]]])).toBe(2);
    expect(passing(line, ['int32', [1]], [['float16', [1]]])).toBe(1);
    expect(
      passing(
        line,
        ['int32', [1]],
        [
          ['float32', [1]],
          ['float32', [1], 4],
        ],
      ),
    ).toBe(1);
    expect(passing(rows, ['int32', [80, 1]], [['float32', [0, 1]]])).toBe(1);
    expect(passing(rows, ['int32', [4, 1]], [['float32', [64, 1]]])).toBe(1);
  });

  it('is read where it lies', async () => {
    const kernel = lookUp([500]);
    const schedule = { kind: 'table', width: 4, threads: 64, blocks: 4, held: [100], halves: [132] } as const;
    const { source } = cudaKernel(kernel, schedule);
    await expect(source).toMatchFileSnapshot('../golden/cuda/table_of_a_pair.cu');
  });
});

describe.skipIf(withoutNvrtc)(`CUDA C of tables of pairs${whyNoNvrtc}`, () => {
  it('compiles for entries of every width, in packs and not', async () => {
    const sources: string[] = [];
    const add = (kernel: Kernel, held: number, half: number, width = 2): void => {
      const schedule: TableSchedule = {
        kind: 'table',
        width,
        threads: 64,
        blocks: 4,
        held: [held],
        halves: [half],
      };
      const { source } = cudaKernel(kernel, schedule);
      expect(source).toContain('__cluster_dims__(2, 1, 1)');
      sources.push(source);
    };
    for (const dtype of ['int8', 'float16', 'float32', 'float64', 'complex64', 'complex128'] as const)
      add(lookUp([4096], { dtype }), 64, 2016);
    add(lookUp([4099]), 65, 2017);
    add(lookUp([4099], { stride: 3, offset: 1 }), 0, 2000);
    add(lookUp([4096]), 64, 2016, 4);
    await expectCompiled(sources, 'sm_90');
  });
});
