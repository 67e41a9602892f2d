/** Scans whose tiles threads take in their order, on the CPU: the bits are those of one thread, also of more threads than processors. */
import { afterAll, describe, expect, it, vi } from 'vitest';
import { numbersFor } from '../../src/exec/run/run-numbers.js';
import { CPU } from '../../src/exec/targets/device.js';
import { cpuProgram } from '../../src/exec/targets/program-cpu.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { type Lazy, lazy } from '../../src/index.js';
import { planOnDevice } from '../support/device-plan.js';
import { nativeWith } from '../support/native-with.js';

const JOBS: readonly [string, readonly number[], (x: Lazy) => readonly Lazy[]][] = [
  ['a long line', [400_001], (x) => [x.cumulativeSum()]],
  ['a long line from its end', [300_000], (x) => [x.cumulativeProd(0, { reverse: true })]],
  ['products of many tiles', [700_001], (x) => [x.cumulativeProd(), x.cumulativeProd().min()]],
  [
    'rows of many tiles from their ends',
    [2, 530_000],
    (x) => [x.sub(1).exp().cumulativeSum(1, { reverse: true })],
  ],
  ['rows of tiles', [3, 60_000], (x) => [x.abs().log().cumulativeSum(1).exp()]],
  ['columns in groups', [3000, 200], (x) => [x.mul(2).cumulativeSum(0).sub(1)]],
  ['sums of exponentials', [200_000], (x) => [x.cumulativeLogsumexp()]],
  ['a map and its extremes', [250_000], (x) => [x.cumulativeMax().sub(x), x.cumulativeMax().sub(x).max()]],
];

afterAll(() => {
  vi.resetModules();
});

describe('a scan of tiles in their order', () => {
  it.each(JOBS)('gives the bits of one thread: %s', async (_, shape, build) => {
    const size = shape.reduce((a, b) => a * b, 1);
    const data = Float32Array.from({ length: size }, (_, k) => 1 + Math.sin(k * 1.7) * 0.01);
    const results = build(lazy(data, { shape })).map(({ expr }) => expr);
    const canonical = canonicalize(results);
    const spec = cpuProgram(planOnDevice(canonical, CPU, {}).plan);
    expect(spec.steps[0]).toMatchObject({ kind: 'routine', name: 'scan' });
    const numbers = numbersFor(canonical);
    let expected: readonly Buffer[] | undefined;
    for (const threads of ['1', '2', '3', '16']) {
      const native = await nativeWith({ WEFT_THREADS: threads });
      const program = native.createProgram(spec);
      for (let run = 0; run < 5; run++) {
        const places = { outputs: results.map(() => 'host' as const), numbers };
        const { outputs } = await native.run(program, [data], places);
        const bits = outputs.map((output) => Buffer.from(output as ArrayBuffer));
        expected ??= bits;
        expect(bits.every((own, k) => own.equals(expected![k]!))).toBe(true);
      }
    }
  });
});
