/**
 * The same bits on every instruction set: Fourier transforms, reflectors, whose columns end within a vector, and complex
 * products, of which a compiler that makes multiply-adds makes others.
 */
import { describe, expect, it } from 'vitest';
import type { RoutineSpec } from '../../src/exec/native/native.js';
import { dtypeCode } from '../../src/graph/dtype.js';
import { KernelBuilder } from '../support/kernel-builder.js';
import { nativeWith } from '../support/native-with.js';
import { runTape } from '../support/tape-runner.js';

const ISAS = process.arch === 'x64' ? ['baseline', 'avx2', 'avx512'] : ['neon'];
const PRECISIONS = ['float32', 'float64'] as const;
type Precision = (typeof PRECISIONS)[number];
type Native = Awaited<ReturnType<typeof nativeWith>>;

const bytesOf = (precision: Precision): number => (precision === 'float64' ? 8 : 4);
const complexOf = (precision: Precision) => (precision === 'float64' ? 'complex128' : 'complex64');

function numbers(
  precision: Precision,
  count: number,
  numberAt: (i: number) => number,
): Float32Array | Float64Array {
  const values = Float64Array.from({ length: count }, (_, i) => numberAt(i));
  return precision === 'float64' ? values : Float32Array.from(values);
}

/** The results of a routine of one operand, whose sizes are in bytes. */
async function resultsOf(
  { createProgram, routineWorkspace, run }: Native,
  routine: { readonly name: string; readonly numbers: readonly number[] },
  operand: Float32Array | Float64Array,
  resultBytes: readonly number[],
): Promise<Uint8Array[]> {
  const results = resultBytes.map((_, k) => k + 1);
  const workspace = results.length + 1;
  const step: RoutineSpec = { kind: 'routine', ...routine, operands: [0], results, workspace };
  const { most } = routineWorkspace(step);
  const program = createProgram({
    device: 'cpu',
    arenaByteLength: most,
    images: [],
    buffers: [
      { role: 'input', byteLength: operand.byteLength, offset: -1 },
      ...resultBytes.map((byteLength) => ({ role: 'output', byteLength, offset: -1 }) as const),
      { role: 'temporary', byteLength: most, offset: 0 },
    ],
    steps: [step],
  });
  const { outputs } = await run(program, [operand], { outputs: results.map(() => 'host') });
  return outputs.map((output) => new Uint8Array(output as ArrayBuffer));
}

/** Every instruction set computes the same; a process uses one at a time. */
async function expectSame(compute: (native: Native) => Promise<unknown>): Promise<void> {
  const results: unknown[] = [];
  for (const isa of ISAS) {
    const settings = { WEFT_ISA: isa, WEFT_THREADS: '2', WEFT_FFT: 'none', WEFT_LAPACK: 'none' };
    results.push(await compute(await nativeWith(settings)));
  }
  for (const result of results) expect(result).toEqual(results[0]);
}

const why = ISAS.length > 1 ? '' : ' (skipped: there is one)';

describe.skipIf(ISAS.length === 1)(`on every instruction set${why}`, () => {
  const ROWS = 21;
  const LENGTHS = [3, 8, 12, 17, 21, 61, 64, 97, 160, 300, 1000];
  /** fft, rfft and irfft of `native/cpu/fft-numbers.h`, with the numbers of a row that they read and write. */
  const KINDS = [
    ['fft', (n: number) => 2 * n, (n: number) => 2 * n],
    ['rfft', (n: number) => n, (n: number) => 2 * (Math.floor(n / 2) + 1)],
    ['irfft', (n: number) => 2 * (Math.floor(n / 2) + 1), (n: number) => n],
  ] as const;

  it.each(PRECISIONS)('Fourier transforms of %s have the same bits', (precision) =>
    expectSame(async (native) => {
      const results: Record<string, Uint8Array[]> = {};
      for (const [kind, [name, given, made]] of KINDS.entries()) {
        for (const n of LENGTHS) {
          const routine = { name, numbers: [kind, precision === 'float64' ? 1 : 0, 0, ROWS, 1, ROWS, n] };
          const operand = numbers(precision, ROWS * given(n), (i) => Math.sin(i * i + 1));
          results[`${name} ${n}`] = await resultsOf(native, routine, operand, [
            ROWS * made(n) * bytesOf(precision),
          ]);
        }
      }
      return results;
    }),
  );

  it.each(PRECISIONS)('complex reductions of %s have the same bits', (precision) =>
    expectSame(async (native) => {
      const results: Record<string, unknown> = {};
      for (const reduction of ['sum', 'prod', 'squaredDeviations'] as const) {
        // Along rows, and along columns.
        for (const strides of [
          [1000, 1],
          [1, 21],
        ]) {
          const b = new KernelBuilder([21], [1000]);
          const kernel = b.store(b.reduce(reduction, b.load(complexOf(precision), strides))).build();
          // About the unit circle, so that products stay finite.
          const x = numbers(precision, 2 * 21_000, (i) => (i % 2 === 0 ? Math.cos : Math.sin)((i >> 1) ** 2));
          results[`${reduction} ${strides[1]}`] = await runTape(native, kernel, [x]);
        }
      }
      return results;
    }),
  );

  // One panel of columns: longer ones have matrix products, whose kernels are each instruction set's own. Rows end within a
  // vector, pivots are the first of equal ones, and a column is zeros.
  it.each([...PRECISIONS, ...PRECISIONS.map(complexOf)])('LU factors of %s have the same bits', (dtype) =>
    expectSame(async (native) => {
      const results: Record<string, Uint8Array[]> = {};
      for (const [count, rows, columns] of [
        [5, 8, 8],
        [3, 16, 16],
        [2, 45, 13],
        [2, 7, 21],
      ] as const) {
        const precision = dtype === 'float32' || dtype === 'complex64' ? 'float32' : 'float64';
        const parts = dtype.startsWith('complex') ? 2 : 1;
        const elements = count * rows * columns;
        const operand = numbers(precision, elements * parts, (i) =>
          i % (columns * parts) === 3 ? 0 : Math.round(9 * Math.sin(i * i + 1)),
        );
        const routine = { name: 'luFactors', numbers: [dtypeCode(dtype), count, columns, rows] };
        const pivotBytes = count * Math.min(rows, columns) * 8;
        results[`${rows} × ${columns}`] = await resultsOf(native, routine, operand, [
          operand.byteLength,
          pivotBytes,
          count * 4,
        ]);
      }
      return results;
    }),
  );

  // Reflectors one by one: longer columns have blocks of them, and products.
  it.each([...PRECISIONS, ...PRECISIONS.map(complexOf)])('QR factors of %s have the same bits', (dtype) =>
    expectSame(async (native) => {
      const results: Record<string, Uint8Array[]> = {};
      for (const [rows, columns] of [
        [1, 1],
        [7, 9],
        [16, 16],
        [31, 18],
        [33, 33],
        [100, 61],
      ] as const) {
        const precision = dtype === 'float32' || dtype === 'complex64' ? 'float32' : 'float64';
        const parts = dtype.startsWith('complex') ? 2 : 1;
        const [size, kept] = [parts * bytesOf(precision), Math.min(rows, columns)];
        const operand = numbers(precision, rows * columns * parts, (i) => Math.sin(i * i + 1));
        const routine = { name: 'qrParts', numbers: [dtypeCode(dtype), 1, columns, rows, kept, 1] };
        const resultBytes = [kept * columns * size, rows * kept * size];
        results[`${rows} × ${columns}`] = await resultsOf(native, routine, operand, resultBytes);
      }
      return results;
    }),
  );
});
