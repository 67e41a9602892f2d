/**
 * Chains of a tape as machine code of their own: the bits of their steps, for random chains of every op that has an
 * instruction and of functions that are called, over operands that go through a block, repeat in it or are results in
 * the middle of a chain, with reductions at the end, and over rows that end within a chunk or have zeros around them.
 */
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import * as runtime from '../../src/exec/native/native.js';
import type { Kernel } from '../../src/fusion/kernel/kernel.js';
import type { TypedArray } from '../../src/graph/expr.js';
import { over } from '../support/host.js';
import { KernelBuilder } from '../support/kernel-builder.js';
import { generator } from '../support/random.js';
import { tapeProgram } from '../support/tape-runner.js';

/** The addon itself, whose settings are those of the process; programs keep what they were made with. */
const addon = createRequire(import.meta.url)(
  resolve(import.meta.dirname, '../../build/Release/weft.node'),
) as { configureCpu(settings: { isa?: string; compilesLoops?: boolean }): void };
const { isa: widest, compilesLoops: isCompiling } = runtime.cpuInfo();
const ISAS = { avx2: ['avx2'], avx512: ['avx2', 'avx512'] }[widest] ?? [];

afterEach(() => addon.configureCpu({ isa: widest, compilesLoops: isCompiling }));

const UNARY = [
  ...(['abs', 'negative', 'square', 'sqrt', 'rsqrt', 'reciprocal', 'sign'] as const),
  ...(['round', 'floor', 'ceil', 'trunc'] as const),
];
const FUNCTIONS = ['exp', 'sin', 'tanh', 'log1p', 'erf'] as const;
const BINARY = ['add', 'subtract', 'multiply', 'divide', 'maximum', 'minimum'] as const;
const COMPARISONS = ['equal', 'notEqual', 'less', 'lessEqual', 'greater', 'greaterEqual'] as const;
const REDUCTIONS = ['sum', 'min', 'max'] as const;
const SHAPES = [
  [1, 10_001],
  [1, 4161],
  [40, 257],
  [9, 1024],
  [24, 512],
] as const;
/** Which axes a chain's values are reduced along. */
const REDUCED = ['none', 'rows', 'columns', 'both'] as const;

/** `arrays`: those that chains of one dtype read; the more, the more of their values do not fit in registers. */
function randomChain(seed: number, length: number, arrays: number): Kernel {
  const next = generator(seed);
  const below = (count: number): number => Math.floor(next() * count);
  const pick = <T>(list: readonly T[]): T => list[below(list.length)]!;
  const dtype = pick(['float32', 'float64'] as const);
  const [rows, columns] = SHAPES[seed % SHAPES.length]!;
  const drawn = REDUCED[Math.floor(seed / SHAPES.length) % REDUCED.length]!;
  // An axis of one element is none of a kernel's.
  const along = rows === 1 && drawn !== 'none' ? 'columns' : drawn;
  // Strides stand for parallel axes first.
  const isSwapped = along === 'rows';
  const b = {
    none: () => new KernelBuilder([rows, columns]),
    rows: () => new KernelBuilder([columns], [rows]),
    columns: () => new KernelBuilder([rows], [columns]),
    both: () => new KernelBuilder([], [rows, columns]),
  }[along]();
  const load = (row: number, column: number): number =>
    b.load(dtype, isSwapped ? [column, row] : [row, column]);
  const values = [
    ...Array.from({ length: arrays }, () => load(columns, 1)),
    load(1, 0),
    load(0, 1),
    b.constant(dtype, pick([0, -0, 1.5, -2, Number.NaN, Number.POSITIVE_INFINITY])),
    b.constant(dtype, next() * 4 - 2),
  ];
  for (let k = 0; k < length; k++) {
    // Most take the last value, so that there is one chain.
    const last = values.at(-1)!;
    const way = next();
    if (way < (seed % 2) * 0.12) values.push(b.map(pick(FUNCTIONS), last));
    else if (way < 0.3) values.push(b.map(pick(UNARY), last));
    else if (way < 0.85) {
      const args = next() < 0.5 ? [last, pick(values)] : [pick(values), last];
      values.push(b.map(pick(BINARY), ...args));
    } else values.push(b.map('where', b.map(pick(COMPARISONS), last, pick(values)), pick(values), last));
    if (along === 'none' && next() < 0.05) b.store(values.at(-1)!);
  }
  if (along === 'none') b.store(values.at(-1)!);
  // Of elements, whatever the last values are of.
  else
    for (const value of values.slice(-2))
      b.store(b.reduce(pick(REDUCTIONS), b.map('subtract', value, values[0]!)));
  return b.build();
}

const SPECIAL = [Number.NaN, 0, -0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1e-310, 1e-40, 3e38];

function inputsOf(kernel: Kernel, seed: number): (TypedArray | undefined)[] {
  const next = generator(seed);
  return kernel.buffers.map(({ dtype, role, elementCount }) => {
    if (role !== 'input') return undefined;
    const array = dtype === 'float32' ? new Float32Array(elementCount) : new Float64Array(elementCount);
    for (let k = 0; k < elementCount; k++)
      array[k] = next() < 0.02 ? SPECIAL[Math.floor(next() * SPECIAL.length)]! : 8 * next() - 4;
    return array;
  });
}

/** The engine's; the types of this project have none. */
declare const WebAssembly: {
  Memory: new (pages: { initial: number; maximum: number }) => { buffer: ArrayBuffer };
};

/** A copy that ends with a page behind which the engine keeps memory that nobody may read. */
function beforeGuard(array: TypedArray): TypedArray {
  const pages = Math.ceil(array.byteLength / 65_536);
  const { buffer } = new WebAssembly.Memory({ initial: pages, maximum: pages });
  const Arrays = array.constructor as new (memory: ArrayBuffer, at: number, length: number) => TypedArray;
  const copy = new Arrays(buffer, buffer.byteLength - array.byteLength, array.length);
  (copy as Float64Array).set(array as Float64Array);
  return copy;
}

/** Any NaN is as another: a sum of two has the sign of one of them. */
const areEqual = (a: TypedArray, b: TypedArray): boolean =>
  a.length === b.length && Array.from(a.keys()).every((k) => Object.is(a[k], b[k]));

/** The results of the last of several runs of one program, the second one with code if it gets any. */
async function resultsOf(
  kernel: Kernel,
  inputs: readonly (TypedArray | undefined)[],
  runs: number,
): Promise<{ results: TypedArray[]; hasCode: boolean }> {
  const program = tapeProgram(runtime, kernel);
  const outputs = kernel.buffers.filter(({ role }) => role === 'output');
  const given = inputs.filter((input) => input !== undefined);
  for (let [k, codes] = [1, 0]; ; k++) {
    const before = runtime.cpuInfo().chainCodes;
    const { outputs: found } = await runtime.run(program, given, { outputs: outputs.map(() => 'host') });
    if (runtime.cpuInfo().chainCodes > before) codes++;
    if (k < runs && codes < 2) continue;
    const results = found.map((buffer, k) =>
      over(outputs[k]!.dtype, buffer as ArrayBuffer, 0, outputs[k]!.elementCount),
    );
    return { results, hasCode: codes > 0 };
  }
}

/** Of the least of the kernels here: so many runs of steps take as long as to compile them. */
const RUNS = 160;

describe.each(ISAS)('chains compiled for %s', (isa) => {
  it('give the bits of their steps', async () => {
    const different: string[] = [];
    let compiled = 0;
    const seeds = 40;
    for (let seed = 0; seed < seeds; seed++) {
      const kernel = randomChain(seed, 6 + 2 * (seed % 13), 1 + (seed % 4));
      const inputs = inputsOf(kernel, seed);
      addon.configureCpu({ isa, compilesLoops: false });
      const { results: wanted, hasCode } = await resultsOf(kernel, inputs, 1);
      expect(hasCode).toBe(false);
      addon.configureCpu({ isa, compilesLoops: true });
      const found = await resultsOf(kernel, inputs, RUNS);
      if (found.hasCode) compiled++;
      wanted.forEach((array, k) => {
        if (!areEqual(array, found.results[k]!)) different.push(`seed ${seed}, output ${k}`);
      });
    }
    expect(different).toEqual([]);
    // Others are joined pairs, walk rows of few lanes, or call functions more than every seventh instruction.
    expect(compiled).toBeGreaterThan(0.7 * seeds);
  });

  // Rows of less than a chunk's multiple, and zeros around them: their first and last vectors are masked.
  it.each([
    [24, 1000, [1]],
    [9, 1023, [1, 2]],
    [17, 257, [3]],
    [40, 640, [4]],
    [12, 1001, []],
    [19, 1003, [3]],
    [20, 265, [3, 1]],
    [30, 1001, [2]],
  ])(
    'walk rows that end within a chunk or where neighbours are zero: %i x %i, %j',
    async (rows, columns, ways) => {
      for (const dtype of ['float32', 'float64'] as const) {
        const b = new KernelBuilder([rows, columns]);
        const at = (down: number, right: number): number =>
          b.load(dtype, [columns, 1], {
            buffer: 'x',
            offset: down * columns + right,
            bounds: [
              ...(down === 0 ? [] : [{ offset: down, strides: [1, 0], size: rows }]),
              ...(right === 0 ? [] : [{ offset: right, strides: [0, 1], size: columns }]),
            ],
          });
        const x = at(0, 0);
        let sum = b.map('multiply', x, b.load(dtype, [0, 1], { buffer: 'weights' }));
        for (const [down, right] of [
          [-1, 0],
          [1, 0],
          ...ways.flatMap((way) => [
            [0, -way],
            [0, way],
          ]),
        ])
          sum = b.map('subtract', b.map('multiply', sum, b.constant(dtype, 0.75)), at(down!, right!));
        b.store(b.map('maximum', b.map('subtract', x, sum), b.map('abs', sum)));
        b.store(sum);
        // Bounds keep what is read within the array.
        const built = b.build();
        const buffers = built.buffers.map((buffer, k) =>
          k === 0 ? { ...buffer, elementCount: rows * columns } : buffer,
        );
        const kernel = { ...built, buffers };
        const inputs = inputsOf(kernel, rows).map((input) => input && beforeGuard(input));
        addon.configureCpu({ isa, compilesLoops: false });
        const { results: wanted } = await resultsOf(kernel, inputs, 1);
        addon.configureCpu({ isa, compilesLoops: true });
        const { results, hasCode } = await resultsOf(kernel, inputs, RUNS);
        // Where the vector before the last one has zeros as well, rows are not walked by code.
        const over = columns % (dtype === 'float32' ? 8 : 4);
        if (over === 0 || ways.every((way) => way <= over)) expect(hasCode).toBe(true);
        wanted.forEach((array, k) => {
          expect(areEqual(array, results[k]!)).toBe(true);
        });
      }
    },
  );

  it('run by steps where neighbours are read, which steps take from registers', async () => {
    addon.configureCpu({ isa, compilesLoops: true });
    const b = new KernelBuilder([1 << 16]);
    const at = (offset: number): number => b.load('float64', [1], { buffer: 'x', offset });
    b.store(b.map('subtract', b.map('multiply', b.map('add', at(0), at(2)), at(1)), at(1)));
    const { hasCode } = await resultsOf(b.build(), [new Float64Array((1 << 16) + 2)], 20);
    expect(hasCode).toBe(false);
  });

  it.each([
    [20, true],
    [40, false],
  ])('run by steps where too many instructions wait for one another: twice %i', async (rounds, wanted) => {
    addon.configureCpu({ isa, compilesLoops: true });
    const b = new KernelBuilder([1 << 16]);
    const x = b.load('float32', [1], { buffer: 'x' });
    let y = x;
    for (let k = 0; k < rounds; k++) y = b.map('sqrt', b.map('add', y, x));
    b.store(y);
    const { hasCode } = await resultsOf(b.build(), [new Float32Array(1 << 16)], 20);
    expect(hasCode).toBe(wanted);
  });
});
