/**
 * Small runs of the CPU write into memory of exactly the bytes of their results, which the engine allocated: not behind it,
 * where pooled memory has room up to a cache line, and all of it.
 */
import { describe, expect, it } from 'vitest';
import { typedArrayOver } from '../../src/exec/native/host-memory.js';
import { addon } from '../../src/exec/native/native-addon.js';
import { computeTargetOf, devicesOf } from '../../src/exec/run/compute-target.js';
import { programOf } from '../../src/exec/run/program.js';
import { numbersFor } from '../../src/exec/run/run-numbers.js';
import { cpuProgram } from '../../src/exec/targets/program-cpu.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { DTYPES, type DType } from '../../src/graph/dtype.js';
import type { HostSource, TypedArray } from '../../src/graph/expr.js';
import { nativeDType } from '../../src/host/elements.js';
import { compile, compute, concat, fft, type Lazy, lazy, linalg, random, where } from '../../src/index.js';
import { toLazy } from '../support/api.js';
import { randomValues } from '../support/random.js';

const options = { device: 'cpu' } as const;
/** Behind the results: what is written there is seen. */
const BEHIND = 256;

const ofDType = (dtype: DType, shape: readonly number[], seed: number): Lazy =>
  toLazy(randomValues(dtype, shape, seed));

type Job = readonly [name: string, results: readonly Lazy[]];

const SIZES = [1, 7, 64, 65, 257];

function elementwise(dtype: DType): Job[] {
  const jobs: Job[] = [];
  for (const size of SIZES) {
    const [x, y] = [ofDType(dtype, [size], 1), ofDType(dtype, [size], 2)];
    jobs.push([`equal ${size}`, [x.equal(y)]], [`cast ${size}`, [x.astype('float32'), x.astype('int8')]]);
    jobs.push([`stack ${size}`, [concat([x, y]), x.reshape([size, 1]).equal(y).any(1)]]);
    if (dtype === 'bool') continue;
    jobs.push([`add ${size}`, [x.add(y)]], [`both ${size}`, [x.mul(3), x.add(y).sum()]]);
    if (dtype.startsWith('complex')) continue;
    jobs.push([`order ${size}`, [x.sort(), x.argsort(), x.cumulativeSum(), x.argmax()]]);
  }
  return jobs;
}

function matrices(dtype: DType): Job[] {
  const jobs: Job[] = [];
  for (const n of [1, 3, 5, 9]) {
    const [a, b] = [ofDType(dtype, [n, n], 3), ofDType(dtype, [n], 4)];
    jobs.push([`product ${n}`, [a.matmul(a), a.matmul(b)]], [`fft ${n}`, [fft.fft(b)]]);
    if (dtype === 'float16' || dtype === 'bfloat16') continue;
    const { q, r } = linalg.qr(a);
    jobs.push([`solve ${n}`, [linalg.solve(a, b)]], [`inverse ${n}`, [linalg.inv(a), linalg.det(a)]]);
    jobs.push([`qr ${n}`, [q, r]], [`svd ${n}`, [linalg.svd(a).s]]);
  }
  return jobs;
}

/** So many runs of one program: what a run does is noted, and done again with arrays that lie elsewhere. */
const RUNS = 4;

/** A copy of an array behind others, so that it lies elsewhere. */
function elsewhere(data: TypedArray, before: number): TypedArray {
  const bytes = new Uint8Array(before * data.BYTES_PER_ELEMENT + data.byteLength);
  bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), bytes.length - data.byteLength);
  return typedArrayOver(bytes.buffer, nativeDType(data)!, before * data.BYTES_PER_ELEMENT);
}

/** The bytes that each run of a job gives in such memory, and those behind it; undefined: it is not small. */
async function bytesOf(results: readonly Lazy[]) {
  const canonical = canonicalize(results.map(({ expr }) => expr));
  const program = await programOf(canonical, computeTargetOf(devicesOf(canonical, options), options, 'host'));
  const { plan } = program.one!;
  const spec = cpuProgram(plan);
  const draft = addon().beginProgram(spec);
  addon().addBuffers(draft, spec, spec.buffers.length);
  addon().addTapes(draft, spec, spec.tapes!.length);
  addon().addSteps(draft, spec, spec.steps.length);
  const native = addon().endProgram(draft, spec);
  const numbers = numbersFor(canonical);
  const lengths = spec.buffers.flatMap(({ role, byteLength }) => (role === 'output' ? [byteLength] : []));
  const runs: { readonly own: readonly Buffer[]; readonly behind: readonly Uint8Array[] }[] = [];
  for (let run = 0; run < RUNS; run++) {
    const inputs = plan.inputs.map((k) =>
      elsewhere((canonical.sources[k]!.source as HostSource).data, 3 * run),
    );
    const memory = lengths.map((byteLength) =>
      Reflect.construct(ArrayBuffer, [byteLength, { maxByteLength: byteLength + BEHIND }]),
    ) as (ArrayBuffer & { resize(byteLength: number): void })[];
    const given = [...inputs, ...memory, ...(numbers === undefined ? [] : [numbers])];
    if (addon().runSmall(native, 0xffffffff, ...given) !== undefined) return undefined;
    const own = program.outputs.slice(0, results.length).map((at) => Buffer.from(memory[at]!.slice(0)));
    for (const each of memory) each.resize(each.byteLength + BEHIND);
    runs.push({ own, behind: memory.map((each) => new Uint8Array(each).subarray(-BEHIND)) });
  }
  return runs;
}

async function check(jobs: readonly Job[]): Promise<number> {
  let small = 0;
  for (const [name, results] of jobs) {
    const found = await bytesOf(results);
    if (found === undefined) continue;
    small++;
    const wanted = await compute(results as [Lazy], { ...options, signal: new AbortController().signal });
    for (const [run, { own, behind }] of found.entries()) {
      const where = `${name}, run ${run}`;
      for (const each of behind)
        expect(
          each.every((byte) => byte === 0),
          where,
        ).toBe(true);
      for (const [k, { data }] of wanted.entries())
        expect(own[k]!.equals(new Uint8Array(data.buffer, data.byteOffset, data.byteLength)), where).toBe(
          true,
        );
    }
  }
  return small;
}

describe('small runs write their results, and nothing else', () => {
  it.each(DTYPES)('of %s', async (dtype) => {
    const jobs = elementwise(dtype);
    expect(await check(jobs)).toBeGreaterThan(0.7 * jobs.length);
  });

  it.each(['float16', 'bfloat16', 'float32', 'float64', 'complex64', 'complex128'] as const)(
    'of matrices of %s',
    async (dtype) => {
      const jobs = matrices(dtype);
      expect(await check(jobs)).toBeGreaterThan(0.5 * jobs.length);
    },
  );

  it.each(['float32', 'float64', 'int32', 'float16'] as const)(
    'of kernels of every kind, of %s',
    async (dtype) => {
      const jobs: Job[] = [];
      for (const size of [2, 63, 65, 192, 1000, 4001, 8192]) {
        const [x, y] = [ofDType(dtype, [size], 5), ofDType(dtype, [size], 6)];
        const late = x.slice([1]);
        jobs.push(
          [`chain ${size}`, [x.add(1).mul(y).sub(3).abs()]],
          [`dot ${size}`, [x.mul(y).sum(), x.sub(y).square().sum()]],
          [`standardize ${size}`, [x.sub(x.mean()).div(x.std().add(1))]],
          [
            `neighbours ${size}`,
            [
              late.sub(x.slice([0, -1])),
              late
                .add(y.slice([0, -1]))
                .mul(2)
                .max(),
            ],
          ],
          [
            `ends ${size}`,
            [
              x
                .pad([[1, 1]])
                .slice([0, -2])
                .add(x)
                .add(x.pad([[1, 1]]).slice([2])),
            ],
          ],
          [`chosen ${size}`, [where(x.less(y), x, y), x.take(lazy([0n, 1n])), x.flip(0)]],
          [
            `outer ${size}`,
            [
              x
                .slice([0, 7])
                .reshape([-1, 1])
                .mul(y.slice([0, 9])),
            ],
          ],
          [`several ${size}`, [x.max(), x.argmin(), x.mean(), y.any()]],
        );
        const rows = ofDType(dtype, [5, size], 7);
        if (size > 200) continue;
        jobs.push(
          [`rows ${size}`, [rows.sum(1), rows.max(0), rows.sum()]],
          [`softmax ${size}`, [rows.softmax(1), rows.sub(rows.mean(1, { keepdims: true }))]],
          [`columns ${size}`, [rows.T.add(1), rows.T.mul(2).sum(0), rows.cumulativeSum(1)]],
        );
      }
      expect(await check(jobs)).toBeGreaterThan(0.8 * jobs.length);
    },
  );

  it('of random numbers, whose key is a constant of the run', async () => {
    expect(await check([['uniform', [random.uniform(random.key(7), [33])]]])).toBe(1);
  });
});

describe('small runs that follow one another', () => {
  const x = Float64Array.from({ length: 50 }, (_, k) => k / 8);
  const last = async (result: Lazy): Promise<unknown> => (await result.compute(options)).at(49);

  it('have their own constants, beside runs that take a thread and ones of many constants', async () => {
    const large = lazy(new Float32Array(2 ** 18).fill(3));
    const jobs = Array.from({ length: 120 }, async (_, k) => {
      if (k % 10 === 3) return (await large.mul(k).add(1).max().compute(options)).item() === 3 * k + 1;
      if (k % 10 !== 7) return (await last(lazy(x).mul(k).add(0.5))) === (49 / 8) * k + 0.5;
      let many = lazy(x);
      for (let each = 0; each < 40; each++) many = many.add(each + k).mul(each % 2 === 0 ? 2 : 0.5);
      let wanted = 49 / 8;
      for (let each = 0; each < 40; each++) wanted = (wanted + each + k) * (each % 2 === 0 ? 2 : 0.5);
      return (await last(many)) === wanted;
    });
    expect((await Promise.all(jobs)).filter((isRight) => !isRight)).toEqual([]);
  });

  it('have constants of every length after one another', async () => {
    const whole = lazy(new BigInt64Array([1n, 2n]));
    for (let round = 0; round < 4; round++) {
      const big = await whole.add(2n ** 62n + BigInt(round)).compute(options);
      expect([...big.data]).toEqual([2n ** 62n + BigInt(round + 1), 2n ** 62n + BigInt(round + 2)]);
      const small = await lazy(new Int8Array([1, 2]))
        .add(round)
        .compute(options);
      expect([...small.data]).toEqual([1 + round, 2 + round]);
      const complex = await lazy([{ re: 1, im: 2 }])
        .mul({ re: 0, im: round })
        .compute(options);
      expect([...complex.data]).toEqual([0 - 2 * round, round]);
      expect(
        (
          await lazy(new Float32Array([2]))
            .mul(round + 0.5)
            .compute(options)
        ).at(0),
      ).toBe(2 * round + 1);
    }
  });

  it('read what arrays hold when they are computed, of the sizes and dtypes that they have', async () => {
    const data = new Float32Array(8).fill(1);
    const sum = lazy(data).add(1).sum();
    for (let round = 0; round < 4; round++) {
      expect((await sum.compute(options)).item()).toBe(8 * (2 + round));
      for (const length of [3, 4, 70]) {
        const other = lazy(new Float32Array(length).fill(round)).add(1).sum();
        expect((await other.compute(options)).item()).toBe(length * (round + 1));
      }
      const doubles = lazy(new Float64Array(8).fill(0.1)).add(1).sum();
      expect((await doubles.compute(options)).item()).toBeCloseTo(8.8, 12);
      data.fill(2 + round);
    }
  });

  it('read parts of one array each where it lies, and in its dtype', async () => {
    const part = (offset: number, step = 1): Lazy => lazy({ data: x, shape: [5], strides: [step], offset });
    const all = [part(0), part(5), part(0), part(5, 2), part(7)] as const;
    const [first, ...others] = all;
    const result = await others
      .reduce((sum, each, k) => sum.add(each.mul(10 ** (k + 1))), first)
      .compute(options);
    const wanted = Array.from(
      { length: 5 },
      (_, k) => x[k]! + 10 * x[5 + k]! + 100 * x[k]! + 1000 * x[5 + 2 * k]! + 10_000 * x[7 + k]!,
    );
    expect([...result.data]).toEqual(wanted);
    const bits = new Uint16Array([0x3c00, 0x3f80]);
    const as = (dtype: 'float16' | 'bfloat16'): Lazy => lazy(bits, { dtype }).astype('float64');
    const both = await as('float16').add(as('bfloat16')).add(lazy(bits)).compute(options);
    expect([...both.data]).toEqual([1 + 2 ** -7 + 0x3c00, 1.875 + 1 + 0x3f80]);
  });
});

describe('small runs with results of up to 64 KiB', () => {
  /** Of 64 KiB in float32, and one element less and more. */
  const SIZES_AT_THE_LIMIT = [1025, 4096, 16_383, 16_384, 16_385];
  const waved = (length: number, seed: number): Float32Array =>
    Float32Array.from({ length }, (_, k) => Math.sin(k * seed) * 3);
  const chained = (x: Lazy, y: Lazy): Lazy => x.mul(y).add(0.5).maximum(y).sub(x);
  const byHand = (x: Float32Array, y: Float32Array): Float32Array =>
    x.map((a, k) => {
      const sum = Math.fround(Math.fround(a * y[k]!) + 0.5);
      return Math.fround(Math.max(sum, y[k]!) - a);
    });

  it.each(SIZES_AT_THE_LIMIT)('have the bits of other runs, of %i elements', async (length) => {
    const [x, y] = [waved(length, 1), waved(length, 2)];
    const compiled = compile((a: Lazy, b: Lazy) => ({ all: chained(a, b), sum: a.mul(b).sum() }), options);
    const signal = new AbortController().signal;
    const sum = await lazy(x)
      .mul(lazy(y))
      .sum()
      .compute({ ...options, signal });
    for (let call = 0; call < 4; call++) {
      const result = await compiled(x, y);
      expect(result.all.data).toEqual(byHand(x, y));
      expect(result.sum.data).toEqual(sum.data);
      expect((await chained(lazy(x), lazy(y)).compute(options)).data).toEqual(byHand(x, y));
      // Arrays are read when they are computed.
      x[call] = call + 10;
      sum.data[0] = (
        await lazy(x)
          .mul(lazy(y))
          .sum()
          .compute({ ...options, signal })
      ).item();
    }
  });

  it('are each in memory of their own, which may be moved', async () => {
    const x = waved(8000, 3);
    const twice = compile((a: Lazy) => a.mul(2), options);
    await twice(x);
    const results = await Promise.all(Array.from({ length: 20 }, () => twice(x)));
    expect(new Set(results.map(({ data }) => data.buffer)).size).toBe(20);
    const [first, ...others] = results;
    structuredClone(first!.data.buffer, { transfer: [first!.data.buffer as ArrayBuffer] });
    expect(first!.data.length).toBe(0);
    const wanted = x.map((each) => 2 * each);
    for (const { data } of [...others, await twice(x)]) {
      expect(data).toEqual(wanted);
      expect(data.buffer.byteLength).toBe(32_000);
    }
  });

  it('refuse arrays without memory and of other lengths, and go on', async () => {
    const twice = compile((a: Lazy, b: Lazy) => a.mul(b), options);
    const x = waved(5000, 4);
    const gone = waved(5000, 5);
    const held = lazy(gone);
    for (let call = 0; call < 3; call++) await twice(x, held);
    structuredClone(gone.buffer, { transfer: [gone.buffer as ArrayBuffer] });
    await expect(twice(x, held)).rejects.toThrow(/detached|memory/);
    await expect(twice(x, x.slice(0, 4999))).rejects.toThrow(/4999/);
    expect((await twice(x, x)).data).toEqual(x.map((each) => each * each));
    expect((await twice(x.slice(0, 0), x.slice(0, 0))).data).toEqual(new Float32Array(0));
    expect((await twice(lazy(x).max(), lazy(2, { dtype: 'float32' }))).data).toEqual(
      new Float32Array([2 * Math.max(...x)]),
    );
  });
});
