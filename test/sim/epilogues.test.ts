/**
 * Products with epilogues: scaled, added to, activated or cast as one call of cuBLASLt, where nothing else
 * reads the bare product; with other bits only by rounding.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { clearPrograms } from '../../src/exec/run/program.js';
import { DeviceError, MemoryError } from '../../src/host/errors.js';
import { type DType, iterate, type Lazy, lazy, type NDArray } from '../../src/index.js';
import { describeSimulator, setFaults, takeProblems } from './simulator.js';

const [M, K, N] = [24, 20, 9];
const device = 'cuda';

const wave = (length: number, seed: number): Float64Array =>
  Float64Array.from({ length }, (_, i) => Math.sin(seed + 0.7 * i));
const matrix = (shape: readonly number[], seed: number, dtype: DType): Lazy =>
  lazy({
    data: wave(
      shape.reduce((a, b) => a * b, 1),
      seed,
    ),
    shape: [...shape],
  }).astype(dtype);

/** Stored on the device, so that no cast is left in the graph. */
async function stored(shape: readonly number[], seed: number, dtype: DType): Promise<Lazy> {
  return lazy(await matrix(shape, seed, dtype).compute({ device: 'cpu' }));
}

interface Operands {
  readonly a: Lazy;
  readonly b: Lazy;
  readonly c: Lazy;
  readonly bias: Lazy;
}

async function operands(dtype: DType): Promise<Operands> {
  return {
    a: await stored([M, K], 1, dtype),
    b: await stored([K, N], 2, dtype),
    c: await stored([M, N], 3, dtype),
    bias: await stored([N], 4, dtype),
  };
}

const FORMS: Readonly<Record<string, (o: Operands) => Lazy>> = {
  'alpha 2.5': ({ a, b }) => a.matmul(b).mul(2.5),
  'alpha -3, of an operand': ({ a, b }) => a.mul(-3).matmul(b),
  '+ addend': ({ a, b, c }) => a.matmul(b).add(c),
  'alpha 2, + 0.5 addend': ({ a, b, c }) => c.mul(0.5).add(a.matmul(b).mul(2)),
  '+ -1 addend': ({ a, b, c }) => a.matmul(b).sub(c),
  '+ bias': ({ a, b, bias }) => a.matmul(b).add(bias),
  '+ bias, relu': ({ a, b, bias }) => a.matmul(b).add(bias).relu(),
  '+ addend, + bias, relu': ({ a, b, c, bias }) => a.matmul(b).add(c).add(bias).maximum(0),
  '+ bias, gelu': ({ a, b, bias }) => a.matmul(b).add(bias).gelu({ approximate: 'tanh' }),
  'alpha 0.25, gelu': ({ a, b }) => a.matmul(b).mul(0.25).gelu({ approximate: 'tanh' }),
  'of transposed operands, + bias': ({ a, b, bias }) =>
    a
      .reshape([K, M])
      .T.matmul(b.reshape([N, K]).T)
      .add(bias),
  'of stacks, + bias, relu': ({ a, b, bias }) =>
    a
      .reshape([3, 8, K])
      .matmul(b)
      .add(bias.reshape([1, N]))
      .relu(),
  'of batches, + bias': ({ a, c }) =>
    a
      .reshape([2, 12, K])
      .matmul(a.reshape([2, K, 12]))
      .add(c.reshape([18, 12]).slice([0, 1])),
};
const ROUNDED: Readonly<Partial<Record<DType, number>>> = {
  float16: 2 ** -8,
  bfloat16: 2 ** -5,
  float32: 1e-5,
  float64: 1e-13,
  complex64: 1e-5,
  complex128: 1e-13,
};
const HAVE_ACTIVATIONS: readonly DType[] = ['float32', 'float16', 'bfloat16'];

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
/** Real and imaginary parts. */
async function parts(x: Lazy): Promise<number[]> {
  const { data } = await x.astype('complex128').compute({ device: 'cpu' });
  return [...(data as Float64Array)];
}
const largest = (numbers: readonly number[]): number => numbers.reduce((a, b) => Math.max(a, Math.abs(b)), 0);

afterEach(() => {
  setFaults([]);
  expect(takeProblems()).toEqual([]);
});

describe.each(Object.keys(ROUNDED) as DType[])('a product of %s', (dtype) => {
  const forms = Object.entries(FORMS).filter(
    ([name]) => HAVE_ACTIVATIONS.includes(dtype) || !/bias|relu|gelu/.test(name),
  );
  it.each(forms)('%s is one call, with the values of the CPU', async (_, build) => {
    const built = build(await operands(dtype));
    const { lt, blas, x } = await callsOf(built);
    expect({ lt, blas }).toEqual({ lt: 1, blas: 0 });
    const wanted = await parts(built);
    const error = largest(x.map((value, k) => value - wanted[k]!));
    expect(error).toBeLessThan(ROUNDED[dtype]! * largest(wanted));
  });
});

describe('an epilogue', () => {
  it('leaves no kernel beside the product', async () => {
    const { a, b, bias } = await operands('float32');
    expect(await callsOf(a.matmul(b).add(bias).relu())).toMatchObject({ lt: 1, blas: 0, kernels: 0 });
    expect(await callsOf(a.matmul(b).add(bias).gelu({ approximate: 'tanh' }))).toMatchObject({ kernels: 0 });
  });

  it('is a kernel where another node reads the bare product', async () => {
    const { a, b, bias } = await operands('float32');
    const product = a.matmul(b);
    const { lt, blas, kernels } = await callsOf(product.add(bias).relu().add(product.sum(0)));
    expect({ lt, blas }).toEqual({ lt: 0, blas: 1 });
    expect(kernels).toBeGreaterThan(0);
  });

  it('keeps the gelu of erf a kernel, which is another function', async () => {
    const { a, b, bias } = await operands('float32');
    const text = String(await a.matmul(b).add(bias).gelu().explain({ device }));
    expect(text).toContain('float32, + bias, computed in full float32 by cuBLASLt');
    expect(text).not.toMatch(/, gelu/);
  });

  it('keeps a NaN that relu is given, and infinities', async () => {
    const { b } = await operands('float32');
    const data = new Float32Array(M * K).fill(0);
    data[0] = Number.NaN;
    data[K] = Number.POSITIVE_INFINITY;
    const ones = b.mul(0).add(1);
    const y = await lazy({ data, shape: [M, K] })
      .matmul(await keep(ones))
      .relu()
      .compute({ device });
    expect(y.data[0]).toBeNaN();
    expect(y.data[N]).toBe(Number.POSITIVE_INFINITY);
    expect(y.data[2 * N]).toBe(0);
  });

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

  it('is a kernel of its own where the product is cut into tiles', async () => {
    const [a, b] = [await stored([1024, 64], 1, 'float32'), await stored([64, 64], 2, 'float32')];
    const bias = await stored([64], 3, 'float32');
    const y = a.matmul(b).add(bias).relu();
    const whole = await parts(y);
    const tiled = await y.compute({ device, memory: 300_000 });
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
