/**
 * Loops of elements as machine code, against the interpreter of loops, bit for bit: each op and cast of dtypes that
 * lanes of code hold, on special and random numbers, with AVX2 and AVX-512 or NEON. Random loops: but for the signs of
 * NaNs.
 */
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import * as runtime from '../../src/exec/native/native.js';
import type { Kernel } from '../../src/fusion/kernel/kernel.js';
import type { DType } from '../../src/graph/dtype.js';
import { loopWith, stepWith } from '../../src/graph/element-loop.js';
import type { TypedArray } from '../../src/graph/expr.js';
import type { ElementLoop, StepValue } from '../../src/graph/loop-step.js';
import { OP_NAMES, type OpName, opRow } from '../../src/graph/ops.js';
import { elementwise, lazy } from '../../src/index.js';
import { run } from '../support/api.js';
import { divisionPairs } from '../support/division-pairs.js';
import { over, setElement, toScalars } from '../support/host.js';
import { KernelBuilder } from '../support/kernel-builder.js';
import { generator } from '../support/random.js';
import { randomIntegerLoops } from '../support/random-integer-loops.js';
import { runTape } from '../support/tape-runner.js';

const DTYPES = ['bool', 'int32', 'uint32', 'int64', 'uint64', 'float32', 'float64'] as const;
type LaneDType = (typeof DTYPES)[number];
const isLane = (dtype: DType): dtype is LaneDType => (DTYPES as readonly DType[]).includes(dtype);

const FLOATS = [
  0, -0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, 1e-310, -1e-310, 1e-40, 1e300, -1e300, 3e38, 4e9, 1e19,
];
const BOUNDS = [2 ** 31, 2 ** 31 - 1, 2 ** 32, 2 ** 53, 2 ** 63, 2 ** 64];
const SPECIAL: Readonly<Record<'float' | 'int', readonly number[]>> = {
  float: [...FLOATS, ...BOUNDS, ...BOUNDS.map((x) => -x), Infinity, -Infinity, NaN],
  int: [
    0,
    1,
    -1,
    2,
    3,
    31,
    32,
    33,
    63,
    64,
    65,
    ...BOUNDS,
    ...BOUNDS.map((x) => -x - 1),
    ...BOUNDS.map((x) => -x),
  ],
};
const COUNT = 333;

/** Special numbers, each beside each, then random ones. */
function values(dtype: LaneDType, seed: number): TypedArray {
  const next = generator(seed);
  const special = SPECIAL[dtype.startsWith('float') ? 'float' : 'int'];
  const array = over(dtype, new ArrayBuffer(8 * COUNT), 0, COUNT);
  for (let k = 0; k < COUNT; k++) {
    const drawn = special[Math.floor(next() * special.length)]!;
    const value = k % 4 === 0 ? (next() - 0.5) * 200 : drawn;
    if (dtype === 'bool') setElement(dtype, array, k, next() < 0.5);
    else if (dtype.endsWith('64') && !dtype.startsWith('f')) {
      const whole = BigInt(Math.trunc(value));
      setElement(dtype, array, k, dtype === 'int64' ? BigInt.asIntN(64, whole) : BigInt.asUintN(64, whole));
    } else if (dtype.startsWith('float')) setElement(dtype, array, k, value);
    else
      setElement(
        dtype,
        array,
        k,
        dtype === 'int32'
          ? Number(BigInt.asIntN(32, BigInt(Math.trunc(value))))
          : Number(BigInt.asUintN(32, BigInt(Math.trunc(value)))),
      );
  }
  return array;
}

/** A loop that does a value once, counting in a dtype, which makes lanes as wide. */
function once(counter: 'int32' | 'int64', from: readonly LaneDType[], value: StepValue): ElementLoop {
  // States: the count, the result.
  const first = from.length + 2;
  const values: StepValue[] = [
    { kind: 'const', dtype: counter, value: counter === 'int64' ? 1n : 1, args: [] },
    { kind: 'map', dtype: 'bool', op: 'less', args: [0, first] },
    value,
    { kind: 'map', dtype: counter, op: 'add', args: [0, first] },
  ];
  return loopWith(stepWith([counter, value.dtype, ...from], values, [first + 3, first + 2]), first + 1, 2);
}

interface Case {
  readonly name: string;
  readonly from: readonly LaneDType[];
  readonly value: StepValue;
}

/** The ops whose arguments are of a dtype, and the casts of it. */
function casesOf(dtype: LaneDType): Case[] {
  const found: Case[] = DTYPES.filter((to) => to !== dtype).map((to) => ({
    name: `${dtype} to ${to}`,
    from: [dtype],
    value: { kind: 'cast', dtype: to, args: [2] },
  }));
  for (const op of OP_NAMES) {
    const { arity, first, dtype: rule } = opRow(op);
    // Steps have no values of more arguments; draws with more are not of the language.
    if (arity > 3) continue;
    const from = Array.from({ length: arity }, (_, k) => (k === 0 ? (first ?? dtype) : dtype));
    const signature = rule(from);
    if (signature === undefined || !from.every(isLane) || !isLane(signature.result)) continue;
    if (signature.args.some((each, k) => each !== from[k])) continue;
    const value: StepValue = { kind: 'map', dtype: signature.result, op, args: from.map((_, k) => k + 2) };
    found.push({ name: `${op} of ${dtype}`, from, value });
  }
  return found;
}

/** All cases in one kernel, each a loop of its own. */
function kernelOf(cases: readonly Case[], counter: 'int32' | 'int64', count = COUNT): Kernel {
  const b = new KernelBuilder([count]);
  for (const { from, value } of cases) {
    const zero = b.constant(counter, counter === 'int64' ? 0n : 0);
    const args = from.map((dtype, k) => b.load(dtype, [1], { buffer: `${dtype} ${k}` }));
    const before = b.constant(
      value.dtype,
      value.dtype === 'bool' ? false : value.dtype.endsWith('64') && value.dtype[0] !== 'f' ? 0n : 0,
    );
    b.store(b.repeat(once(counter, from, value), 1, zero, before, ...args));
  }
  return b.build();
}

const OPS_OF = {
  float64: ['add', 'subtract', 'multiply', 'minimum', 'maximum', 'sqrt', 'exp', 'remainder'],
  float32: ['add', 'subtract', 'multiply', 'negative', 'abs', 'floor', 'sin', 'remainder'],
  int32: ['add', 'subtract', 'multiply', 'bitwiseXor', 'minimum', 'remainder'],
} as const satisfies Partial<Record<LaneDType, readonly OpName[]>>;
type Drawn = keyof typeof OPS_OF;
const DRAWN = Object.keys(OPS_OF) as Drawn[];

/**
 * A loop of random values, of up to some states that take each other's places, with loops within. It ends when its
 * count, state 0, has reached the last argument.
 */
function randomLoop(next: () => number, depth: number, most: number): ElementLoop {
  const below = (n: number): number => Math.floor(next() * n);
  const pick = <T>(list: readonly T[]): T => list[below(list.length)]!;
  const states: DType[] = ['int32', ...Array.from({ length: 1 + below(most) }, () => pick(DRAWN))];
  const dtypes: DType[] = [...states, ...DRAWN, 'int32'];
  const limit = dtypes.length - 1;
  const all = [...dtypes];
  const values: StepValue[] = [];
  const push = (value: StepValue): number => {
    values.push(value);
    return all.push(value.dtype) - 1;
  };
  const of = (dtype: DType): number => pick(all.flatMap((each, k) => (each === dtype && k !== 0 ? [k] : [])));
  const drawn = (): number => {
    const dtype = pick(DRAWN);
    const draw = next();
    if (draw < 0.1) {
      const mask = push({ kind: 'map', dtype: 'bool', op: 'less', args: [of(dtype), of(dtype)] });
      return push({ kind: 'map', dtype, op: 'where', args: [mask, of(dtype), of(dtype)] });
    }
    if (draw < 0.2) {
      const to = pick(DRAWN);
      if (to !== dtype) return push({ kind: 'cast', dtype: to, args: [of(dtype)] });
    }
    const op: OpName = pick(OPS_OF[dtype]);
    const args = Array.from({ length: opRow(op).arity }, () => of(dtype));
    return push({ kind: 'map', dtype, op, args });
  };
  const one = push({ kind: 'const', dtype: 'int32', value: 1, args: [] });
  for (let k = below(3); k > 0; k--) drawn();
  const condition = push({ kind: 'map', dtype: 'bool', op: 'less', args: [0, limit] });
  const conditionLength = values.length;
  for (let k = 2 + below(3 * most); k > 0; k--) drawn();
  if (depth > 0 && next() < 0.7) {
    const loop = randomLoop(next, depth - 1, 4);
    const args = loop.arguments.map((dtype, k) =>
      k === 0
        ? push({ kind: 'const', dtype: 'int32', value: 0, args: [] })
        : k === loop.arguments.length - 1
          ? limit
          : of(dtype),
    );
    for (let k = 1 + below(2); k > 0; k--) {
      const result = below(loop.next.length);
      push({ kind: 'repeat', dtype: loop.arguments[result]!, loop, result, args });
    }
    drawn();
  }
  const count = push({ kind: 'map', dtype: 'int32', op: 'add', args: [0, one] });
  const nextStates = states.map((dtype, k) => (k === 0 ? count : of(dtype)));
  return loopWith(stepWith(dtypes, values, nextStates), condition, conditionLength);
}

/** A loop of so many rows and columns, some of which never begin; some of its arguments are constants. */
function loopKernel(loop: ElementLoop, rows: number, columns: number): Kernel {
  const b = new KernelBuilder([rows, columns]);
  const args = loop.arguments.map((dtype, k) => {
    if (k === 0) return b.constant('int32', 0);
    const isConstant = k >= loop.next.length && k < loop.arguments.length - 1 && k % 2 === 0;
    if (isConstant) return b.constant(dtype, dtype === 'int32' ? -3 : 2.5);
    return b.load(dtype, k % 3 === 1 ? [0, 1] : [columns, 1], { buffer: `${dtype} ${k}` });
  });
  loop.next.forEach((_, k) => {
    b.store(b.repeat(loop, k, ...args));
  });
  return b.build();
}

const bytes = (array: TypedArray): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

const PAIRS = divisionPairs(1e6, 3);
const ARRAY_OF = {
  float64: (numbers: Float64Array) => numbers,
  float32: (numbers: Float64Array) => Float32Array.from(numbers),
  int64: (numbers: Float64Array) =>
    BigInt64Array.from(numbers, (x) => BigInt.asIntN(64, BigInt(Number.isFinite(x) ? Math.trunc(x) : 0))),
  int32: (numbers: Float64Array) => Int32Array.from(numbers),
  uint32: (numbers: Float64Array) => Uint32Array.from(numbers),
};

const POWERS = [1, 2, -2, 0.5, 1024, 2 ** 126, 2 ** -126, 2 ** 127, 2 ** 1022, 2 ** -1022, -(2 ** 1023)];
const OTHERS = [3, -3, 7, 10, 0.1, -0.1, 1 / 3, 12345.678, 1e-40, -1e-310, 5e-324, 3.4e38, -1.7e308];
const NUMBERS = [...POWERS, ...OTHERS, 0, -0, Infinity, -Infinity, NaN];
const WHOLE = [
  0,
  1,
  -1,
  2,
  -2,
  3,
  -3,
  10,
  49,
  107,
  -1024,
  1e9 + 7,
  2 ** 49 - 1,
  2 ** 49,
  -(2 ** 49),
  2 ** 50,
  -(2 ** 63),
];

/** Dividends of hard pairs, then some beside multiples of a divisor, of halves of it and of 5/8, by many sizes. */
function dividendsFor(dtype: keyof typeof ARRAY_OF, divisor: number, count: number): TypedArray {
  const next = generator(11);
  const near = (): number => Math.floor(next() * 5) - 2;
  const whole = (): number => Math.floor((next() - 0.5) * 2 ** (1 + Math.floor(next() * 54)));
  const hard = ARRAY_OF[dtype](PAIRS[0].subarray(0, count));
  for (let k = count / 2; k < count; k++) {
    if (dtype === 'int64') hard[k] = BigInt.asIntN(64, BigInt(whole()) * BigInt(divisor) + BigInt(near()));
    else if (!dtype.startsWith('f')) hard[k] = Math.imul(whole(), divisor) + near();
    else {
      const unit = dtype === 'float32' ? 2 ** -24 : 2 ** -53;
      hard[k] = (whole() + [0, 0, 0.5, 0.625][k % 4]!) * divisor * (1 + near() * unit);
    }
  }
  return hard;
}

/** Functions of loops of integers for each instruction set (`WEFT_FUNCTIONS`: as those of element-functions.test.ts). */
const INTEGER_LOOPS = Number(process.env.WEFT_FUNCTIONS ?? 12);
// Some thousands take up to an hour.
if (process.env.WEFT_FUNCTIONS !== undefined) vi.setConfig({ testTimeout: 3_600_000 });

/**
 * Arguments of such functions: small whole float64, as code for bounded and narrow numbers takes them, but for one
 * function of three, for which some are negative; the same with fractions, -0, NaN and numbers that are not small, which
 * such code does not take; int32.
 */
function integerArguments(
  seed: number,
): (readonly [Float64Array, Float64Array] | readonly [Int32Array, Int32Array])[] {
  const next = generator(seed);
  const count = 70;
  const least = [0, 1, -3][(seed >> 1) % 3]!;
  const whole = (most: number): Float64Array =>
    Float64Array.from({ length: count }, () => Math.floor(next() * most) + least);
  const [x, y] = [whole(16), whole(200)];
  const [mixed, large] = [x.slice(), y.slice()];
  for (let k = 0; k < count; k += 3) {
    mixed[k] = [0.5, -0, NaN, 7.25][(k / 3) % 4]!;
    large[k] = [2 ** 24 + 1, -(2 ** 40), -0, 2 ** 50][(k / 3) % 4]!;
  }
  return [
    [x, y],
    [mixed, y],
    [x, large],
    [Int32Array.from(x), Int32Array.from(y)],
  ];
}

/** The addon itself, whose settings are those of the process; programs keep what they were made with. */
const addon = createRequire(import.meta.url)(
  resolve(import.meta.dirname, '../../build/Release/weft.node'),
) as {
  configureCpu(settings: { threads?: number; isa?: string; compilesLoops?: boolean; poison: boolean }): void;
};
const { isa: widest, threads, compilesLoops: isCompiling } = runtime.cpuInfo();
const ISAS_OF: Readonly<Record<string, readonly string[]>> = {
  avx2: ['avx2'],
  avx512: ['avx2', 'avx512'],
  neon: ['neon'],
};
const ISAS = ISAS_OF[widest] ?? [];

/** Makes the programs that follow with an instruction set, and with code of their loops or without. */
function configure(isa: string, compilesLoops: boolean): void {
  addon.configureCpu({ isa, compilesLoops, threads: 1, poison: true });
  expect(runtime.cpuInfo()).toMatchObject({ isa, compilesLoops });
}

type Comparison = (a: TypedArray, b: TypedArray) => boolean;
const haveSameBits: Comparison = (a, b) => Buffer.compare(bytes(a), bytes(b)) === 0;
/** Any NaN is as another: a sum of two has the sign of one of them, in the interpreter of either. */
const haveSameNumbers: Comparison = (a, b) =>
  a.length === b.length && Array.from(a.keys()).every((k) => Object.is(a[k], b[k]));

/** The outputs that differ between code and interpreter. */
async function differences(
  isa: string,
  kernel: Kernel,
  inputs: readonly (TypedArray | undefined)[],
  areSame = haveSameBits,
) {
  configure(isa, false);
  const wanted = await runTape(runtime, kernel, inputs);
  configure(isa, true);
  const found = await runTape(runtime, kernel, inputs);
  return wanted.flatMap((array, k) => (areSame(array, found[k]!) ? [] : [k]));
}

afterEach(() => addon.configureCpu({ isa: widest, threads, compilesLoops: isCompiling, poison: false }));

it('loops are not compiled where that is switched off', () => {
  addon.configureCpu({ compilesLoops: false, poison: false });
  expect(runtime.cpuInfo().compilesLoops).toBe(false);
});

describe.each(ISAS)('loops compiled for %s', (isa) => {
  it.each(DTYPES)('give the bits of the interpreter for each op and cast of %s', async (dtype) => {
    const cases = casesOf(dtype);
    for (const counter of ['int32', 'int64'] as const) {
      const kernel = kernelOf(cases, counter);
      const inputs = kernel.buffers.map(({ dtype: each, role }, k) =>
        role === 'input' ? values(each as LaneDType, k) : undefined,
      );
      const different = await differences(isa, kernel, inputs);
      expect(different.map((k) => cases[k]!.name)).toEqual([]);
    }
  });

  it.each([
    ['int64', 'int64'],
    ['int32', 'int32'],
    ['uint32', 'int64'],
    ['float64', 'int64'],
    ['float32', 'int64'],
    ['float32', 'int32'],
  ] as const)('give the bits of the interpreter for remainders of %s beside %s', async (dtype, counter) => {
    const value: StepValue = { kind: 'map', dtype, op: 'remainder', args: [2, 3] };
    const count = dtype.startsWith('f') ? 1e6 : 2e5;
    const kernel = kernelOf([{ name: 'remainder', from: [dtype, dtype], value }], counter, count);
    const inputs = PAIRS.map((each) => ARRAY_OF[dtype](each.subarray(0, count)));
    expect(await differences(isa, kernel, [...inputs, undefined])).toEqual([]);
  });

  it.each([
    ['int64', 'int64', WHOLE],
    ['int32', 'int32', WHOLE],
    ['uint32', 'int32', WHOLE],
    ['float64', 'int64', NUMBERS],
    ['float32', 'int64', NUMBERS],
    ['float32', 'int32', NUMBERS],
  ] as const)('give its bits for quotients and remainders of %s by constants beside %s', async (...row) => {
    const [dtype, counter, divisors] = row;
    const count = 2 ** 14;
    const isFloat = dtype.startsWith('f');
    const ops = isFloat ? (['divide', 'remainder'] as const) : (['remainder'] as const);
    const b = new KernelBuilder([count]);
    const wrapped = { int32: (x: number) => x | 0, uint32: (x: number) => x >>> 0, int64: BigInt };
    const scalar = (of: DType, value: number) =>
      b.constant(of, of in wrapped ? wrapped[of as keyof typeof wrapped](value) : value);
    for (const [k, divisor] of divisors.entries())
      for (const op of ops) {
        const value: StepValue = { kind: 'map', dtype, op, args: [2, 3] };
        const args = [b.load(dtype, [1], { buffer: `${k}` }), scalar(dtype, divisor)];
        const loop = once(counter, [dtype, dtype], value);
        b.store(b.repeat(loop, 1, scalar(counter, 0), scalar(dtype, 0), ...args));
      }
    const kernel = b.build();
    let input = 0;
    const inputs = kernel.buffers.map(({ role }) =>
      role === 'input' ? dividendsFor(dtype, divisors[input++]!, count) : undefined,
    );
    const different = await differences(isa, kernel, inputs);
    expect(different.map((k) => `${ops[k % ops.length]} ${divisors[Math.floor(k / ops.length)]}`)).toEqual(
      [],
    );
  });

  it('give the bits of the interpreter for random loops, with loops within, calls and many states', async () => {
    const found: string[] = [];
    for (let seed = 0; seed < 30; seed++) {
      const next = generator(seed + 7);
      const loop = randomLoop(next, seed % 3, seed % 5 === 0 ? 24 : 6);
      const kernel = loopKernel(loop, 1 + Math.floor(next() * 5), 1 + Math.floor(next() * 150));
      const last = kernel.buffers.findLastIndex(({ role }) => role === 'input');
      const inputs = kernel.buffers.map(({ dtype, role, elementCount }, k) => {
        if (role === 'output') return undefined;
        const array = over(dtype, new ArrayBuffer(8 * elementCount), 0, elementCount);
        for (let i = 0; i < elementCount; i++) {
          const value = k === last ? Math.floor(next() * 12) - 2 : (next() - 0.5) * 8;
          setElement(dtype, array, i, dtype === 'int32' ? Math.trunc(value) : value);
        }
        return array;
      });
      const different = await differences(isa, kernel, inputs, haveSameNumbers);
      if (different.length > 0) found.push(`seed ${seed}, states ${different}`);
    }
    expect(found).toEqual([]);
  });

  const SEED = 20261127 + ISAS.indexOf(isa);
  it(`give the values of JavaScript for loops around loops of integers, from seed ${SEED}`, async () => {
    configure(isa, true);
    const before = runtime.cpuInfo().loopBlocks;
    const found: string[] = [];
    for (let seed = SEED; seed < SEED + 2 * INTEGER_LOOPS; seed += 2) {
      const dividesByZero = seed % 4 > 1;
      const text = randomIntegerLoops(seed, dividesByZero);
      const fn = new Function(`return ${text}`)() as (x: number, y: number) => number;
      const f = elementwise(fn);
      for (const [x, y] of integerArguments(seed)) {
        if (dividesByZero && x instanceof Int32Array) continue;
        const [result] = await run('cpu', [f(lazy(x), lazy(y))]);
        const numbers = toScalars(result!).map(Number);
        const wanted = Array.from(x, (each, k) => fn(each, y[k]!));
        const at = wanted.findIndex((each, k) => !(each === numbers[k] || Object.is(each, numbers[k])));
        if (at >= 0)
          found.push(`seed ${seed}: f(${x[at]}, ${y[at]}) is ${numbers[at]}, not ${wanted[at]}\n${text}`);
      }
    }
    expect(found).toEqual([]);
    // No silent way back to code for any numbers.
    const { general, bounded, narrow } = runtime.cpuInfo().loopBlocks;
    expect(bounded - before.bounded).toBeGreaterThan((general - before.general) / 20);
    expect(narrow - before.narrow).toBeGreaterThan((general - before.general) / 20);
  });
});
