/**
 * Columns that are neighbours in memory, taken apart and put together in one pass: of every width, size of elements and
 * instruction set, with rows that end within a vector.
 */
import { afterAll, describe, expect, it, vi } from 'vitest';
import { numbersFor } from '../../src/exec/run/run-numbers.js';
import { CPU } from '../../src/exec/targets/device.js';
import { cpuProgram } from '../../src/exec/targets/program-cpu.js';
import { canonicalize } from '../../src/fusion/passes/canonicalize.js';
import { byteLengthOf, type DType } from '../../src/graph/dtype.js';
import { full, type Lazy, lazy, stack } from '../../src/index.js';
import { planOnDevice } from '../support/device-plan.js';
import { nativeWith } from '../support/native-with.js';

const ISAS = process.arch === 'x64' ? ['baseline', 'avx2', 'avx512'] : ['neon'];
const DTYPES: readonly DType[] = ['uint8', 'uint16', 'int32', 'float64', 'complex128'];
const WIDTHS = [2, 3, 4, 5, 6, 7, 8, 9];
const ROWS = 2 * 1024 + 77;

afterAll(() => {
  vi.resetModules();
});

/** Whole numbers, which every dtype has. */
const NUMBERS = Float64Array.from({ length: ROWS * 9 }, (_, i) => (i * 7) % 101);

/** Columns in reverse, each with another number added; `isSplat`: one is the same in all rows. */
function turned(x: Lazy, width: number, dtype: DType, isSplat: boolean): Lazy {
  const columns = Array.from({ length: width }, (_, c) => x.slice([null, null], width - 1 - c).add(c + 1));
  if (isSplat) columns[1] = full([ROWS], 5, { dtype });
  return stack(
    columns.map((column) => column.astype(dtype)),
    -1,
  );
}

function expectedOf(width: number, isSplat: boolean): number[] {
  return Array.from({ length: ROWS * width }, (_, i) => {
    const [row, c] = [Math.floor(i / width), i % width];
    return isSplat && c === 1 ? 5 : NUMBERS[row * width + width - 1 - c]! + c + 1;
  });
}

describe.each(ISAS)('columns with %s', (isa) => {
  it.each(DTYPES)('of %s are those of a loop over elements', async (dtype) => {
    for (const width of WIDTHS) {
      for (const isSplat of [false, true]) {
        const values = lazy(NUMBERS.slice(0, ROWS * width), { shape: [ROWS, width] });
        const given = await values.astype(dtype).compute();
        const canonical = canonicalize([turned(lazy(given), width, dtype, isSplat).expr]);
        const spec = cpuProgram(planOnDevice(canonical, CPU, {}).plan);
        expect(spec.steps.length).toBe(1);
        const native = await nativeWith({ WEFT_ISA: isa, WEFT_THREADS: '2' });
        const places = { outputs: ['host' as const], numbers: numbersFor(canonical) };
        const { outputs } = await native.run(native.createProgram(spec), [given.data], places);
        const expected = await lazy(Float64Array.from(expectedOf(width, isSplat)))
          .astype(dtype)
          .compute();
        const bytes = new Uint8Array(outputs[0] as ArrayBuffer);
        expect(bytes.byteLength).toBe(ROWS * width * byteLengthOf(dtype));
        const { buffer, byteOffset, byteLength } = expected.data as Uint8Array;
        expect(Buffer.compare(bytes, new Uint8Array(buffer, byteOffset, byteLength))).toBe(0);
      }
    }
  });
});
