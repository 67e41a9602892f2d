/**
 * Loops on the CPU whose steps follow one another through the tiles of their body: the bits are those of the
 * same program step by step, for any number of threads.
 */

import { afterAll, describe, expect, it, vi } from 'vitest';
import { planTape } from '../../src/codegen/cpu/tape.js';
import { skewOf } from '../../src/codegen/cpu/tape-skew.js';
import { createProgram, type ProgramSpec, type StepSpec } from '../../src/exec/native/native.js';
import { numbersFor } from '../../src/exec/run/run-numbers.js';
import { CPU } from '../../src/exec/targets/device.js';
import { cpuProgram } from '../../src/exec/targets/program-cpu.js';
import { create } from '../../src/fusion/kernel/instruction.js';
import type { Kernel } from '../../src/fusion/kernel/kernel.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { ArgumentError } from '../../src/host/errors.js';
import { arange, iterate, type Lazy, lazy, ndimage } from '../../src/index.js';
import { referenceOf, run, toLazy } from '../support/api.js';
import { planOnDevice } from '../support/device-plan.js';
import { nativeWith } from '../support/native-with.js';
import { randomIntegers } from '../support/random.js';
import { mismatch } from '../support/ulp.js';

type Body = (x: Lazy) => Lazy;

/** The sum of neighbours so far away along each axis, zero outside. */
const neighbours =
  (...by: number[]): Body =>
  (x) => {
    const padded = x.pad(by.map((n): [number, number] => [n, n]));
    const moved = (sign: number): Lazy =>
      padded.slice(...by.map((n, k): [number, number] => [n + sign * n, n + sign * n + x.shape[k]!]));
    return moved(1).sub(moved(-1)).mul(0.25).add(x.mul(0.5));
  };
const diffusion: Body = (f) => {
  const p = f.pad(1);
  const [above, below] = [p.slice([null, -2], [1, -1]), p.slice([2, null], [1, -1])];
  const [left, right] = [p.slice([1, -1], [null, -2]), p.slice([1, -1], [2, null])];
  return f.sub(f.mul(4).sub(above).sub(below).sub(left).sub(right).mul(0.25));
};

/** What lies so far before each element along each axis, folded at the edges. */
const before =
  (mode: 'reflect' | 'mirror' | 'nearest', ...by: number[]): Body =>
  (x) =>
    by.reduce((sum, n, axis) => {
      const weights = Array.from({ length: 2 * n + 1 }, (_, k) => (k === 0 ? 1 : 0));
      return sum.add(ndimage.correlate1d(x, weights, { axis, mode }).mul(0.25));
    }, x.mul(0.5));

interface Job {
  readonly name: string;
  readonly shape: readonly number[];
  readonly body: Body;
  readonly dtype?: 'float32' | 'float64' | 'int32';
  readonly steps?: number;
  readonly every?: number;
}
const JOBS: readonly Job[] = [
  { name: 'diffusion', shape: [70, 193], body: diffusion },
  { name: 'diffusion of float64', shape: [331, 320], body: diffusion, dtype: 'float64' },
  { name: 'diffusion over long rows', shape: [37, 9001], body: diffusion, steps: 9 },
  { name: 'diffusion over rows of one chunk', shape: [2000, 60], body: diffusion },
  { name: 'neighbours in a long row', shape: [60_011], body: neighbours(1) },
  { name: 'neighbours far away in a row', shape: [70_000], body: neighbours(20_000) },
  { name: 'neighbours in space', shape: [23, 31, 130], body: neighbours(1, 1, 1) },
  { name: 'diagonal neighbours', shape: [211, 400], body: neighbours(3, 2) },
  { name: 'neighbours of one side, reflected', shape: [70, 193], body: before('reflect', 9, 5) },
  { name: 'neighbours of one side, mirrored', shape: [9001], body: before('mirror', 300) },
  { name: 'neighbours of one side, the nearest', shape: [61, 500], body: before('nearest', 20, 1) },
  { name: 'integers', shape: [150, 310], body: (x) => diffusion(x).astype('int32'), dtype: 'int32' },
  { name: 'elements alone', shape: [50_001], body: (x) => x.mul(0.99).add(0.01) },
  { name: 'kept states', shape: [120, 200], body: diffusion, steps: 24, every: 4 },
  { name: 'one element', shape: [1, 1], body: diffusion },
  { name: 'very many steps of little', shape: [5], body: (x) => x.mul(0.999), steps: 20_000 },
];

function planOf({ shape, body, dtype = 'float32', steps = 21, every }: Job) {
  const size = shape.reduce((a, b) => a * b, 1);
  const data = Float32Array.from({ length: size }, (_, k) => Math.sin(k * 1.7) * 9);
  if (size > 3) data.set([Number.NaN, Number.NEGATIVE_INFINITY], size >> 1);
  const typed = dtype === 'float32' ? data : (dtype === 'float64' ? Float64Array : Int32Array).from(data);
  const start = lazy(typed, { shape });
  const result = every === undefined ? iterate(steps, start, body) : iterate(steps, start, body, { every });
  const canonical = canonicalize([result.expr]);
  const { plan } = planOnDevice(canonical, CPU, {});
  return { plan, typed, numbers: numbersFor(canonical) };
}

const withoutSkew = (spec: ProgramSpec): ProgramSpec => ({
  ...spec,
  steps: spec.steps.map((step) => (step.kind === 'loop' ? { ...step, skew: undefined } : step)),
});

afterAll(() => {
  vi.resetModules();
});

describe('steps that follow one another', () => {
  for (const job of JOBS) {
    it(`give the bits of steps one after the other: ${job.name}`, async () => {
      const { plan, typed, numbers } = planOf(job);
      const spec = cpuProgram(plan);
      expect(spec.steps.filter((step) => step.kind === 'loop' && step.skew !== undefined)).toHaveLength(1);
      const results: Buffer[] = [];
      for (const threads of ['1', '2', '3', '8']) {
        const native = await nativeWith({ WEFT_THREADS: threads });
        for (const program of threads === '1' ? [withoutSkew(spec), spec] : [spec]) {
          const made = native.createProgram(program);
          const { outputs } = await native.run(made, [typed], { outputs: ['host'], numbers });
          results.push(Buffer.from(outputs[0] as ArrayBuffer));
        }
      }
      for (const result of results) expect(result.equals(results[0]!)).toBe(true);
    });
  }

  it.each([
    ['by filters', (x: Lazy) => ndimage.uniformFilter(x, { size: 3, mode: 'wrap' })],
    ['by rolls', (x: Lazy) => x.roll(1, 0).add(x.roll(-1, 1)).mul(0.5)],
  ])('do not where an element needs one of the other end, %s', async (_, body) => {
    const { plan, typed } = planOf({ name: '', shape: [700, 703], body, steps: 4 });
    const spec = cpuProgram(plan);
    expect(spec.steps.some((step) => step.kind === 'loop' && step.skew !== undefined)).toBe(false);
    let state: Lazy = lazy(typed, { shape: [700, 703] });
    const looped = await run('cpu', [iterate(4, state, body)]);
    for (let k = 0; k < 4; k++) state = toLazy((await run('cpu', [body(state)]))[0]!);
    const [want] = await run('cpu', [state.mul(1)]);
    expect(mismatch(looped[0]!, want!, { ulp: 0, absolute: 0, anyZero: true })).toBe(undefined);
  });

  it('find what lies at the edges of rows of several chunks', async () => {
    for (const columns of [129, 192, 193, 256, 1000]) {
      for (const dtype of ['float32', 'float64'] as const) {
        const start = toLazy(randomIntegers(dtype, [41, columns], columns, 0, 6));
        const result = iterate(5, start, (f) => {
          const p = f.pad(1);
          const [left, right] = [p.slice([1, -1], [null, -2]), p.slice([1, -1], [2, null])];
          return left
            .add(right)
            .sub(p.slice([2, null], [1, -1]))
            .sub(f)
            .abs()
            .minimum(64);
        });
        const [want] = referenceOf([result]);
        const [found] = await run('cpu', [result]);
        expect(mismatch(found!, want!, { ulp: 0, absolute: 0, anyZero: true })).toBe(undefined);
      }
    }
  });

  it('read the number of the step', async () => {
    const [rows, columns, steps] = [90, 130, 17];
    const start = lazy(new Float64Array(rows * columns), { shape: [rows, columns] });
    const counter = lazy(new BigInt64Array([3n]), { shape: [] });
    const [sum] = iterate(steps, [start, counter], ([x, i]) => [
      x!.mul(0.5).add(i!.astype('float64')).add(arange(columns)),
      i!.add(1n),
    ]);
    const { plan } = planOnDevice(canonicalize([sum!.expr]), CPU, {});
    expect(plan.steps.flatMap((step) => (step.kind === 'loop' ? [step.skew?.counters.length] : []))).toEqual([
      1,
    ]);
    let expected = 0;
    for (let k = 0; k < steps; k++) expected = expected * 0.5 + 3 + k + 7;
    expect((await sum!.compute({ device: 'cpu' })).at(50, 7)).toBe(expected);
  });

  it('are not for bodies that read all over their states', () => {
    const skews = ([(x) => x.T.add(1), (x) => x.sub(x.mean()), (x) => x.add(x.slice(0))] as Body[]).map(
      (body) =>
        planOf({ name: '', shape: [64, 64], body }).plan.steps.map((step) =>
          step.kind === 'loop' ? step.skew : undefined,
        ),
    );
    for (const found of skews) expect(found.every((skew) => skew === undefined)).toBe(true);
  });
});

describe('the skew of a loop', () => {
  /** x → x[at + distance]. */
  const shifting = (parallel: readonly number[], distance: number): Kernel => {
    const elementCount = parallel.reduce((a, b) => a * b, 1);
    const strides = parallel.map((_, k) => parallel.slice(k + 1).reduce((a, b) => a * b, 1));
    const first = { ...{ strides, offset: 0 }, size: elementCount };
    const load = { buffer: 0, offset: distance, strides, bounds: [{ ...first, offset: distance }] };
    return {
      name: 'map',
      parallel,
      reduced: [],
      buffers: [
        { dtype: 'float32', role: 'input', elementCount },
        { dtype: 'float32', role: 'output', elementCount },
      ],
      tape: [create.load('float32', load)],
      stores: [{ value: 0, access: { buffer: 1, offset: 0, strides, bounds: [] } }],
      carried: [{ input: 0, output: 1 }],
    };
  };
  /** Which tile each element is in, by a walk over all of them. */
  function tilesOf(kernel: Kernel): number[] {
    const plan = planTape(kernel);
    const { tiles } = plan.loops;
    const { take, rows } = plan.blocking;
    const count = kernel.buffers[0]!.elementCount;
    return Array.from({ length: count }, (_, element) => {
      let rest = element;
      const at = plan.kernel.parallel.map((_size, k) => {
        const stride = plan.kernel.parallel.slice(k + 1).reduce((a, b) => a * b, 1);
        const own = Math.floor(rest / stride);
        rest -= own * stride;
        return own;
      });
      return tiles.reduce((tile, { axis, count: steps, role }) => {
        const extent = plan.kernel.parallel[axis]!;
        const full = Math.floor(extent / take);
        const lane = Math.floor(at[axis]! / take);
        const step = {
          unit: at[axis]!,
          lanes: lane,
          rows: Math.floor(at[axis]! / rows),
          shared: lane < full ? Math.floor(lane / rows) : steps - 1,
        }[role];
        return tile * steps + step;
      }, 0);
    });
  }

  it('is as many tiles as lie between what is read and what is stored', () => {
    for (const [shape, distances] of [
      [[20_000], [0, 1, -1, 300, -5000]],
      [
        [90, 300],
        [0, 1, -1, 300, -300, 299, -301, 3000],
      ],
      [
        [9, 11, 100],
        [1, 100, -1100, 1201, -99],
      ],
      [
        [5, 12_000],
        [1, -12_000, 12_001],
      ],
    ] as [number[], number[]][]) {
      for (const distance of distances) {
        const kernel = shifting(shape, distance);
        const tiles = tilesOf(kernel);
        let most = 0;
        for (const [k, tile] of tiles.entries()) {
          const read = tiles[k + distance];
          if (read !== undefined) most = Math.max(most, Math.abs(read - tile));
        }
        expect(skewOf(kernel), `${shape} by ${distance}`).toBeGreaterThanOrEqual(most);
        expect(skewOf(kernel)! - most, `${shape} by ${distance}`).toBeLessThanOrEqual(2);
      }
    }
  });

  it('is refused where it makes no sense', () => {
    const spec = cpuProgram(planOf(JOBS[0]!).plan);
    const changed = (change: object): ProgramSpec => ({
      ...spec,
      steps: spec.steps.map((step) => (step.kind === 'loop' ? ({ ...step, ...change } as StepSpec) : step)),
    });
    for (const skew of [
      { tiles: -1, counters: [] },
      { tiles: 1 },
      { tiles: 1, counters: [0] },
      { tiles: 1, counters: [9] },
    ])
      expect(() => createProgram(changed({ skew }))).toThrow(ArgumentError);
    expect(() => createProgram(changed({ stepsAtOnce: 2 }))).toThrow(ArgumentError);
    expect(() => createProgram(changed({ skew: undefined }))).not.toThrow();
  });
});
