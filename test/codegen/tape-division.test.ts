/**
 * Floored remainders and quotients on every instruction set, against JavaScript's `%` and BigInt, to the bit. Vector
 * code divides and corrects the quotient; numbers for which that is not exact take the C library's `fmod`.
 */
import { describe, expect, it } from 'vitest';
import type { TypedArray } from '../../src/graph/expr.js';
import { divisionPairs } from '../support/division-pairs.js';
import { KernelBuilder } from '../support/kernel-builder.js';
import { nativeWith } from '../support/native-with.js';
import { generator } from '../support/random.js';
import { runTape } from '../support/tape-runner.js';

const ISAS = process.arch === 'x64' ? ['baseline', 'avx2', 'avx512'] : ['neon'];
const DTYPES = ['float64', 'int32', 'int64'] as const;
type Divided = (typeof DTYPES)[number];

const POWERS = [5, 31, 49, 50, 51, 52, 53, 63].map((e) => 2 ** e);
const SPECIAL = [
  0,
  1,
  2,
  3,
  7,
  0.5,
  0.1,
  1 / 3,
  5e-324,
  1e-310,
  1e300,
  Infinity,
  ...POWERS,
  ...POWERS.map((x) => x - 1),
];
const SIGNED = [...SPECIAL, ...SPECIAL.map((x) => -x), NaN];

/** Pairs: each special number with each, then ordinary ones of all sizes, multiples among them. */
function pairs(): [number, number][] {
  const next = generator(7);
  const drawn = (): number => (next() - 0.5) * 2 ** Math.floor(next() * 80 - 20);
  const found = SIGNED.flatMap((a) => SIGNED.map((b): [number, number] => [a, b]));
  for (let k = 0; k < 1000; k++) {
    const b = drawn();
    found.push(
      [drawn(), b],
      [Math.round(next() * 1000) * b, b],
      [Math.trunc(drawn()), 1 + Math.floor(next() * 50)],
    );
  }
  const [a, b] = divisionPairs(5000, 5);
  a.forEach((x, k) => {
    found.push([x, b[k]!]);
  });
  return found;
}

function remainder(a: number, b: number): number {
  const rest = a % b;
  if (b === 0 || Number.isNaN(rest)) return rest;
  if (rest === 0) return b < 0 ? -0 : 0;
  return b < 0 === rest < 0 ? rest : rest + b;
}

function wholeQuotient(a: bigint, b: bigint): [quotient: bigint, rest: bigint] {
  if (b === 0n) return [0n, 0n];
  const rest = a % b;
  return rest !== 0n && rest < 0n !== b < 0n ? [a / b - 1n, rest + b] : [a / b, rest];
}

const asWhole = (x: number, bits: number): bigint =>
  BigInt.asIntN(bits, BigInt(Number.isFinite(x) ? Math.trunc(x) : 0));

function arrayOf(dtype: Divided, values: readonly number[]): TypedArray {
  if (dtype === 'float64') return Float64Array.from(values);
  if (dtype === 'int32') return Int32Array.from(values, (x) => Number(asWhole(x, 32)));
  return BigInt64Array.from(values, (x) => asWhole(x, 64));
}

describe.each(ISAS)('division on %s', (isa) => {
  it.each(DTYPES)('gives remainders and quotients of %s to the bit', async (dtype) => {
    const given = pairs();
    const [x, y] = [0, 1].map((k) =>
      arrayOf(
        dtype,
        given.map((pair) => pair[k]!),
      ),
    ) as [TypedArray, TypedArray];
    const b = new KernelBuilder([given.length]);
    const [p, q] = [b.load(dtype, [1]), b.load(dtype, [1])];
    const kernel = b
      .store(b.map('remainder', p, q))
      .store(b.map('floorDivide', p, q))
      .build();
    const [rests, quotients] = await runTape(await nativeWith({ WEFT_ISA: isa, WEFT_THREADS: '1' }), kernel, [
      x,
      y,
    ]);
    const wrong = given.flatMap((_, k) => {
      const [a, c] = [x[k]!, y[k]!];
      if (typeof a === 'number' && dtype === 'float64')
        return Object.is(rests![k], remainder(a, c as number)) ? [] : [`${a} mod ${c} gave ${rests![k]}`];
      const [quotient, rest] = wholeQuotient(BigInt(a), BigInt(c));
      const isRight =
        BigInt(rests![k]!) === rest &&
        BigInt(quotients![k]!) === BigInt.asIntN(dtype === 'int32' ? 32 : 64, quotient);
      return isRight ? [] : [`${a} by ${c} gave ${quotients![k]} and ${rests![k]}`];
    });
    expect(wrong).toEqual([]);
  });
});
