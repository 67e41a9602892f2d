/**
 * Tapes on the CPU against the slow interpreter of kernels: random kernels, every instruction set, any number
 * of threads. Integers are drawn small enough for every sum to be exact, so results are equal, not close.
 */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { blockingsOf } from '../../src/codegen/cpu/tape.js';
import { type Blocking, isSegmented, laneKindOf, loopsOf } from '../../src/codegen/cpu/tape-blocking.js';
import { scheduleOf } from '../../src/codegen/cpu/tape-schedule.js';
import type { Kernel } from '../../src/fusion/kernel/kernel.js';
import { levelsOf } from '../../src/fusion/kernel/levels.js';
import type { TypedArray } from '../../src/graph/expr.js';
import type { ReductionName } from '../../src/graph/reductions.js';
import { allocate } from '../support/host.js';
import { KernelBuilder } from '../support/kernel-builder.js';
import { interpretKernel } from '../support/kernel-interpreter.js';
import { nativeWith } from '../support/native-with.js';
import { generator, randomValues } from '../support/random.js';
import { inputsOf, randomKernel, runTape } from '../support/tape-runner.js';

const digest = (array: TypedArray): string =>
  createHash('sha256')
    .update(new Uint8Array(array.buffer, array.byteOffset, array.byteLength))
    .digest('hex');

const widest = () => nativeWith({ WEFT_ISA: process.arch === 'x64' ? 'avx512' : 'neon', WEFT_THREADS: '2' });

const interpreted = (kernel: Kernel, inputs: readonly (TypedArray | undefined)[]): TypedArray[] =>
  interpretKernel(kernel, inputs).filter((_, k) => kernel.buffers[k]!.role === 'output');

/** The outputs that differ from the interpreter's, as readable lines. */
async function differences(
  native: Awaited<ReturnType<typeof widest>>,
  kernel: Kernel,
  seed: number,
  blocking?: Blocking,
  inputs = inputsOf(kernel, seed),
  expected = interpreted(kernel, inputs),
): Promise<string[]> {
  const actual = await runTape(native, kernel, inputs, blocking);
  return actual.flatMap((array, k) => {
    const at = Array.from(array, Number).findIndex((value, i) => value !== Number(expected[k]![i]));
    return at < 0
      ? []
      : [`seed ${seed}, output ${k}, element ${at}: ${array[at]}, expected ${expected[k]![at]}`];
  });
}

/** A random kernel with its inputs and what the interpreter makes of them. */
function makeRandomJob(seed: number) {
  const kernel = randomKernel(seed, 3000);
  const inputs = inputsOf(kernel, seed);
  return { kernel, inputs, expected: interpreted(kernel, inputs) };
}

/** Of each seed once for all instruction sets. */
const randomJobs: ReturnType<typeof makeRandomJob>[] = [];

describe('tapes', () => {
  for (const isa of process.arch === 'x64' ? ['baseline', 'avx2', 'avx512'] : ['neon']) {
    it(`compute what the interpreter computes, on ${isa}`, async () => {
      const native = await nativeWith({ WEFT_ISA: isa, WEFT_THREADS: '2' });
      const found: string[] = [];
      for (let seed = 0; seed < 150; seed++) {
        randomJobs[seed] ??= makeRandomJob(seed);
        const { kernel, inputs, expected } = randomJobs[seed]!;
        found.push(...(await differences(native, kernel, seed, undefined, inputs, expected)));
      }
      expect(found).toEqual([]);
    });
  }

  it('reduce rows of a few chunks each, on every instruction set', async () => {
    for (const isa of process.arch === 'x64' ? ['baseline', 'avx2', 'avx512'] : ['neon']) {
      const native = await nativeWith({ WEFT_ISA: isa, WEFT_THREADS: '2' });
      for (const [rows, columns] of [
        [5, 128],
        [37, 64],
        [70, 1024],
        [19, 1088],
      ] as const) {
        for (const dtype of ['float32', 'float64', 'int64'] as const) {
          const b = new KernelBuilder([rows], [columns]);
          const x = b.load(dtype, [columns, 1]);
          for (const name of ['sum', 'max', 'min'] as const) b.store(b.reduce(name, x));
          b.store(b.reduce('sum', b.map('square', b.map('subtract', x, b.load(dtype, [0, 1])))));
          expect(await differences(native, b.build(), rows)).toEqual([]);
        }
      }
    }
  });

  it('compute with the results of rows as lanes, where nothing else is read, on every instruction set', async () => {
    for (const isa of process.arch === 'x64' ? ['baseline', 'avx2', 'avx512'] : ['neon']) {
      const native = await nativeWith({ WEFT_ISA: isa, WEFT_THREADS: '2' });
      for (const [rows, columns, isBeside] of [
        [5, 128, false],
        [70, 64, false],
        [130, 100, false],
        [70, 64, true],
      ] as const) {
        for (const dtype of ['float32', 'float64', 'int64'] as const) {
          const b = new KernelBuilder([3, rows], [columns]);
          const x = b.load(dtype, [rows * columns, columns, 1]);
          const sum = b.reduce('sum', b.map('square', b.map('subtract', x, b.load(dtype, [0, 0, 1]))));
          const bounds = [{ offset: -3, strides: [1, 1, 0], size: rows - 4 }];
          const [factor, term] = isBeside
            ? [b.load(dtype, [rows, 2, 0]), b.load(dtype, [0, 1, 0], { bounds })]
            : [b.reduce('max', x), sum];
          const scaled = b.map(
            'add',
            b.map('multiply', sum, factor),
            b.map('maximum', term, b.constant(dtype, 1)),
          );
          b.store(scaled)
            .store(sum, [1, 3])
            .store(b.map('greater', sum, scaled))
            .store(b.reduce('argmax', x));
          const kernel = b.build();
          const blockings = blockingsOf(kernel).filter((each) => isSegmented(kernel, each));
          expect(blockings.length, `${rows} rows`).toBeGreaterThan(0);
          for (const blocking of blockings) {
            const { across } = scheduleOf(kernel, levelsOf(kernel), blocking, loopsOf(kernel, blocking));
            expect(across === undefined).toBe(isBeside);
            expect(await differences(native, kernel, rows, blocking), `${dtype} on ${isa}`).toEqual([]);
          }
        }
      }
    }
  });

  it('have the same bits by each of their blockings, where sums round', async () => {
    const native = await widest();
    const shapes: readonly (readonly [readonly number[], readonly number[], readonly number[]])[] = [
      [[70], [32], [32, 1]],
      [[300], [700], [1, 300]],
      [[9], [5000], [1, 9]],
      [[10], [48, 48], [1, 480, 10]],
      [[40], [9, 130], [1170, 130, 1]],
    ];
    for (const [parallel, reduced, strides] of shapes) {
      for (const dtype of ['float32', 'float16'] as const) {
        const b = new KernelBuilder([...parallel], [...reduced]);
        const x = b.load(dtype, [...strides]);
        const sum = b.reduce('sum', x);
        b.store(sum).store(b.reduce('sum', b.map('square', b.map('subtract', x, sum))));
        const kernel = b.build();
        const inputs = kernel.buffers.map(({ role, elementCount }) =>
          role === 'input' ? randomValues(dtype, [elementCount], 7).data : undefined,
        );
        const found = new Set<string>();
        for (const blocking of blockingsOf(kernel))
          found.add((await runTape(native, kernel, inputs, blocking)).map(digest).join());
        expect(found.size, `${dtype} ${parallel} ${reduced}`).toBe(1);
      }
    }
  });

  it('sum rows up to their last lanes, whatever lies behind them, on every instruction set', async () => {
    for (const isa of process.arch === 'x64' ? ['baseline', 'avx2', 'avx512'] : ['neon']) {
      const native = await nativeWith({ WEFT_ISA: isa, WEFT_THREADS: '2' });
      for (const terms of [65, 127, 1000, 4097]) {
        for (const dtype of ['float32', 'float64', 'complex64'] as const) {
          const b = new KernelBuilder([3], [terms]);
          const matrix = b.load(dtype, [terms, 1]);
          const vector = b.load(dtype, [0, 1]);
          b.store(b.reduce('sum', b.map('multiply', matrix, vector)));
          b.store(b.reduce('sum', vector)).store(b.reduce('sum', matrix));
          if (dtype !== 'complex64')
            b.store(b.reduce('sum', b.map('abs', b.map('subtract', matrix, vector))));
          const kernel = b.build();
          // What an over-read would add.
          const inputs = inputsOf(kernel, terms).map((values) => {
            if (values === undefined) return undefined;
            const longer = allocate(dtype, values.length + 128) as Float64Array;
            longer.fill(Number.NaN).set(values as Float64Array);
            return longer.subarray(0, values.length);
          });
          expect(await differences(native, kernel, terms, undefined, inputs), `${dtype} on ${isa}`).toEqual(
            [],
          );
        }
      }
    }
  });

  it('fold lanes that are both results and steps, wherever chunks end, on every instruction set', async () => {
    for (const isa of process.arch === 'x64' ? ['baseline', 'avx2', 'avx512'] : ['neon']) {
      const native = await nativeWith({ WEFT_ISA: isa, WEFT_THREADS: '2' });
      for (const [rows, steps, results] of [
        [3, 180, 21],
        [2, 64, 13],
        [2, 70, 31],
      ] as const) {
        for (const dtype of ['float32', 'float64'] as const) {
          const reductions: ReductionName[] = ['argmax', 'min', 'sum'];
          // Of so many steps, means are exact.
          if (steps === 64 && dtype === 'float64') reductions.push('squaredDeviations');
          for (const name of reductions) {
            const b = new KernelBuilder([rows, results], [steps]);
            b.store(b.reduce(name, b.load(dtype, [steps * results, 1, results])));
            const kernel = b.build();
            const blockings = blockingsOf(kernel).filter((each) => laneKindOf(kernel, each) === 'both');
            expect(blockings.length, `${name} of ${steps}`).toBeGreaterThan(0);
            for (const blocking of blockings)
              expect(await differences(native, kernel, steps, blocking), `${name} of ${dtype}`).toEqual([]);
          }
        }
      }
    }
  });

  it('sum what two arguments make, one of which is the same for all lanes, on every instruction set', async () => {
    for (const isa of process.arch === 'x64' ? ['baseline', 'avx2', 'avx512'] : ['neon']) {
      const native = await nativeWith({ WEFT_ISA: isa, WEFT_THREADS: '2' });
      for (const dtype of ['float32', 'float64'] as const) {
        const b = new KernelBuilder([6, 200], [48]);
        const same = b.load(dtype, [48, 0, 1]);
        const other = b.load(dtype, [0, 1, 200]);
        b.store(b.reduce('sum', b.map('square', b.map('subtract', same, other))));
        b.store(b.reduce('sum', b.map('abs', b.map('subtract', other, same))));
        b.store(b.reduce('sum', b.map('multiply', other, same)));
        expect(await differences(native, b.build(), 3)).toEqual([]);
      }
    }
  });

  it('keep NaN and the sign of zero in the extremes of rows', async () => {
    const native = await widest();
    const rows = 40;
    const b = new KernelBuilder([rows], [64]);
    b.store(b.reduce('max', b.load('float32', [64, 1])));
    const data = new Float32Array(rows * 64).fill(-1);
    for (let row = 0; row < rows; row++) data[row * 64 + row] = row % 2 === 0 ? Number.NaN : -0;
    const [most] = await runTape(native, b.build(), [data]);
    expect(Array.from(most as Float32Array)).toEqual(
      Array.from({ length: rows }, (_, row) => (row % 2 === 0 ? Number.NaN : -0)),
    );
  });

  it('divide by what repeats along rows or columns to the bit', async () => {
    const native = await widest();
    const [rows, columns] = [64, 320];
    const special = [0, -0, Number.NaN, Number.POSITIVE_INFINITY, 1e-45, 3e38, 1, -1];
    for (const [dtype, exponents] of [
      ['float32', 120],
      ['float64', 1000],
    ] as const) {
      const round = (x: number): number => (dtype === 'float32' ? Math.fround(x) : x);
      /** In turns a chunk of ordinary magnitudes, and one of any. */
      const values = (n: number, seed: number): number[] => {
        const next = generator(seed);
        return Array.from({ length: n }, (_, i) => {
          const value = (1 + next()) * (next() < 0.5 ? -1 : 1);
          if (i % 128 < 64) return round(value * 2 ** Math.floor(next() * 40 - 20));
          const any = value * 2 ** Math.floor((next() * 2 - 1) * exponents);
          return round(i % 11 === 0 ? special[i % special.length]! : any);
        });
      };
      const [x, d, m] = [values(rows * columns, 1), values(columns, 2), values(columns, 3)];
      for (const along of ['rows', 'columns', 'difference'] as const) {
        const b = new KernelBuilder([rows, columns]);
        const loaded = b.load(dtype, [columns, 1]);
        const isDifference = along === 'difference';
        const numerator = isDifference ? b.map('subtract', loaded, b.load(dtype, [0, 1])) : loaded;
        b.store(b.map('divide', numerator, b.load(dtype, along === 'rows' ? [1, 0] : [0, 1])));
        const divisors = along === 'rows' ? d.slice(0, rows) : d;
        const inputs = (isDifference ? [x, m, divisors] : [x, divisors]).map((list) =>
          dtype === 'float32' ? Float32Array.from(list) : Float64Array.from(list),
        );
        const [quotients] = await runTape(native, b.build(), inputs);
        const wrong = x.flatMap((value, i) => {
          const column = i % columns;
          const over = isDifference ? round(value - m[column]!) : value;
          const expected = round(over / d[along === 'rows' ? Math.floor(i / columns) : column]!);
          return Object.is(expected, Number(quotients![i])) ? [] : [{ i, expected, is: quotients![i] }];
        });
        expect(wrong.slice(0, 3)).toEqual([]);
      }
    }
  });

  it('keep apart, in a chain, a row of equal lanes and the result that takes its register', async () => {
    for (const isa of process.arch === 'x64' ? ['baseline', 'avx2', 'avx512'] : ['neon']) {
      const native = await nativeWith({ WEFT_ISA: isa, WEFT_THREADS: '2' });
      for (const dtype of ['float32', 'float64'] as const) {
        const b = new KernelBuilder([64], [2]);
        const x = b.load(dtype, [2, 1]);
        const equal = b.load(dtype, [0, 1]);
        b.store(b.reduce('sum', x));
        b.store(b.map('add', b.map('square', b.map('negative', x)), equal), [2, 1]);
        expect(await differences(native, b.build(), 1)).toEqual([]);
      }
    }
  });

  it('give the same bits whatever the threads, where rounding depends on the order of sums', async () => {
    const sum = new KernelBuilder([3], [400_000]);
    sum.store(sum.reduce('sum', sum.load('float32', [400_000, 1])));
    const columns = new KernelBuilder([40], [30_000]);
    const x = columns.load('float32', [1, 40]);
    const mean = columns.map('multiply', columns.reduce('sum', x), columns.constant('float32', 1 / 30_000));
    const spread = columns.reduce('squaredDeviations', x);
    columns.store(
      columns.map('divide', columns.map('subtract', x, mean), columns.map('sqrt', spread)),
      [1, 40],
    );
    for (const kernel of [sum.build(), columns.build()]) {
      const inputs = [randomValues('float32', [kernel.buffers[0]!.elementCount], 7).data];
      const results: string[] = [];
      for (const threads of ['1', '2', '7']) {
        const native = await nativeWith({ WEFT_THREADS: threads });
        results.push(digest((await runTape(native, kernel, inputs))[0]!));
      }
      expect(new Set(results).size).toBe(1);
    }
  });

  it('give the same bits on every instruction set, from groups of one chunk or of two', async () => {
    const isas = process.arch === 'x64' ? ['baseline', 'avx2', 'avx512'] : ['neon'];
    const kernels: [name: string, Kernel][] = [];
    for (const [rows, columns] of [
      [2, 6 * 64],
      [2, 3 * 2048 + 5 * 64],
      [3, 30_001],
      [50, 64],
      [50, 2 * 64],
      [50, 5 * 64],
      [7, 12 * 64 + 3],
    ] as const) {
      for (const sums of ['along rows', 'along columns', 'of all', 'of none']) {
        const b =
          sums === 'along rows'
            ? new KernelBuilder([rows], [columns])
            : sums === 'of all'
              ? new KernelBuilder([], [rows, columns])
              : sums === 'of none'
                ? new KernelBuilder([rows, columns])
                : new KernelBuilder([columns], [rows]);
        const strides = sums === 'along columns' ? [1, columns] : [columns, 1];
        const x = b.load('float32', strides);
        const y = b.load('float32', sums === 'along columns' ? [0, 1] : [1, 0]);
        const constant = b.constant('float32', 0.3);
        const chosen = b.map('where', b.map('less', x, constant), b.constant('float32', -1.7), constant);
        const mixed = b.map('where', b.map('greater', chosen, y), x, constant);
        const value = b.map('multiply', b.map('subtract', b.map('square', mixed), y), b.map('abs', chosen));
        b.store(sums === 'of none' ? value : b.reduce('sum', value));
        kernels.push([`${rows} by ${columns}, sums ${sums}`, b.build()]);
      }
    }
    const digests: Record<string, string>[] = [];
    for (const isa of isas) {
      // A process uses one instruction set at a time.
      const native = await nativeWith({ WEFT_ISA: isa, WEFT_THREADS: '2' });
      const found: Record<string, string> = {};
      for (const [name, kernel] of kernels) {
        const inputs = kernel.buffers.flatMap(({ role, elementCount }, k) =>
          role === 'input' ? [randomValues('float32', [elementCount], k).data] : [],
        );
        found[name] = digest((await runTape(native, kernel, inputs))[0]!);
      }
      digests.push(found);
    }
    for (const found of digests) expect(found).toEqual(digests[0]);
  });

  it('sum with an error that does not grow with the length', async () => {
    const n = 10_000_000;
    const ones = new KernelBuilder([2], [n]);
    ones.store(
      ones.map('multiply', ones.reduce('sum', ones.load('float32', [1, 2])), ones.constant('float32', 1 / n)),
    );
    const native = await widest();
    const [means] = await runTape(native, ones.build(), [new Float32Array(2 * n).fill(1)]);
    expect(Array.from(means!, Number)).toEqual([1, 1]);
  });

  it('read nothing outside a buffer: the last rows of a block are shorter', async () => {
    const native = await widest();
    // One element short of a chunk, and rows whose ends are inside a chunk.
    for (const [rows, columns] of [
      [1, 63],
      [7, 65],
      [33, 191],
      [5, 1000],
    ] as const) {
      const builder = new KernelBuilder([rows, columns]);
      const y = builder.load('float32', [0, 1]);
      const kernel = builder.store(builder.map('add', builder.load('float32', [columns, 1]), y)).build();
      expect(await differences(native, kernel, rows)).toEqual([]);
    }
  });

  it('take the first index of equal values, and the first NaN before all', async () => {
    const native = await widest();
    const builder = new KernelBuilder([], [300]);
    const x = builder.load('float64', [1]);
    builder.store(builder.reduce('argmax', x)).store(builder.reduce('argmin', x));
    const kernel = builder.build();
    const data = new Float64Array(300).fill(1);
    data[70] = data[130] = 5;
    data[66] = data[299] = -5;
    expect((await runTape(native, kernel, [data])).map((a) => Number(a[0]))).toEqual([70, 66]);
    data[200] = data[210] = Number.NaN;
    expect((await runTape(native, kernel, [data])).map((a) => Number(a[0]))).toEqual([200, 200]);
  });

  it('write large results whole', async () => {
    const native = await widest();
    const n = 9 * 2 ** 20 + 5;
    const builder = new KernelBuilder([n]);
    const kernel = builder.store(builder.map('negative', builder.load('float32', [1]))).build();
    const data = Float32Array.from({ length: n }, (_, i) => i % 1000);
    const [result] = await runTape(native, kernel, [data]);
    expect(Array.from(result!, Number).findIndex((value, i) => value !== 0 - (i % 1000))).toBe(-1);
  });
});
