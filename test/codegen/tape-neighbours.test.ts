/**
 * Chains over neighbours on the CPU, where a load and the arithmetic after it may be one step that keeps the
 * loaded lanes in registers: against the slow interpreter of kernels, whole numbers, on every instruction
 * set.
 */
import { describe, expect, it } from 'vitest';
import type { Kernel } from '../../src/fusion/kernel/kernel.js';
import type { DType } from '../../src/graph/dtype.js';
import { KernelBuilder } from '../support/kernel-builder.js';
import { interpretKernel } from '../support/kernel-interpreter.js';
import { nativeWith } from '../support/native-with.js';
import { inputsOf, runTape } from '../support/tape-runner.js';

const ISAS = process.arch === 'x64' ? ['baseline', 'avx2', 'avx512'] : ['neon'];

/**
 * 4 x less neighbours of x to both sides, whose product with x is then taken from x. Outside is zero, or not
 * read.
 */
function neighbours(
  dtype: DType,
  [rows, columns]: readonly [number, number],
  ways: readonly number[],
): Kernel {
  const b = new KernelBuilder([rows, columns]);
  const margin = Math.max(...ways);
  const isPadded = margin < columns;
  const pitch = isPadded ? columns : columns + 2 * margin;
  const at = (way: number): number =>
    b.load(dtype, [pitch, 1], {
      buffer: 'x',
      offset: way + (isPadded ? 0 : margin),
      bounds: isPadded && way !== 0 ? [{ offset: way, strides: [0, 1], size: columns }] : [],
    });
  const x = at(0);
  let sum = b.map('multiply', x, b.constant(dtype, 4));
  for (const way of ways) {
    sum = b.map('subtract', sum, at(-way));
    sum = b.map('subtract', at(way), sum);
  }
  const row = b.load(dtype, [1, 0], { buffer: 'rows' });
  const scaled = b.map('add', b.map('multiply', sum, row), b.load(dtype, [0, 1], { buffer: 'columns' }));
  b.store(b.map('subtract', x, b.map('multiply', scaled, x)));
  return b.build();
}

describe('chains over neighbours', () => {
  const shapes = [
    [1, 7 * 64],
    [5, 1000],
    [19, 8 * 64],
    [18, 5 * 64 + 1],
    [2, 4500],
  ] as const;
  const sets = [[1], [1, 2], [3, 15], [7, 8, 17], [64], [65, 1]];

  it('compute what the interpreter computes, on every instruction set', async () => {
    const cases = (['float32', 'float64'] as const).flatMap((dtype) =>
      shapes.flatMap((shape) =>
        sets.map((ways) => {
          const kernel = neighbours(dtype, shape, ways);
          const inputs = inputsOf(kernel, ways[0]!);
          const expected = interpretKernel(kernel, inputs).at(-1)!;
          return { name: `${dtype} ${shape}, ${ways}`, kernel, inputs, expected };
        }),
      ),
    );
    const wrong: string[] = [];
    for (const isa of ISAS) {
      // A process uses one instruction set at a time.
      const native = await nativeWith({ WEFT_ISA: isa, WEFT_THREADS: '2' });
      for (const { name, kernel, inputs, expected } of cases) {
        const [actual] = await runTape(native, kernel, inputs);
        const differs = Array.from(actual!, Number).findIndex((v, i) => v !== Number(expected[i]));
        if (differs >= 0) wrong.push(`${isa}, ${name}: element ${differs}`);
      }
    }
    expect(wrong).toEqual([]);
  });
});
