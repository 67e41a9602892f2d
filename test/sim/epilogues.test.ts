/**
 * Products with epilogues: scaled, added to, activated or cast as one call of cuBLASLt, with other bits than step by step
 * only by rounding, and with the same ones where others read the bare product.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { clearPrograms } from '../../src/exec/run/program.js';
import { DeviceError, MemoryError } from '../../src/host/errors.js';
import { compute, type DType, iterate, type Lazy, lazy, type NDArray, plan } from '../../src/index.js';
import {
  formsOf,
  largest,
  type Operands,
  operandsOf,
  parts,
  ROUNDED,
  stored,
} from '../support/epilogue-forms.js';
import { describeSimulator, setFaults, takeProblems } from './simulator.js';

const SIZES = { m: 24, k: 20, n: 9 };
const { m: M, k: K, n: N } = SIZES;
const device = 'cuda';
const operands = (dtype: DType): Promise<Operands> => operandsOf(dtype, SIZES);

/** Calls of a run. */
async function callsOf(x: Lazy): Promise<{ lt: number; blas: number; kernels: number; x: number[] }> {
  setFaults([]);
  const found = await x.compute({ device });
  const { counts } = describeSimulator();
  const of = (name: string): number => counts[name] ?? 0;
  return {
    lt: of('cublasLtMatmul'),
    blas: of('cublasGemmEx') + of('cublasGemmStridedBatchedEx'),
    kernels: of('cuLaunchKernel'),
    x: await parts(lazy(found)),
  };
}
/** Products that libraries were called for since the faults were set. */
function productCalls(): number {
  const { cublasLtMatmul = 0, cublasGemmEx = 0, cublasGemmStridedBatchedEx = 0 } = describeSimulator().counts;
  return cublasLtMatmul + cublasGemmEx + cublasGemmStridedBatchedEx;
}
afterEach(() => {
  setFaults([]);
  expect(takeProblems()).toEqual([]);
});

describe.each(Object.keys(ROUNDED) as DType[])('a product of %s', (dtype) => {
  it.each(formsOf(dtype))('%s is one call, with the values of the CPU', async (_, build) => {
    const built = build(await operands(dtype));
    const { lt, blas, x } = await callsOf(built);
    expect({ lt, blas }).toEqual({ lt: 1, blas: 0 });
    const wanted = await parts(built);
    const error = largest(x.map((value, k) => value - wanted[k]!));
    expect(error).toBeLessThan(ROUNDED[dtype]! * largest(wanted));
  });
});

describe.each(['float32', 'float16', 'bfloat16', 'float64'] as const)('products of %s', (dtype) => {
  const ofSameFactors = formsOf(dtype).filter(([name]) => !/transposed|batches/.test(name));
  it.each(ofSameFactors)('have a call each beside the bare product, and the bits of %s', async (_, build) => {
    const all = await operands(dtype);
    const [y, product] = [build(all), all.a.matmul(all.b)];
    const alone = [await y.compute({ device }), await product.compute({ device })];
    setFaults([]);
    const together = await compute([y, product], { device });
    for (const [k, { data }] of together.entries()) expect(data, `result ${k}`).toEqual(alone[k]!.data);
    expect(productCalls()).toBe(2);
  });
});

it.each(['float32', 'float64'] as const)(
  'products of %s that differ by a ReLU have one call',
  async (dtype) => {
    const { a, b, c } = await operands(dtype);
    const sum = a.matmul(b).mul(0.7).add(c);
    const alone = [await sum.compute({ device }), await sum.relu().compute({ device })];
    setFaults([]);
    const together = await compute([sum, sum.relu()], { device });
    for (const [k, { data }] of together.entries()) expect(data, `result ${k}`).toEqual(alone[k]!.data);
    expect(productCalls()).toBe(1);
  },
);

it('a ReLU of sums of 0 that are negated is 0, beside these and alone', async () => {
  const [a, { b }] = [lazy(new Float32Array(M * K)).reshape([M, K]), await operands('float32')];
  const bias = lazy(new Float32Array(N).fill(-0));
  const products = [a.matmul(b).neg(), a.matmul(b).mul(-2), a.neg().matmul(b), a.matmul(b.mul(-3))];
  const negated = [...products, a.matmul(b).mul(-2).add(bias), a.matmul(b).add(bias)];
  for (const sum of negated) {
    const alone = await sum.maximum(0).compute({ device });
    const [beside] = await compute([sum.maximum(0), sum], { device });
    expect(alone.data).toEqual(new Float32Array(M * N));
    expect(beside!.data).toEqual(alone.data);
  }
});

describe('an epilogue', () => {
  it('leaves no kernel beside the product', async () => {
    const { a, b, bias } = await operands('float32');
    expect(await callsOf(a.matmul(b).add(bias).relu())).toMatchObject({ lt: 1, blas: 0, kernels: 0 });
    expect(await callsOf(a.matmul(b).add(bias).gelu({ approximate: 'tanh' }))).toMatchObject({ kernels: 0 });
  });

  it('is a call of its own where another node reads the bare product', async () => {
    const { a, b, bias } = await operands('float32');
    const product = a.matmul(b);
    const { lt, blas } = await callsOf(product.add(bias).relu().add(product.max(0)));
    expect({ lt, blas }).toEqual({ lt: 1, blas: 1 });
  });

  it('keeps the gelu of erf a kernel, which is another function', async () => {
    const { a, b, bias } = await operands('float32');
    const text = String(await a.matmul(b).add(bias).gelu().explain({ device }));
    expect(text).toContain('float32, + bias, computed in full float32 by cuBLASLt');
    expect(text).not.toMatch(/, gelu/);
  });

  it.each(['float32', 'float16'] as const)(
    'keeps a NaN that relu is given, and infinities, of %s',
    async (dtype) => {
      const { b, bias } = await operands(dtype);
      const data = new Float32Array(M * K).fill(0);
      data[0] = Number.NaN;
      data[K] = Number.POSITIVE_INFINITY;
      const ones = b.mul(0).add(1);
      const y = lazy({ data, shape: [M, K] })
        .astype(dtype)
        .matmul(await keep(ones))
        .add(bias.mul(0))
        .relu();
      const values = await parts(lazy(await y.compute({ device })));
      expect(values[0]).toBeNaN();
      expect(values[2 * N]).toBe(Number.POSITIVE_INFINITY);
      expect(values[4 * N]).toBe(0);
    },
  );

  it('is left out of exact computes', async () => {
    const { a, b, bias } = await operands('float32');
    const text = String(await a.matmul(b).add(bias).explain({ device, exact: true }));
    expect(text).not.toContain('cuBLASLt');
  });

  it('is said by explain() with the bytes that it reads', async () => {
    const { a, b, c, bias } = await operands('float32');
    const text = String(await a.matmul(b).mul(2).add(c).add(bias).relu().explain({ device }));
    expect(text).toContain('alpha 2, + addend, + bias, relu, computed in full float32 by cuBLASLt, one call');
  });

  it('takes halves that are cast to float32 as they are', async () => {
    const [a, b] = [await stored([M, K], 1, 'float16'), await stored([K, N], 2, 'float16')];
    const wide = a.astype('float32').matmul(b.astype('float32'));
    const { lt, blas, kernels, x } = await callsOf(wide);
    expect({ lt, blas, kernels }).toEqual({ lt: 1, blas: 0, kernels: 0 });
    const wanted = await parts(wide);
    expect(largest(x.map((value, k) => value - wanted[k]!))).toBeLessThan(1e-5 * largest(wanted));
    const cast = await callsOf(a.matmul(b).astype('float32'));
    expect(cast).toMatchObject({ lt: 1, kernels: 0 });
    expect(largest(cast.x.map((value, k) => value - wanted[k]!))).toBeLessThan(1e-5 * largest(wanted));
  });

  it.each([1, 2, 3, 4])('reads an addend and factors that begin %i elements into arrays', async (at) => {
    const from = async (size: number, seed: number): Promise<Lazy> =>
      (await stored([size + at], seed, 'float32')).slice([at, null]);
    const [a, b] = [(await from(M * K, 1)).reshape([M, K]), (await from(K * N, 2)).reshape([K, N])];
    const y = a.matmul(b).add((await from(M * N, 3)).reshape([M, N]));
    const wanted = await parts(y);
    const { lt, blas, kernels, x } = await callsOf(y);
    expect({ lt, blas, kernels }).toEqual({ lt: 1, blas: 0, kernels: 0 });
    expect(largest(x.map((value, k) => value - wanted[k]!))).toBeLessThan(1e-5);
  });

  it.each([
    ['float32', ({ a, b, bias }: Operands) => a.matmul(b).add(bias).relu()],
    ['float32', ({ a, b, c }: Operands) => a.matmul(b).mul(0.7).add(c.mul(0.3))],
    ['float16', ({ a, b, bias }: Operands) => a.matmul(b).add(bias).relu()],
    ['bfloat16', ({ a, b, c }: Operands) => a.matmul(b).mul(0.75).add(c)],
    ['float64', ({ a, b, c }: Operands) => a.matmul(b).mul(0.7).sub(c)],
  ] as const)(
    'is in each tile of a product of %s that is cut, with the bits of the whole',
    async (dtype, build) => {
      const y = build(await operandsOf(dtype, { m: 1026, k: 64, n: 64 }));
      const whole = await y.compute({ device });
      setFaults([]);
      const tiled = await y.compute({ device, memory: Math.floor(plan([y], { device }).peakBytes / 2) });
      expect(productCalls()).toBeGreaterThan(1);
      expect(describeSimulator().counts.cublasLtMatmul).toBe(productCalls());
      expect(tiled.data).toEqual(whole.data);
    },
  );

  it('is a kernel of its own where the product is cut in another way', async () => {
    const { a, b, bias } = await operandsOf('float32', { m: 600, k: 64, n: 600 });
    const y = a.matmul(b).add(bias).relu();
    const whole = await parts(y);
    setFaults([]);
    const { needed } = refusal(() => plan([y], { device, memory: 1 }));
    const tiled = await y.compute({ device, memory: needed.memory! });
    expect(describeSimulator().counts.cublasLtMatmul ?? 0).toBe(0);
    const found = await parts(lazy(tiled));
    expect(largest(found.map((value, k) => value - whole[k]!))).toBeLessThan(1e-4);
  });

  it('is in the body of a loop, and in the graphs of repeated runs', async () => {
    const w = await stored([N, N], 5, 'float32');
    const [x, bias] = [await stored([M, N], 6, 'float32'), await stored([N], 4, 'float32')];
    const last = iterate(6, x, (h) => h.matmul(w).mul(0.25).add(bias).relu());
    const wanted = await parts(last);
    for (let run = 0; run < 6; run++) {
      const found = await parts(lazy(await last.compute({ device })));
      expect(largest(found.map((value, k) => value - wanted[k]!))).toBeLessThan(1e-5);
    }
  });
});

function refusal(job: () => unknown): MemoryError {
  try {
    job();
  } catch (error) {
    if (error instanceof MemoryError) return error;
    throw error;
  }
  throw new Error('expected a refusal');
}

const keep = async (x: Lazy): Promise<Lazy> => lazy(await x.compute({ device: 'cpu' }));

describe('a call of cuBLASLt that fails', () => {
  const CALLS = [
    'cublasLtCreate',
    'cublasLtMatmulDescCreate',
    'cublasLtMatmulDescSetAttribute',
    'cublasLtMatrixLayoutCreate',
    'cublasLtMatrixLayoutSetAttribute',
    'cublasLtMatmulPreferenceCreate',
    'cublasLtMatmulPreferenceSetAttribute',
    'cublasLtMatmulAlgoGetHeuristic',
    'cublasLtMatmul',
  ];
  it.each(CALLS)('%s rejects with a typed error, and the next compute is right', async (call) => {
    const { a, b, bias } = await operands('float32');
    // Another problem for each, whose algorithm is not known yet.
    const y = a
      .slice([0, M - CALLS.indexOf(call)])
      .matmul(b)
      .add(bias)
      .relu();
    const wanted = await parts(y);
    let rejections = 0;
    for (const [status, error] of [
      [3, MemoryError],
      [13, DeviceError],
    ] as const) {
      if (call === 'cublasLtCreate' && (describeSimulator().devices[0]!.live.cublasLtHandles ?? 0) > 0)
        continue;
      setFaults([{ call, nth: 1, status }]);
      // While it is recorded for a graph, it is queued plainly instead.
      const outcome = await y.compute({ device }).catch((reason: unknown) => reason);
      setFaults([]);
      if (outcome instanceof Error) {
        rejections++;
        expect(outcome).toBeInstanceOf(error);
      } else
        expect(largest((await parts(lazy(outcome as NDArray))).map((v, k) => v - wanted[k]!))).toBeLessThan(
          1e-5,
        );
    }
    const found = await parts(lazy(await y.compute({ device })));
    if (call !== 'cublasLtCreate') expect(rejections).toBeGreaterThan(0);
    expect(largest(found.map((value, k) => value - wanted[k]!))).toBeLessThan(1e-5);
    clearPrograms();
  });
});
