/**
 * Decisions and promises of the CUDA printers: schedules follow from shapes alone, sources hold no values,
 * one source serves many shapes, and every source compiles with the real NVRTC. Golden files hold the sources
 * of a few kernels (`vitest run -u` rewrites them).
 */
import { describe, expect, it } from 'vitest';
import { cudaKernel, DEFAULT_LIMITS, printSchedule, scheduleOf } from '../../src/codegen/cuda/cuda.js';
import { LOOP_CHECK } from '../../src/codegen/cuda/loop-check.js';
import { cudaOf } from '../../src/exec/targets/kernel-source.js';
import { isConstant } from '../../src/fusion/kernel/arithmetic.js';
import { create } from '../../src/fusion/kernel/instruction.js';
import type { Kernel } from '../../src/fusion/kernel/kernel.js';
import { DTYPES, type Scalar } from '../../src/graph/dtype.js';
import type { OpName } from '../../src/graph/ops.js';
import type { ReductionName } from '../../src/graph/reductions.js';
import { KernelBuilder } from '../support/kernel-builder.js';
import { whyNoNvrtc, withoutNvrtc } from '../support/nvrtc.js';
import { expectCompiled } from '../support/nvrtc-images.js';
import { CUDA_CASES } from './cuda-cases.js';
import { COMPUTED, castsOf, opsOf } from './cuda-op-cases.js';

const GOLDEN = [
  'map flat with a tail',
  'map with broadcasts',
  'map of columns computed once',
  'map of a padded load',
  'map of halves',
  'map of roots of anything',
  'map with a transposed load',
  'table of 500 float32 by 1, 129 held',
  'reduce all by sum of float32',
  'reduce rows by argmin of float32',
  'reduce columns by squareddeviations of float32',
  'reduce several with a row epilogue',
  'reduce pairs of points',
  'pairs of rows',
  'pairs of slots in tiles',
  'pairs of many rows by turns of warps',
  'rows of softmax',
  'rows of softmax walked again',
  'rows of softmax in shared memory',
  'rows of softmax of one row',
  'rows of layer norm',
];

const scaled = (count: number, factor: number): Kernel => {
  const b = new KernelBuilder([count]);
  return b.store(b.map('multiply', b.load('float32', [1]), b.constant('float32', factor))).build('scaled');
};
const summed = (parallel: number[], reduced: number[], strides: number[]): Kernel => {
  const b = new KernelBuilder(parallel, reduced);
  return b.store(b.reduce('sum', b.load('float32', strides))).build('summed');
};

describe('cudaKernel', () => {
  it.each(GOLDEN)('prints %s as in its golden file', async (name) => {
    const { kernel, schedule } = CUDA_CASES.find((one) => one.name === name)!;
    const cuda = cudaKernel(kernel, schedule);
    const launches = cuda.launches.map(
      (l) =>
        `// ${l.function}: grid ${l.grid.join(' × ')}, block ${l.block[0]}, arguments ${l.args.map(argumentText).join(' ')}`,
    );
    const scratch = cuda.scratch.map(({ byteLength }, k) => `// scratch ${k}: ${byteLength} bytes`);
    const text = [`// ${printSchedule(cuda.schedule)}`, ...launches, ...scratch, '', cuda.source].join('\n');
    await expect(text).toMatchFileSnapshot(`../golden/cuda/${kernel.name}.cu`);
  });

  it('takes fast paths of roots in long maps, and looks once at a chunk whether they hold', () => {
    const roots = (count: number): string => {
      const b = new KernelBuilder([1024]);
      let x = b.load('float32', [1]);
      for (let k = 0; k < count; k++) x = b.map('sqrt', x);
      return cudaKernel(b.store(x).build('roots')).source;
    };
    expect(roots(3)).not.toMatch(/weft_near_sqrt/);
    const source = roots(50);
    expect(source.match(/= weft_near_sqrt\(/g)).toHaveLength(50);
    expect(source.match(/= sqrtf\(/g)).toHaveLength(50);
    expect(source.match(/if \(!\(reciprocals /g)).toHaveLength(1);
  });

  it('takes a reciprocal for quotients of bfloat16 that nothing reads before they are rounded', () => {
    const textOf = (dtype: 'bfloat16' | 'float16' | 'float32', isReadBefore = false): string => {
      const b = new KernelBuilder([1000]);
      const [x, y] = [b.cast(b.load(dtype, [1]), 'float32'), b.cast(b.load(dtype, [1]), 'float32')];
      const quotient = b.map('divide', x, y);
      b.store(b.cast(quotient, dtype));
      return cudaKernel((isReadBefore ? b.store(b.map('exp', quotient)) : b).build('quotients')).source;
    };
    expect(textOf('bfloat16')).toContain('weft_bfloat_quotient(');
    for (const text of [textOf('float16'), textOf('float32'), textOf('bfloat16', true)])
      expect(text).not.toContain('weft_bfloat_quotient');
  });

  it('computes what depends on the column alone once for several chunks, where it is worth it', () => {
    const standardized = (rows: number, columns: number): Kernel => {
      const b = new KernelBuilder([rows, columns]);
      const centred = b.map('subtract', b.load('float32', [columns, 1]), b.load('float32', [0, 1]));
      const spread = b.map('sqrt', b.map('divide', b.load('float32', [0, 1]), b.constant('float32', rows)));
      return b.store(b.map('divide', centred, spread)).build('standardized');
    };
    const unroll = (kernel: Kernel): number => {
      const schedule = scheduleOf(kernel);
      if (schedule.kind !== 'map') throw new Error('a map');
      return schedule.unroll;
    };
    expect(unroll(standardized(2 ** 20, 32))).toBe(2);
    expect(unroll(standardized(2 ** 20, 48))).toBe(1); // chunks of a thread are in different columns
    expect(unroll(standardized(2 ** 10, 32))).toBe(1); // too few chunks for all threads
    expect(cudaKernel(standardized(2 ** 20, 32)).source.match(/sqrtf/g)).toHaveLength(1);
  });

  it('gives threads of large maps several chunks unless there is much arithmetic', () => {
    const chain = (ops: readonly OpName[]) => {
      const b = new KernelBuilder([2 ** 22]);
      const value = ops.reduce((x, op) => b.map(op, x), b.load('float32', [1]));
      return scheduleOf(b.store(value).build('chain'));
    };
    expect(chain(['sin', 'cos', 'exp'])).toMatchObject({ kind: 'map', width: 4, unroll: 2 });
    expect(chain(['sin', 'cos', 'sin', 'cos'])).toMatchObject({ kind: 'map', width: 4, unroll: 1 });
  });

  it('passes constants as arguments, so that another value is the same source', () => {
    const [a, b] = [scaled(1000, 0.25), scaled(1000, Number.NaN)].map((kernel) => cudaKernel(kernel));
    expect(a!.source).toBe(b!.source);
    expect(a!.launches).not.toEqual(b!.launches);
  });

  it('prints a structure once, with the constants of each kernel', () => {
    const changed = { float32: 0.125, float64: 0.125, int32: 5, int64: 5n } as Readonly<
      Record<string, Scalar>
    >;
    let constants = 0;
    for (const { name, kernel, schedule = scheduleOf(kernel) } of CUDA_CASES) {
      const tape = kernel.tape.map((i) => {
        const value = isConstant(i) ? changed[i.dtype] : undefined;
        if (value === undefined) return i;
        constants++;
        return create.constant(i.dtype, value);
      });
      const other: Kernel = { ...kernel, tape };
      const [first, second] = [kernel, other].map((each) => cudaOf(each, DEFAULT_LIMITS, schedule));
      expect(first, name).toEqual(cudaKernel(kernel, schedule));
      expect(second, name).toEqual(cudaKernel(other, schedule));
    }
    expect(constants).toBeGreaterThan(20);
  });

  it('prints one source for maps of many lengths and for sums of many shapes', () => {
    const sources = (kernels: Kernel[]) => new Set(kernels.map((kernel) => cudaKernel(kernel).source)).size;
    expect(sources([1024, 4096, 123_456].map((n) => scaled(n, 2)))).toBe(1);
    expect(sources([1001, 4099].map((n) => scaled(n, 2)))).toBe(1);
    expect(sources([2 ** 22, 2 ** 26, 2 ** 28].map((n) => summed([], [n], [1])))).toBe(1);
    // Rows of 4096 and more by several warps each.
    for (const lengths of [
      [1024, 2048],
      [4096, 8192],
    ]) {
      expect(sources(lengths.map((n) => summed([2 ** 16], [n], [n, 1])))).toBe(1);
    }
  });

  it('takes 64-bit indices only where an offset needs them', () => {
    const far = new KernelBuilder([4, 1024]);
    const strided = far.store(far.load('float32', [2 ** 30, 1])).build('far');
    expect(cudaKernel(strided).source).toMatch(/const long long i = /);
    expect(cudaKernel(scaled(2 ** 30, 2)).source).toMatch(/const int i = /);
    expect(cudaKernel(scaled(2 ** 31, 2)).source).toMatch(/const long long i = /);
  });

  it('moves aligned chunks of 16 bytes, and single elements where an offset breaks the alignment', () => {
    const at = (offset: number): string => {
      const b = new KernelBuilder([4096]);
      return cudaKernel(b.store(b.map('exp', b.load('float32', [1], { offset }))).build('shifted')).source;
    };
    const whole = /reinterpret_cast<const weft_pack<float, 4>\*>/;
    expect(at(8)).toMatch(whole);
    expect(at(3)).not.toMatch(whole);
  });

  it('takes the elements of neighbours from a chunk that is there, and loads those beside it alone', () => {
    const b = new KernelBuilder([100, 64]);
    const left = b.load('float32', [64, 1], {
      offset: -1,
      bounds: [{ offset: -1, strides: [0, 1], size: 64 }],
      buffer: 'x',
    });
    const sum = b.map('add', left, b.load('float32', [64, 1], { buffer: 'x' }));
    const { schedule, source } = cudaKernel(b.store(sum).build('neighbours'));
    expect(schedule).toMatchObject({ kind: 'map', width: 4 });
    expect(source).toMatch(/l0\.v\[e\] = .* \? \(e >= 1 \? l1\.v\[e - 1\] : b0\[.*\]\) : 0\.0f;/);
  });

  it('refuses a kernel of more blocks than a launch can have, by its name', () => {
    const mapOf = (size: number): Kernel => {
      const b = new KernelBuilder([size], []);
      return b.store(b.load('int8', [0])).build('copy');
    };
    expect(cudaOf(mapOf(2 ** 39)).launches[0]!.grid[0]).toBeLessThan(2 ** 31);
    expect(() => cudaOf(mapOf(2 ** 45))).toThrow(
      /^\[compute\] expected kernels of at most 2\^31 - 1 blocks on a GPU: copy has \d+ \(/,
    );
  });

  it('has nothing to launch for an empty domain', () => {
    expect(cudaKernel(scaled(0, 2))).toMatchObject({ launches: [], scratch: [] });
  });

  it('cuts long reductions into slots by shape alone, and combines them in a second launch', () => {
    const all = cudaKernel(summed([], [2 ** 28], [1]));
    expect(all.schedule).toMatchObject({ kind: 'reduce', mapping: 'rows', slots: 2048 });
    expect(all.launches.map((l) => l.function)).toEqual(['summed_reduce_partial', 'summed_reduce_combine']);
    expect(all.scratch).toEqual([{ byteLength: 4 * 2048, zeroed: false }]);
    expect(scheduleOf(summed([2 ** 16], [2048], [2048, 1]))).toMatchObject({
      mapping: 'rows',
      threadsR: 32,
      slots: 1,
    });
    expect(scheduleOf(summed([2 ** 16], [4096], [4096, 1]))).toMatchObject({
      mapping: 'rows',
      threadsR: 128,
      slots: 1,
    });
    expect(scheduleOf(summed([4096], [2 ** 16], [1, 4096]))).toMatchObject({
      mapping: 'columns',
      threadsP: 32,
      slots: 32,
    });
    // Columns enough for all of a device leave no partial results.
    expect(scheduleOf(summed([2 ** 16], [4096], [1, 2 ** 16]))).toMatchObject({
      mapping: 'columns',
      slots: 1,
    });
  });

  it('lays out sums over pairs by whether they have fast paths, in full rounds of blocks', () => {
    const pairs = (op: OpName, reduction: ReductionName, count = 50_000): Kernel => {
      const b = new KernelBuilder([count], [count]);
      const difference = b.map('subtract', b.load('float32', [1, 0]), b.load('float32', [0, 1]));
      return b.store(b.reduce(reduction, b.map(op, difference))).build('pairs');
    };
    const near = { threadsP: 128, itemsP: 8, slotLength: 640, slots: 79 }; // 49 * 79 blocks: 4.9 rounds of 792
    const plain = { threadsP: 256, itemsP: 4, slotLength: 256, slots: 196 };
    expect(scheduleOf(pairs('exp', 'sum'))).toMatchObject(near);
    expect(scheduleOf(pairs('sqrt', 'max'))).toMatchObject(near);
    expect(scheduleOf(pairs('exp', 'max'))).toMatchObject(plain);
    expect(scheduleOf(pairs('square', 'sum'))).toMatchObject(plain);
    // Chains stay short enough.
    expect(scheduleOf(pairs('exp', 'sum', 2 ** 23))).toMatchObject({ slotLength: 1024 });
  });

  it('cuts pairs with few tiles into slots, in tiles that both sides have neighbours in', () => {
    const pairs = (rows: number, columns: number, reduced: number[], x: number[], y: number[]): Kernel => {
      const b = new KernelBuilder([rows, columns], reduced);
      const sum = b.reduce('sum', b.map('multiply', b.load('float32', x), b.load('float32', y)));
      return b.store(sum).build('pairs');
    };
    const inOrder = pairs(96, 96, [64, 64, 96], [96, 0, 589824, 9216, 1], [0, 64, 1, 6144, 393216]);
    expect(scheduleOf(pairs(96, 96, [8192], [8192, 0, 1], [0, 8192, 1]))).toMatchObject({
      kind: 'outer-product',
      items: { i: 6, j: 6 },
      slots: 64,
      slotLength: 128,
      tile: [],
    });
    // Smaller tiles where there are few slots.
    expect(scheduleOf(pairs(96, 96, [4096], [4096, 0, 1], [0, 4096, 1]))).toMatchObject({
      items: { i: 2, j: 2 },
      slots: 32,
    });
    expect(scheduleOf(inOrder)).toMatchObject({
      tile: [
        { axis: 2, length: 8 },
        { axis: 4, length: 4 },
      ],
    });
    // Enough tiles without slots; too few results for a tile; too few elements for slots.
    expect(scheduleOf(pairs(2048, 2048, [64], [64, 0, 1], [0, 64, 1]))).toMatchObject({
      items: { i: 8, j: 8 },
      slots: 1,
    });
    // Few rows or columns: tiles of a warp, whose warps take reduced elements by turns; smaller ones of fewer rows.
    expect(scheduleOf(pairs(16384, 16, [1000], [1000, 0, 1], [0, 1, 16]))).toMatchObject({
      items: { i: 8, j: 4 },
      threads: { i: 8, j: 4 },
      depth: 64,
      slots: 1,
    });
    expect(scheduleOf(pairs(30, 4096, [1000], [1000, 0, 1], [0, 1, 4096]))).toMatchObject({
      items: { i: 4, j: 4 },
      threads: { i: 8, j: 8 },
    });
    // A thread takes an eighth of them, so that longer ones are folded.
    expect(scheduleOf(pairs(16384, 16, [10_000], [10_000, 0, 1], [0, 1, 16]))).toMatchObject({ fold: 8192 });
    // Short sums: tiles of a block with a short side.
    expect(scheduleOf(pairs(30, 2 ** 16, [64], [64, 0, 1], [0, 1, 2 ** 16]))).toMatchObject({
      items: { i: 2, j: 8 },
      slots: 1,
    });
    expect(scheduleOf(pairs(3, 96, [2 ** 20], [2 ** 20, 0, 1], [0, 2 ** 20, 1]))).toMatchObject({
      kind: 'reduce',
    });
    expect(scheduleOf(pairs(96, 96, [64], [64, 0, 1], [0, 64, 1]))).toMatchObject({ kind: 'reduce' });
    // Longer slots, folded, where more would leave as much as they read.
    const long = scheduleOf(pairs(512, 512, [2 ** 20], [2 ** 20, 0, 1], [0, 2 ** 20, 1]));
    expect(long).toMatchObject({ kind: 'outer-product', fold: 1024 });
    if (long.kind === 'outer-product') expect(long.slotLength % 1024).toBe(0);
  });

  it('adds at most 1024 elements into one accumulator, so that sums of ones stay exact', () => {
    for (const [p, r] of [
      [1, 2 ** 28],
      [2, 2e7],
      [4096, 2 ** 16],
      [2 ** 20, 2 ** 16],
    ] as const) {
      const schedule = scheduleOf(summed(p === 1 ? [] : [p], [r], p === 1 ? [1] : [1, p]));
      if (schedule.kind !== 'reduce') throw new Error(schedule.kind);
      const side = schedule.mapping === 'rows' ? schedule.width : 1;
      expect(schedule.slotLength / (schedule.threadsR * side)).toBeLessThanOrEqual(1024);
    }
  });

  it('keeps rows in registers where they fit, walks them again where not, and splits a few long rows', () => {
    const softmax = (rows: number, length: number, limits = DEFAULT_LIMITS) => {
      const b = new KernelBuilder(rows === 1 ? [] : [rows], [length]);
      const strides = rows === 1 ? [1] : [length, 1];
      const x = b.load('float32', strides);
      const e = b.map('exp', b.map('subtract', x, b.reduce('max', x)));
      return scheduleOf(b.store(b.map('divide', e, b.reduce('sum', e)), strides).build('softmax'), limits);
    };
    expect(softmax(262_144, 1024)).toMatchObject({ kind: 'rows', threadsR: 32, chunks: 8, held: true });
    expect(softmax(4096, 2 ** 16)).toMatchObject({
      kind: 'rows',
      threadsR: 512,
      sharedChunks: 16,
      held: true,
    });
    expect(softmax(4096, 2 ** 20)).toMatchObject({ kind: 'rows', threadsR: 512, held: false });
    expect(softmax(4096, 2 ** 16, { sharedByteLength: 99 * 1024 })).toMatchObject({
      threadsR: 512,
      held: false,
    });
    expect(softmax(1, 2 ** 20)).toEqual({ kind: 'split' });
  });

  it('writes only the device functions that a source calls', () => {
    const { source } = cudaKernel(scaled(1024, 2));
    expect([...source.matchAll(/__device__/g)]).toHaveLength(0);
    expect(source).not.toMatch(/weft_c64|weft_half/);
  });
});

const argumentText = (arg: ReturnType<typeof cudaKernel>['launches'][number]['args'][number]): string => {
  if ('bytes' in arg) return `0x${Buffer.from(arg.bytes).reverse().toString('hex')}`;
  if ('block' in arg) return `block.${arg.block}`;
  if ('steps' in arg) return 'steps';
  if ('done' in arg) return 'done';
  return 'buffer' in arg ? `b${arg.buffer}` : `scratch${arg.scratch}`;
};

describe.skipIf(withoutNvrtc)(`generated sources under NVRTC${whyNoNvrtc}`, () => {
  it.each(['sm_80', 'sm_90', 'sm_100'])(
    'compile for %s',
    (architecture) => {
      const sources = CUDA_CASES.map(({ kernel, schedule }) => cudaKernel(kernel, schedule).source);
      return expectCompiled(sources, architecture);
    },
    240_000,
  );

  it.each(['sm_80', 'sm_90', 'sm_100'])('of what decides on loops compile for %s', (architecture) =>
    expectCompiled([LOOP_CHECK], architecture),
  );

  it('compile for every op and cast', () => {
    const jobs = [...COMPUTED.map((dtype) => opsOf(dtype).job), ...DTYPES.map(castsOf)];
    return expectCompiled(
      jobs.map(({ cuda }) => cuda.source),
      'sm_90',
    );
  }, 240_000);
});
