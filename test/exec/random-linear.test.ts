/** Random programs of dense linear algebra on the CPU: beside a textbook's, and in any budget with the same bits. */
import { expect, it, vi } from 'vitest';
import { compute } from '../../src/api/compute.js';
import { MemoryError } from '../../src/host/errors.js';
import { singularValues } from '../support/plain-matrices.js';
import { programSeeds, randomLinearProgram } from '../support/random-linear.js';

vi.setConfig({ testTimeout: 3_600_000 });

const MOST = { float32: 2e-3, float64: 1e-11, complex128: 1e-11 } as const;

/** Programs of 2 to 17 rows in which each step is, and each dtype. */
const SEEDS = [5, 8, 11, 15, 20, 22];

it('programs of linear algebra give what a textbook gives, and the same bits in any budget', async () => {
  let tiled = 0;
  const failures: string[] = [];
  for (const [number, seed] of programSeeds(SEEDS).entries()) {
    const { outputs, dtype, steps, plain } = randomLinearProgram(seed);
    const about = `seed ${seed}: ${dtype} ${outputs[0].shape.join(' x ')}, ${steps.join(', ')}`;
    const whole = await compute(outputs, { device: 'cpu' });
    if (dtype !== 'complex128') {
      const matrices = plain();
      const wanted = [
        matrices.flat(2),
        matrices.map((a) => a.flat().reduce((sum, x) => sum + x, 0)),
        matrices.flatMap((a) => {
          const most = Math.max(...a.flat().map(Math.abs)) + 1;
          return singularValues(a.map((row) => row.map((x) => x / most)));
        }),
      ];
      for (const [k, want] of wanted.entries()) {
        const most = Math.max(1, ...want.map(Math.abs));
        const data = whole[k]!.data as Float64Array;
        const worst = Math.max(...want.map((x, i) => Math.abs(data[i]! - x))) / most;
        if (!(worst < MOST[dtype])) failures.push(`${about}: result ${k} is off by ${worst}`);
      }
    }
    const { peakBytes } = outputs[0].plan({ device: 'cpu' });
    const memory = Math.ceil((number % 3 === 0 ? 0.3 : 0.7) * peakBytes);
    const within = await compute(outputs, { device: 'cpu', memory }).catch((error: unknown) => {
      if (!(error instanceof MemoryError)) failures.push(`${about}: ${String(error)}`);
    });
    tiled += within === undefined ? 0 : 1;
    for (const [k, { data }] of (within ?? []).entries())
      if (!bytesOf(data).equals(bytesOf(whole[k]!.data)))
        failures.push(`${about}: result ${k} differs in ${memory} bytes`);
  }
  expect(failures).toEqual([]);
  expect(tiled).toBeGreaterThan(2);
});

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);
