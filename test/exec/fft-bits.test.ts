/** Fourier transforms of the CPU have the same bits on every instruction set. */
import { expect, it } from 'vitest';
import type { RoutineSpec } from '../../src/exec/native/native.js';
import { nativeWith } from '../support/native-with.js';

const ISAS = process.arch === 'x64' ? ['baseline', 'avx2', 'avx512'] : ['neon'];
const ROWS = 21;
const LENGTHS = [3, 8, 12, 17, 21, 61, 64, 97, 160, 300, 1000];
/** fft, rfft and irfft of `native/cpu/fft-numbers.h`, with the float32 numbers of a row that they read and write. */
const KINDS = [
  ['fft', (n: number) => 2 * n, (n: number) => 2 * n],
  ['rfft', (n: number) => n, (n: number) => 2 * (Math.floor(n / 2) + 1)],
  ['irfft', (n: number) => 2 * (Math.floor(n / 2) + 1), (n: number) => n],
] as const;

/** The results of all kinds and lengths, of one precision. */
async function resultsOf(isa: string, isDouble: boolean): Promise<Readonly<Record<string, Uint8Array>>> {
  const { createProgram, routineWorkspace, run } = await nativeWith({
    WEFT_ISA: isa,
    WEFT_THREADS: '2',
    WEFT_FFT: 'none',
  });
  const width = isDouble ? 8 : 4;
  const results: Record<string, Uint8Array> = {};
  for (const [kind, [name, given, made]] of KINDS.entries()) {
    for (const n of LENGTHS) {
      const numbers = [kind, isDouble ? 1 : 0, 0, ROWS, 1, ROWS, n];
      const step: RoutineSpec = { kind: 'routine', name, numbers, operands: [0], results: [1], workspace: 2 };
      const { most } = routineWorkspace(step);
      const program = createProgram({
        device: 'cpu',
        arenaByteLength: most,
        images: [],
        buffers: [
          { role: 'input', byteLength: ROWS * given(n) * width, offset: -1 },
          { role: 'output', byteLength: ROWS * made(n) * width, offset: -1 },
          { role: 'temporary', byteLength: most, offset: 0 },
        ],
        steps: [step],
      });
      const values = Float64Array.from({ length: ROWS * given(n) }, (_, i) => Math.sin(i * i + 1));
      const { outputs } = await run(program, [isDouble ? values : Float32Array.from(values)], {
        outputs: ['host'],
      });
      results[`${name} ${n}`] = new Uint8Array(outputs[0] as ArrayBuffer);
    }
  }
  return results;
}

const why = ISAS.length > 1 ? '' : ' (skipped: there is one)';

it.skipIf(ISAS.length === 1)(`have the same bits on every instruction set${why}`, async () => {
  const [first, ...others] = ISAS;
  for (const isDouble of [false, true]) {
    const results = await resultsOf(first!, isDouble);
    for (const isa of others) expect(await resultsOf(isa, isDouble)).toEqual(results);
  }
});
