/** The times of kernels on the CPU as predicted: what a tape does in all, and what follows from a machine's rates. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { SQUARE_ROWS, TASK_WORK } from '../../src/codegen/cpu/tape-cost.js';
import { STREAM_BYTES } from '../../src/codegen/cpu/tape-lines.js';
import { lineRateOf, unmeasuredRates } from '../../src/codegen/cpu/tape-rates.js';
import { secondsOfTape, threadsOf } from '../../src/codegen/cpu/tape-seconds.js';
import { tallyOf } from '../../src/codegen/cpu/tape-tally.js';
import { timeTape } from '../../src/exec/native/native.js';
import type { KernelStep } from '../../src/exec/plan/plan.js';
import { CPU_COSTS } from '../../src/exec/targets/cpu-costs.js';
import { cpuRates, measureRates, timeOfStep } from '../../src/exec/targets/cpu-probes.js';
import { CPU } from '../../src/exec/targets/device.js';
import type { Kernel } from '../../src/fusion/kernel/kernel.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import type { DType } from '../../src/graph/dtype.js';
import type { OpName } from '../../src/graph/ops.js';
import { placeholder, reduction } from '../../src/index.js';
import { planOnDevice } from '../support/device-plan.js';
import { KernelBuilder } from '../support/kernel-builder.js';

function map(n: number, op: OpName, dtype: DType = 'float32', stride = 1): Kernel {
  const b = new KernelBuilder([n], []);
  return b.store(b.map(op, b.load(dtype, [stride])), [1]).build();
}
function sum(m: number, n: number, strides: readonly number[]): Kernel {
  const b = new KernelBuilder([m], [n]);
  return b.store(b.reduce('sum', b.load('float32', [...strides])), [1, 0]).build();
}
const stepOf = (kernel: Kernel): KernelStep => ({
  kind: 'kernel',
  kernel,
  buffers: [0, 1],
  scratch: [],
  nodes: [1],
});
const rates = unmeasuredRates(1);
const seconds = (kernel: Kernel, threads = 1): number => secondsOfTape(kernel, unmeasuredRates(threads));

describe('the tally of a tape', () => {
  it('counts tiles, and vectors of a function, also where lanes are left over', () => {
    const { amounts, functions } = tallyOf(map(1 << 20, 'exp'));
    expect(amounts.get('tile')).toBe(amounts.get('block'));
    expect(functions.get('exp float32')!.vectors).toBe((1 << 20) / 16);
    // 65 lanes are two chunks of four vectors.
    expect(tallyOf(map(65, 'exp')).functions.get('exp float32')!.vectors).toBe(8);
    expect(tallyOf(map(65, 'exp', 'float64')).functions.get('exp float64')!.vectors).toBe(16);
  });

  it('counts steps of chains, and what they read besides', () => {
    const b = new KernelBuilder([1 << 16], []);
    const x = b.load('float32', [1]);
    const y = b.load('float32', [1]);
    const kernel = b.store(b.map('tanh', b.map('add', b.map('multiply', x, y), y)), [1]).build();
    const { amounts, functions } = tallyOf(kernel);
    expect(amounts.get('chain')).toBe(amounts.get('block'));
    expect(functions.get('chained tanh float32')!.vectors).toBe(4096);
    // x, y twice, the result, and a step before each block.
    expect(amounts.get('operand')).toBe(4 * 4096);
    expect(amounts.has('pass')).toBe(false);
  });

  it('tells functions of chains from those by themselves, and tables of elements of 8 bytes from others', () => {
    const chainOf = (dtype: DType): Kernel => {
      const b = new KernelBuilder([1 << 10, 16], []);
      const x = b.load(dtype, [64, 1]);
      return b.store(b.map('negative', b.map('exp', b.map('abs', x))), [16, 1]).build();
    };
    const [narrow, wide] = [tallyOf(chainOf('float32')), tallyOf(chainOf('float64'))];
    expect([...narrow.functions.keys()]).toEqual(['chained exp float32']);
    expect(narrow.functions.get('chained exp float32')!.of.isChained).toBe(true);
    expect(narrow.amounts.get('table')).toBe(1 << 14);
    expect(wide.amounts.get('wideTable')).toBe(1 << 14);
    expect(wide.amounts.has('table')).toBe(false);
  });

  it('tells reductions along lanes from those of each lane, and rows from one another', () => {
    expect([...tallyOf(sum(64, 512, [512, 1])).functions.keys()]).toEqual(['along lanes sum float32']);
    expect(tallyOf(sum(64, 512, [512, 1])).amounts.get('wholeRow')).toBe(64);
    expect(tallyOf(sum(64, 500, [500, 1])).amounts.get('row')).toBe(64);
    expect([...tallyOf(sum(512, 64, [1, 512])).functions.keys()]).toEqual(['by lane sum float32']);
  });

  it('counts a tile without rows as one row of a reduction', () => {
    const b = new KernelBuilder([84], [121]);
    const kernel = b.store(b.reduce('logsumexp', b.load('float64', [121, 1])), [1, 0]).build();
    expect(tallyOf(kernel).amounts.get('exponentialRow')).toBe(84);
  });

  it('counts lines that are not in one stream by how lanes and rows lie', () => {
    const linesOf = (kernel: Kernel): object => Object.fromEntries(tallyOf(kernel).lines);
    const n = 1 << 20;
    expect(linesOf(map(n, 'exp'))).toEqual({});
    expect(linesOf(map(n, 'exp', 'float32', 3))).toEqual({ unasked: (3 * n) / 16 });
    expect(linesOf(map(n, 'exp', 'float32', 16))).toEqual({ alone: n });
    // A large result of a function of its own is copied past the caches.
    expect(linesOf(map(8 * n, 'negative'))).toEqual({ copied: (8 * n) / 16 });
    // Columns of 16 rows are lines.
    const b = new KernelBuilder([2048, 2048], []);
    const transpose = b.store(b.map('negative', b.load('float32', [1, 2048])), [2048, 1]).build();
    expect(linesOf(transpose)).toEqual({
      alone: (n * 4) / 16,
      copied: (n * 4) / 16,
    });
    expect(linesOf(sum(2048, 2048, [1, 2048]))).toEqual({ unasked: (n * 4) / 16 });
    // In the first two levels of caches nothing is far.
    expect(linesOf(map(1 << 14, 'exp', 'float32', 3))).toEqual({});
  });

  it('counts rows of a stencil once for all its loads, and none where they go on in the lines of the last one', () => {
    const [rows, columns] = [1 << 12, 256];
    const stencil = (width: number, second: number): ReturnType<typeof tallyOf> => {
      const b = new KernelBuilder([rows, width], []);
      const load = (offset: number): number => b.load('float32', [columns, 1], { offset, buffer: 'x' });
      const sum = b.map('add', b.map('add', load(0), load(2)), load(second));
      return tallyOf(b.store(sum, [width, 1]).build());
    };
    expect(stencil(columns - 2, columns).lines.has('row')).toBe(false);
    // Half of each row is left out.
    expect(stencil(columns / 2, columns).lines.get('row')).toBe(rows);
    // Lines of another part of the array are not brought by the first load.
    expect(stencil(columns / 2, 4096 * columns).lines.get('row')).toBe(2 * rows);
  });

  it('counts lines that loads of neighbours bring into a second cache, and none where they are nearer', () => {
    const [rows, width] = [256, 4096];
    const stencil = (apart: number): ReturnType<typeof tallyOf> => {
      const b = new KernelBuilder([rows, width], []);
      const [x, y] = [0, apart].map((offset) => b.load('float32', [width, 1], { offset, buffer: 'x' }));
      return tallyOf(b.store(b.map('add', x!, y!), [width, 1]).build());
    };
    expect(stencil(1).lines.has('again')).toBe(false);
    expect(stencil(width).lines.get('again')).toBe((rows * width) / 16);
  });

  it('counts lanes that displace each other in a set of the first-level cache, and lines once for all that they serve', () => {
    const transpose = (m: number, n: number): Kernel => {
      const b = new KernelBuilder([n, m], []);
      return b.store(b.map('negative', b.load('float32', [1, n])), [m, 1]).build();
    };
    const [conflicting, others] = [tallyOf(transpose(16, 1 << 14)), tallyOf(transpose(16, 16400))];
    expect(conflicting.amounts.get('conflict')).toBe(1 << 18);
    expect(others.amounts.has('conflict')).toBe(false);
    expect(conflicting.lines.get('alone')).toBe(1 << 14);
  });

  it('counts an accumulator of several numbers once, and each monoid for itself', () => {
    const ofExtremes = (second: number): ReturnType<typeof tallyOf> => {
      const extremes = reduction({
        identity: [0, 0],
        map: (x: number): [number, number] => [x, x],
        combine: ([a, b]: [number, number], [c, d]: [number, number]): [number, number] => [
          Math.min(a, c),
          Math.max(b, d) * second,
        ],
        captures: { second },
      });
      const results = extremes(placeholder([4096], 'float32', { device: 'cpu' }));
      const { steps } = planOnDevice(canonicalize(results.map(({ expr }) => expr)), CPU).plan;
      expect(steps.length).toBe(1);
      return tallyOf((steps[0] as KernelStep).kernel);
    };
    const [one, two] = [[...ofExtremes(1).functions], [...ofExtremes(2).functions]];
    expect([one.length, two.length]).toEqual([1, 1]);
    expect(one[0]![0]).not.toBe(two[0]![0]);
    expect(one[0]![1].vectors).toBe(4096 / 16);
  });

  it('has the numbers of the runtime', () => {
    const textOf = (file: string): string =>
      readFileSync(new URL(`../../native/cpu/${file}`, import.meta.url), 'utf8');
    expect(textOf('tape-job.h')).toContain(`kTaskWork = 1 << ${Math.log2(TASK_WORK)};`);
    expect(textOf('tape-memory.cpp')).toContain(`kSquareRows = ${SQUARE_ROWS};`);
    expect(textOf('tape-job.h')).toContain(`kStreamBytes = int64_t{${STREAM_BYTES >> 20}} << 20;`);
  });
});

describe('a predicted time', () => {
  it('grows with elements, with the work of a function and with its width', () => {
    for (const n of [1, 64, 4096, 1 << 18, 1 << 26])
      expect(seconds(map(4 * n, 'exp'))).toBeGreaterThan(seconds(map(n, 'exp')));
    expect(seconds(map(1 << 16, 'exp'))).toBeGreaterThan(2 * seconds(map(1 << 16, 'negative')));
    expect(seconds(map(1 << 16, 'exp', 'float64'))).toBeGreaterThan(2 * seconds(map(1 << 16, 'exp')));
  });

  it('is that of memory where a kernel does little: twice the bytes take twice the time', () => {
    const [one, two] = [seconds(map(1 << 26, 'negative')), seconds(map(1 << 27, 'negative'))];
    // Caches hold a smaller part of more.
    expect(two / one).toBeGreaterThan(1.99);
    expect(two / one).toBeLessThan(2.1);
    // 256 MiB each way at 3 to 60 GB/s.
    expect(one).toBeGreaterThan(0.008);
    expect(one).toBeLessThan(0.2);
  });

  it('counts whole lines of the caches where elements are apart', () => {
    const apart = seconds(map(1 << 22, 'negative', 'float32', 16));
    expect(apart).toBeGreaterThan(4 * seconds(map(1 << 22, 'negative')));
  });

  it('has no lines that take longer where a core holds all bytes, and more of it the farther they are', () => {
    expect(lineRateOf('alone', 2 ** 20)).toBe(0);
    const times = [2 ** 21, 2 ** 24, 2 ** 25, 2 ** 26, 2 ** 30].map((bytes) => lineRateOf('alone', bytes));
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(times[4]).toBe(times[3]);
  });

  it('is shared by threads, unless there is one task', () => {
    expect(seconds(map(1 << 24, 'exp'), 8)).toBeLessThan(seconds(map(1 << 24, 'exp')) / 3);
    // A thread that is alone has memory for itself, however many there are.
    expect(seconds(map(4096, 'exp'), 8) / seconds(map(4096, 'exp'))).toBeCloseTo(1, 9);
  });

  it('is shared as the runtime shares tiles: two may be a task each, and three keep two threads as long as four', () => {
    const chain = (tiles: number): Kernel => {
      const b = new KernelBuilder([tiles * 8192], []);
      let x = b.load('float32', [1]);
      for (let k = 0; k < 8; k++) x = b.map(k % 2 === 0 ? 'exp' : 'abs', x);
      return b.store(x, [1]).build();
    };
    expect([1, 2, 3, 4].map((tiles) => tallyOf(chain(tiles)).tasks)).toEqual([1, 2, 3, 4]);
    const [three, four] = [seconds(chain(3), 2), seconds(chain(4), 2)];
    expect(three / four).toBeGreaterThan(0.95);
    expect(seconds(chain(4)) / four).toBeGreaterThan(1.3);
  });

  it('shares the blocks of tiles that are fewer than four for each thread, as the runtime does', () => {
    const rows = tallyOf(sum(12, 2 ** 20, [2 ** 20, 1]));
    expect(rows.tiles).toBe(12);
    expect(rows.tasksOfBlocks).toBeGreaterThan(0);
    expect(threadsOf(rows, unmeasuredRates(16))).toBeGreaterThan(15);
    expect(threadsOf(rows, unmeasuredRates(2))).toBe(2);
    expect(threadsOf(rows, unmeasuredRates(1))).toBe(1);
    // Two tasks of eight tiles are of four each; of three tiles, of two and one.
    const { tasksOfBlocks: _, ...tiled } = tallyOf(map(1 << 20, 'exp'));
    expect(threadsOf({ ...tiled, tasks: 2, tiles: 8 }, unmeasuredRates(2))).toBe(2);
    expect(threadsOf({ ...tiled, tasks: 2, tiles: 3 }, unmeasuredRates(2))).toBe(1.5);
  });

  /** A chain of four ops, of elements or of sums of rows. */
  const chained = (rows: number, columns: number, sums: boolean): Kernel => {
    const b = sums ? new KernelBuilder([rows], [columns]) : new KernelBuilder([rows, columns], []);
    let x = b.load('float32', [columns, 1]);
    for (const op of ['exp', 'abs', 'negative', 'tanh'] as const) x = b.map(op, x);
    return b.store(sums ? b.reduce('sum', x) : x, sums ? [1, 0] : [columns, 1]).build();
  };

  // Counted by the addon's `workOfTile` for the same kernels; 2^17 of it are a task.
  it.each([
    ['light ops', map(30_000, 'abs'), 1],
    ['light ops of many tiles', map(1 << 20, 'abs'), 32],
    ['ops that are iterated', map(30_000, 'gamma'), 4],
    ['functions', map(1 << 20, 'exp'), 43],
    ['functions of float64', map(1 << 20, 'sin', 'float64'), 64],
    ['a chain, with the step that ends it', chained(1, 19_968, false), 3],
    ['sums of chains', chained(3000, 400, true), 167],
    ['sums of rows', sum(2000, 300, [300, 1]), 11],
    ['sums of columns', sum(300, 2000, [1, 300]), 2],
  ] as const)('weighs instructions of tasks as the runtime does: %s', (_, kernel, tasks) => {
    expect(tallyOf(kernel).tasks).toBe(tasks);
  });

  it('has results past the caches from the size on that is written so, and not in the bytes that caches hold', () => {
    const streamed = (n: number, rate: number): number =>
      secondsOfTape(map(n, 'negative'), { ...rates, streamed: rate });
    expect(streamed(1 << 21, 1)).toBe(seconds(map(1 << 21, 'negative')));
    // What takes longest by itself is all that takes time; else a part of it is waited for.
    expect(streamed(1 << 22, 1) / 2 ** 24).toBeCloseTo(1e-9, 12);
    const [none, some] = [0, 0.01].map((rate) => streamed(1 << 22, rate));
    expect((some! - none!) / 2 ** 24).toBeCloseTo(0.26 * 1e-11, 15);
    const far = { ...rates, memory: rates.memory.map((r) => (r.bytes < 2 ** 26 ? r : { ...r, read: 100 })) };
    expect(secondsOfTape(map(1 << 22, 'negative'), far)).toBe(seconds(map(1 << 22, 'negative')));
  });

  it('has memory shared by threads as far as it is measured to be, and caches wholly', () => {
    const [near, far] = [map(1 << 20, 'negative'), map(1 << 26, 'negative')];
    const by = (kernel: Kernel, threads: number, spread: number): number =>
      secondsOfTape(kernel, { ...unmeasuredRates(threads), fork: 0, spread });
    expect(by(near, 4, 0)).toBe(by(near, 4, 1));
    expect(by(far, 1, 0) / by(far, 4, 1)).toBeCloseTo(4, 1);
    expect(by(far, 1, 0) / by(far, 4, 0)).toBeLessThan(1.5);
  });

  it('scales with how slow a machine is', () => {
    const slow = {
      ...rates,
      slowness: 3,
      memory: rates.memory.map((r) => ({ ...r, read: 1e-12, write: 1e-12 })),
    };
    const quick = { ...slow, slowness: 1 };
    const kernel = map(1 << 18, 'exp');
    expect(secondsOfTape(kernel, slow) / secondsOfTape(kernel, quick)).toBeCloseTo(3, 4);
  });

  it('of a loop is that of all its runs', () => {
    const kernel = map(1 << 16, 'exp');
    const step = stepOf(kernel);
    const loop = { kind: 'loop', steps: 100, stepsAtOnce: 1, body: [step] } as never;
    expect(CPU_COSTS.secondsOf(loop, 1) / CPU_COSTS.secondsOf(step, 1)).toBeCloseTo(100, 6);
    expect(CPU_COSTS.secondsOf(step, 0.25) / CPU_COSTS.secondsOf(step, 1)).toBeCloseTo(0.25, 6);
  });
});

describe('measured rates', () => {
  it('have each function of the kernels that are asked for, and predict them about as they are measured', async () => {
    const b = new KernelBuilder([1 << 14], []);
    const chain = b
      .store(b.map('negative', b.map('tanh', b.map('abs', b.load('float32', [1])))), [1])
      .build();
    const kernels = [map(1 << 16, 'exp'), map(1 << 14, 'cbrt', 'float64'), sum(256, 1024, [1024, 1]), chain];
    await Promise.all([measureRates(kernels), measureRates(kernels)]);
    const { functions, memory, slowness } = cpuRates();
    for (const key of ['exp float32', 'cbrt float64', 'along lanes sum float32'])
      expect(functions.get(key), key).toBeGreaterThanOrEqual(0);
    // Of a hundred instructions: the probe has it as a step of a chain, too.
    expect(functions.get('chained tanh float32')).toBeGreaterThan(0);
    expect(slowness).toBeGreaterThan(0);
    for (const { read, write } of memory) expect(Math.min(read, write)).toBeGreaterThan(0);
    for (const kernel of kernels) {
      const ratio = CPU_COSTS.secondsOf(stepOf(kernel), 1) / (await timeOfStep(stepOf(kernel)));
      // Other work on the machine may be in one of the two.
      expect(ratio).toBeGreaterThan(0.1);
      expect(ratio).toBeLessThan(10);
    }
  });

  it('refuses what is no tape', () => {
    const none = {
      name: 'none',
      words: new Float64Array(3),
      constants: new Uint8Array(0),
      ops: [],
      weights: new Float64Array(0),
    };
    expect(() => timeTape(none, 1)).toThrow(/malformed tape/);
    expect(() => timeTape({ ...none, weights: new Float64Array(1) }, 1)).toThrow(/weights/);
    expect(() => timeTape({ ...none, weights: undefined } as never, 1)).toThrow(/weights/);
  });
});
