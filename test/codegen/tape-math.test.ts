/**
 * Functions of float32 vectors that are Weft's own, on every instruction set, against the engine's in
 * float64.
 */
import { describe, expect, it } from 'vitest';
import { KernelBuilder } from '../support/kernel-builder.js';
import { nativeWith } from '../support/native-with.js';
import { runTape } from '../support/tape-runner.js';

const ISAS = process.arch === 'x64' ? ['baseline', 'avx2', 'avx512'] : ['neon'];
const LEAST = 2 ** -149;

/** Every so many-th float32: all exponents, both signs, infinities and NaN; and what is easy to get wrong. */
function arguments32(): Float32Array {
  const bits = Uint32Array.from({ length: 2 ** 16 }, (_, i) => i * 65521);
  const edges = [0, -0, LEAST, -LEAST, 88.72283, 88.72284, 89, -87.33655, -103.97208, -103.97209, -104];
  const logs = [-1, -1 + 2 ** -24, -0.5, -0.3, -0.29289, 0.41421, 0.5, 1, 2 ** 24, 2 ** 64, 2 ** 65];
  const angles = [1, 2, 3, 22, 355, 20860, 20861, 20862].map((n) => n * Math.PI);
  const turns = [...angles, ...angles.map((angle) => angle - Math.PI / 2), 65536, 65537, 1e6, 3e38];
  const ordinary = Array.from({ length: 2 ** 14 }, (_, i) => (i - 2 ** 13) / 97.3);
  return Float32Array.from([
    ...new Float32Array(bits.buffer),
    ...edges,
    ...logs,
    ...turns,
    ...turns.map((x) => -x),
    ...ordinary,
  ]);
}

/** Units in the last place between a result and what it should be. */
function unitsBetween(got: number, wanted: number): number {
  if (Object.is(got, wanted) || Object.is(got, Math.fround(wanted))) return 0;
  if (!Number.isFinite(got) || Number.isNaN(wanted)) return Number.POSITIVE_INFINITY;
  const unit = 2 ** Math.max(Math.floor(Math.log2(Math.abs(wanted))) - 23, -149);
  return Math.abs(got - wanted) / unit;
}

async function resultsOf(
  isa: string,
  op: 'exp' | 'sin' | 'cos' | 'log1p',
  x: Float32Array,
): Promise<Float32Array> {
  const b = new KernelBuilder([x.length]);
  const kernel = b.store(b.map(op, b.load('float32', [1]))).build();
  const [result] = await runTape(await nativeWith({ WEFT_ISA: isa, WEFT_THREADS: '2' }), kernel, [x]);
  return result as Float32Array;
}

describe('functions of float32', () => {
  const x = arguments32();

  for (const op of ['exp', 'sin', 'cos', 'log1p'] as const) {
    for (const isa of ISAS) {
      it(`${op} is right for all arguments, on ${isa}`, async () => {
        const results = await resultsOf(isa, op, x);
        const wrong = Array.from(x).flatMap((value, i) => {
          const units = unitsBetween(results[i]!, Math[op](value));
          return units <= 4 ? [] : [`${op}(${value}) gave ${results[i]}, ${units} units off`];
        });
        expect(wrong).toEqual([]);
      });
    }

    it.runIf(process.arch === 'x64')(
      `${op} has the same bits on all sets that have a multiply-add${process.arch === 'x64' ? '' : ' (skipped: sets of x86-64)'}`,
      async () => {
        const [narrow, wide] = [await resultsOf('avx2', op, x), await resultsOf('avx512', op, x)];
        expect(Buffer.from(narrow.buffer).equals(Buffer.from(wide.buffer))).toBe(true);
      },
    );
  }

  it('keep the sign of zero, and are exact there', async () => {
    const zeros = Float32Array.from([0, -0]);
    for (const isa of ISAS) {
      expect([...(await resultsOf(isa, 'sin', zeros))]).toEqual([0, -0]);
      expect([...(await resultsOf(isa, 'cos', zeros))]).toEqual([1, 1]);
      expect([...(await resultsOf(isa, 'exp', zeros))]).toEqual([1, 1]);
      expect([...(await resultsOf(isa, 'log1p', zeros))]).toEqual([0, -0]);
    }
  });
});
