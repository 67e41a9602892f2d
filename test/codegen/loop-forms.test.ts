/**
 * Which code a loop's blocks of elements take, by counts of the addon: results are the same for all, so that nothing
 * else would show a slow one. Functions are those of the bench beside JavaScript.
 */
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { OWN_FUNCTIONS } from '../../bench/own-functions.js';
import * as runtime from '../../src/exec/native/native.js';
import { elementwise, lazy } from '../../src/index.js';
import { run } from '../support/api.js';
import { toScalars } from '../support/host.js';

const addon = createRequire(import.meta.url)(
  resolve(import.meta.dirname, '../../build/Release/weft.node'),
) as { configureCpu(settings: { isa?: string; compilesLoops?: boolean }): void };
const { isa: widest, compilesLoops: isCompiling, loopBlocks } = runtime.cpuInfo();
type Form = keyof typeof loopBlocks;

afterEach(() => addon.configureCpu({ isa: widest, compilesLoops: isCompiling }));

type Numbers = Float64Array | Int32Array;
type Binary = (x: number, y: number) => number;

/** The form that all blocks take, or several; and the values that differ from JavaScript's. */
async function formsOf(fn: Binary, x: Numbers, y: Numbers): Promise<{ forms: Form[]; different: number[] }> {
  const before = runtime.cpuInfo().loopBlocks;
  const node =
    fn.length === 1 ? elementwise(fn as (x: number) => number)(lazy(x)) : elementwise(fn)(lazy(x), lazy(y));
  const [result] = await run('cpu', [node]);
  const after = runtime.cpuInfo().loopBlocks;
  const forms = (Object.keys(after) as Form[]).filter((form) => after[form] > before[form]);
  const numbers = toScalars(result!).map(Number);
  return { forms, different: [...x.keys()].filter((k) => !Object.is(fn(x[k]!, y[k]!), numbers[k])) };
}

const COUNT = 200;
const numbers = (of: (k: number) => number): Float64Array =>
  Float64Array.from({ length: COUNT }, (_, k) => of(k));

/** Loops whose numbers are not all whole, or have no bounds. */
const OTHERS: Readonly<Record<string, Form>> = {
  mandelbrot: 'general',
  halvings: 'general',
  // A quotient is no whole number before it is rounded, and 3 v + 1 has no bounds.
  digit_sums: 'general',
  longest_collatz: 'bounded',
  common_divisor: 'narrow',
};
const LOOPS = OWN_FUNCTIONS.filter(({ fn }) => /for|while/.test(fn.toString()));
const ISAS = { avx2: ['avx2'], avx512: ['avx2', 'avx512'], neon: ['neon'] }[widest] ?? [];

describe.each(ISAS)('loops compiled for %s', (isa) => {
  it.each(LOOPS)('$name takes the code for its numbers', async ({ name, dtype, fn }) => {
    addon.configureCpu({ isa, compilesLoops: true });
    const [x, y] = [numbers((k) => (k % 97) / 97), numbers((k) => (k % 89) / 89 + 1e-3)];
    const given = dtype === 'int32' ? [x, y].map((each) => Int32Array.from(each, (v) => 32 * v)) : [x, y];
    const { forms, different } = await formsOf(fn, given[0]!, given[1]!);
    expect(different).toEqual([]);
    expect(forms).toEqual([OTHERS[name] ?? 'narrow']);
  });

  const products: Binary = (x, y) => {
    let sum = 0;
    for (let i = 0; i < x; i++) for (let j = 0; j < x; j++) sum += (i * j) % y;
    return sum;
  };
  it.each<[string, Form, (k: number) => number, (k: number) => number]>([
    ['small', 'narrow', (k) => k % 20, (k) => 1 + (k % 9)],
    ['at the bounds of 2^10', 'narrow', (k) => (k === 7 ? 1024 : k % 5), (k) => 1024 - (k % 3)],
    ['beyond them', 'bounded', (k) => k % 20, (k) => 1025 + (k % 9)],
    ['divisors of 0', 'bounded', (k) => k % 20, (k) => k % 9],
    ['fractions', 'general', (k) => (k % 20) / 2, (k) => 1 + (k % 9)],
    ['negative', 'general', (k) => (k % 3) - 1, (k) => 1 + (k % 9)],
    ['-0', 'general', (k) => (k % 3 === 0 ? -0 : k % 20), (k) => 1 + (k % 9)],
    ['NaN', 'general', (k) => (k % 3 === 0 ? Number.NaN : k % 20), (k) => 1 + (k % 9)],
    ['beyond 2^24', 'general', (k) => k % 20, (k) => 2 ** 24 + 1 + k],
  ])('sums of remainders take code for arguments that are %s', async (_, form, x, y) => {
    addon.configureCpu({ isa, compilesLoops: true });
    expect(await formsOf(products, numbers(x), numbers(y))).toEqual({ forms: [form], different: [] });
  });

  it('counters that wrap around bound no sum', async () => {
    addon.configureCpu({ isa, compilesLoops: true });
    const wraps = elementwise((x: number, y: number) => {
      let sum = 0;
      for (let i = x; i <= y; i += 1_500_000_000) sum += 1e9;
      return sum;
    });
    const x = Int32Array.from({ length: COUNT }, (_, k) => -(2 ** 31) + k);
    const y = new Int32Array(COUNT).fill(2 ** 31 - 500_000_000);
    const sums = [];
    for (const compilesLoops of [true, false]) {
      addon.configureCpu({ isa, compilesLoops });
      const shape = compilesLoops ? [COUNT] : [1, COUNT];
      const [result] = await run('cpu', [wraps(lazy(x).reshape(shape), lazy(y).reshape(shape))]);
      sums.push(toScalars(result!).map(Number));
    }
    expect(sums[0]).toEqual(sums[1]);
  });

  it('sums that may have more than 31 bits are not narrow', async () => {
    addon.configureCpu({ isa, compilesLoops: true });
    const sums: Binary = (x, y) => {
      let sum = 0;
      for (let i = 0; i < x; i++) sum += y;
      return sum;
    };
    for (const [most, form] of [
      [2 ** 12, 'narrow'],
      [2 ** 12 + 1, 'bounded'],
      [2 ** 16, 'bounded'],
    ] as const) {
      const x = numbers((k) => (k % 3 === 0 ? most : k));
      const found = await formsOf(
        sums,
        x,
        numbers((k) => most - k),
      );
      expect([most, found.different]).toEqual([most, []]);
      expect([most, found.forms]).toEqual([most, [form]]);
    }
  });
});

it('loops are interpreted where code is not allowed', async () => {
  addon.configureCpu({ compilesLoops: false });
  const { fn } = LOOPS[0]!;
  // Of another length than before, so that the program is made anew.
  const x = numbers((k) => k / COUNT).slice(1);
  expect(await formsOf(fn, x, x)).toEqual({ forms: ['interpreted'], different: [] });
});
