/**
 * The CUDA expression of every row of the op table, for every dtype the row takes, and every cast: run, and
 * compared with the reference's op, special values included.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { DTYPES, type DType, isComplex } from '../../src/graph/dtype.js';
import type { TypedArray } from '../../src/graph/expr.js';
import { runCudaCases } from '../support/cuda-runner.js';
import { elementAt } from '../support/host.js';
import { interpretKernel } from '../support/kernel-interpreter.js';
import { complexCompared, opTolerance } from '../support/tolerance.js';
import { mismatch, type Tolerance } from '../support/ulp.js';
import { COMPUTED, castsOf, opsOf } from './cuda-op-cases.js';

/**
 * The error that the simulator's libm adds to the table's bound, and the reference's own error where it works
 * in float64 too.
 */
const loosened = (tolerance: Tolerance, compute: DType): Tolerance =>
  tolerance.ulp === 0
    ? tolerance
    : { ...tolerance, ulp: tolerance.ulp + (compute === 'complex128' ? 16 : 1) };

describe('CUDA expressions', () => {
  const ops = COMPUTED.map(opsOf);
  const casts = DTYPES.map(castsOf);
  let results: TypedArray[][] = [];
  beforeAll(async () => {
    results = await runCudaCases([...ops.map(({ job }) => job), ...casts]);
  }, 180_000);

  it.each(COMPUTED.map((dtype, k) => [dtype, k] as const))(
    'gives what the table says for every op of %s',
    (_, k) => {
      const { job, ops: cases } = ops[k]!;
      const wanted = interpretKernel(job.kernel, job.inputs);
      const failures = cases.flatMap(({ op, compute, result, args, store }) => {
        const buffer = job.kernel.stores[store]!.access.buffer;
        const shape = [job.kernel.parallel[0]!];
        const tolerance = loosened(opTolerance(op, compute, result), compute);
        const argsAt = (i: number) =>
          args.map((arg) => elementAt(job.kernel.buffers[arg]!.dtype, job.inputs[arg]!, i));
        const compared = (i: number) =>
          isComplex(compute) && !complexCompared(op, argsAt(i)) ? undefined : tolerance;
        const got = { dtype: result, shape, data: results[k]![buffer]! };
        const want = { dtype: result, shape, data: wanted[buffer]! };
        const text = (i: number) =>
          argsAt(i)
            .map((a) => (typeof a === 'object' ? `${a.re},${a.im}` : String(a)))
            .join(' and ');
        const wrong = mismatch(got, want, compared, text);
        return wrong === undefined ? [] : [`${op}: ${wrong}`];
      });
      expect(failures).toEqual([]);
    },
  );

  it.each(DTYPES.map((dtype, k) => [dtype, k] as const))('casts %s to every dtype', (_, k) => {
    const { kernel, inputs } = casts[k]!;
    const wanted = interpretKernel(kernel, inputs);
    kernel.buffers.forEach(({ dtype, elementCount }, b) => {
      const shape = [elementCount];
      const data = results[ops.length + k]![b]!;
      expect(
        mismatch({ dtype, shape, data }, { dtype, shape, data: wanted[b]! }, { ulp: 0 }),
        dtype,
      ).toBeUndefined();
    });
  });
});
