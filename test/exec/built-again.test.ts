/**
 * Expressions that are built anew for each compute, and run the program of those before them without a graph of their own:
 * the results, and the errors, are those of a compute that makes it. A compute with a signal always does.
 */
import { describe, expect, it } from 'vitest';
import { builtAgain } from '../../src/exec/run/built-again.js';
import {
  ArgumentError,
  compute,
  type Lazy,
  LinalgError,
  lazy,
  linalg,
  type NDArray,
  placeholder,
} from '../../src/index.js';
import { generator } from '../support/random.js';

const cpu = { device: 'cpu' } as const;
const COUNT = 70;
const line = (from: number): Float32Array => Float32Array.from({ length: COUNT }, (_, k) => from + k / 8);
const bytes = ({ data }: NDArray): Buffer => Buffer.from(data.buffer, data.byteOffset, data.byteLength);

/** Computes results without a program at hand, and with the way of those that are built again. */
async function alike(build: () => readonly Lazy[], where?: string): Promise<void> {
  const wanted = await compute(build(), { ...cpu, signal: new AbortController().signal });
  const found = await compute(build(), cpu);
  for (const [k, each] of found.entries()) {
    expect([each.dtype, each.shape], where).toEqual([wanted[k]!.dtype, wanted[k]!.shape]);
    expect(bytes(each).equals(bytes(wanted[k]!)), where).toBe(true);
  }
}

/** Whether expressions run the program of others at once. */
const isAgain = (...results: readonly Lazy[]): boolean =>
  builtAgain(
    results.map(({ expr }) => expr),
    cpu,
  ) !== undefined;

async function twice(build: () => readonly Lazy[]): Promise<void> {
  for (let k = 0; k < 3; k++) await compute(build(), cpu);
}

describe('expressions built again', () => {
  const [x, y] = [lazy(line(1)), lazy(line(5))];

  it('run at once, with other arrays and constants', async () => {
    await twice(() => [x.mul(2).add(y).sum()]);
    expect(isAgain(x.mul(2).add(y).sum())).toBe(true);
    for (let k = 0; k < 4; k++) {
      expect(
        isAgain(
          y
            .mul(k + 3)
            .add(x)
            .sum(),
        ),
      ).toBe(true);
      await alike(() => [
        y
          .mul(k + 3)
          .add(x)
          .sum(),
      ]);
      await alike(() => [
        lazy(line(k))
          .mul(2)
          .add(lazy(line(k * k)))
          .sum(),
      ]);
    }
  });

  it('have a graph of their own where arrays or constants are equal that were not, or the other way round', async () => {
    await twice(() => [x.mul(2).add(y).mul(3)]);
    expect(isAgain(x.mul(4).add(y).mul(5))).toBe(true);
    expect(isAgain(x.mul(4).add(y).mul(4))).toBe(false);
    expect(isAgain(x.mul(4).add(x).mul(5))).toBe(false);
    for (let k = 0; k < 3; k++) {
      await alike(() => [x.mul(4).add(y).mul(4)]);
      await alike(() => [x.mul(4).add(x).mul(5)]);
      await alike(() => [x.mul(2).add(y).mul(3)]);
    }
    expect(isAgain(x.mul(7).add(y).mul(7))).toBe(true);
    expect(isAgain(y.mul(7).add(y).mul(8))).toBe(true);
    expect(isAgain(x.mul(0).add(y).mul(-0))).toBe(true);
  });

  it('differ in dtypes, shapes, strides, axes and what the user asked for', async () => {
    const data = line(2).slice(0, 36);
    const of = (shape: readonly number[], strides: readonly number[], offset = 0): Lazy =>
      lazy({ data, shape, strides, offset });
    const all = [
      () => of([6, 6], [6, 1]),
      () => of([6, 6], [1, 6]),
      () => of([6, 6], [6, -1], 5),
      () => of([4, 6], [6, 1], 12),
      () => of([4, 6], [6, 1], 6),
      () => lazy(Float64Array.from(data), { shape: [6, 6] }),
      () => lazy(Int32Array.from(data), { shape: [6, 6] }),
    ];
    for (let round = 0; round < 3; round++)
      for (const a of all) {
        await alike(() => [a().add(1)]);
        for (const axis of [0, 1]) await alike(() => [a().sum(axis), a().max(axis, { keepdims: true })]);
        await alike(() => [
          a().T.reshape([-1]).slice([1, 20, 2]),
          a()
            .slice([1, 3])
            .add(a().slice([0, 2])),
        ]);
        await alike(() => [a().add(1), a().add(1), a().sub(1)]);
        await alike(() => [a().matmul(a().T), a().T.matmul(a())]);
        await alike(() => [a().matmul(lazy(data.slice(0, 6)).astype(a().dtype))]);
      }
  });

  it('ask their constants what the plan asked', async () => {
    for (const power of [2, 2, 3, 0.5, 2, -1, 1, 0, 3, 7, 7]) await alike(() => [x.pow(power)]);
    for (const by of [1, 2, 1, 0, 4, 1]) await alike(() => [x.mul(by).div(by + 1)]);
  });

  it('read arrays where they lie, and refuse those that have lost their memory as all computes do', async () => {
    const moved = line(3);
    const z = lazy(moved);
    await twice(() => [z.add(y)]);
    moved.fill(2);
    await alike(() => [z.add(y)]);
    const stored = await y.persist(cpu);
    for (let k = 0; k < 3; k++) await alike(() => [z.add(stored)]);
    const message = async (result: Lazy, options: object): Promise<string> =>
      result.compute(options).then(
        () => 'no error',
        (error: Error) => `${error.name} ${error.message}`.replace(/:\d+:\d+/g, ''),
      );
    structuredClone(moved.buffer, { transfer: [moved.buffer as ArrayBuffer] });
    await expect(z.add(y).compute(cpu)).rejects.toThrow(ArgumentError);
    expect(await message(z.add(y), cpu)).toBe(
      await message(z.add(y), { ...cpu, signal: new AbortController().signal }),
    );
    await alike(() => [x.add(stored)]);
    stored.dispose();
    await expect(x.add(stored).compute(cpu)).rejects.toThrow(ArgumentError);
    await expect(placeholder([COUNT], 'float32').add(y).compute(cpu)).rejects.toThrow(/placeholder/);
  });

  it('tell of calls that fail', async () => {
    const b = lazy(Float64Array.of(2, 4));
    const square = (...values: number[]): Lazy => lazy(Float64Array.from(values), { shape: [2, 2] });
    for (let k = 0; k < 4; k++) {
      await alike(() => [linalg.solve(square(2, 1, 0, 2 + k), b)]);
      await expect(linalg.solve(square(1, 1, 1, 1), b).compute(cpu)).rejects.toThrow(LinalgError);
    }
    expect(isAgain(linalg.solve(square(1, 2, 3, 4), b))).toBe(true);
  });

  it('give results of their own, equal ones of one compute in one memory', async () => {
    const all: NDArray[] = [];
    for (let k = 0; k < 5; k++) {
      const [one, same] = await compute([x.add(k), x.add(k)], cpu);
      expect(one.data.buffer).toBe(same.data.buffer);
      all.push(one, await x.sum().compute(cpu));
    }
    expect(new Set(all.map(({ data }) => data.buffer)).size).toBe(all.length);
    expect(all.filter((_, k) => k % 2 === 0).map((each) => each.at(0))).toEqual([1, 2, 3, 4, 5]);
  });

  it('are random ones, of few arrays and constants', async () => {
    const arrays = [x, y, lazy(line(1)), x.slice([0, 35]), lazy(line(0).subarray(35))];
    const random = generator(20261128);
    const grown = (depth: number, draw: () => number): Lazy => {
      if (depth === 0) return arrays[Math.floor(draw() * 3)]!;
      const a = grown(depth - 1, draw);
      const kind = Math.floor(draw() * 5);
      if (kind === 0) return a.add(Math.floor(draw() * 3));
      if (kind === 1) return a.mul(Math.floor(draw() * 3));
      if (kind === 2) return a.maximum(grown(Math.floor(draw() * depth), draw));
      return kind === 3 ? a.sub(grown(Math.floor(draw() * depth), draw)) : a.mul(a).add(0.5);
    };
    let again = 0;
    for (let k = 0; k < 150; k++) {
      const draws = Array.from({ length: 64 }, random);
      const depth = 1 + Math.floor(3 * random());
      const build = (): Lazy => {
        let at = 0;
        return grown(depth, () => draws[at++ % draws.length]!);
      };
      for (let round = 0; round < 2; round++) {
        await alike(() => [build()], `program ${k}`);
        await alike(() => [build().sum(), build()], `program ${k}`);
      }
      if (isAgain(build())) again++;
    }
    expect(again).toBeGreaterThan(120);
  });
});
