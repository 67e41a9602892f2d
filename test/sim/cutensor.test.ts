/**
 * Contractions by cuTENSOR: where a matrix product would need copies of its operands, one call reads them where
 * they lie, with conjugates, factors and addends; and the library can be chosen.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { clearPrograms } from '../../src/exec/run/program.js';
import { isComplex } from '../../src/graph/dtype.js';
import { DeviceError, DTypeError } from '../../src/host/errors.js';
import { type DType, type EinsumOptions, einsum, iterate, type Lazy, lazy } from '../../src/index.js';
import { largest, parts, ROUNDED, stored } from '../support/epilogue-forms.js';
import { TENSOR_FORMS } from '../support/tensor-contractions.js';
import { describeSimulator, setFaults, takeProblems } from './simulator.js';

const device = 'cuda';
const DTYPES = Object.keys(ROUNDED) as DType[];
/** Those that are given to cuTENSOR only where a product asks for it. */
const asked = (dtype: DType): EinsumOptions => (dtype === 'bfloat16' ? { library: 'cutensor' } : {});
const [, FORM] = TENSOR_FORMS as [unknown, (typeof TENSOR_FORMS)[number]];

/** An array in memory; of complex numbers with imaginary parts. */
async function array(shape: readonly number[], seed: number, dtype: DType): Promise<Lazy> {
  if (!isComplex(dtype)) return stored(shape, seed, dtype);
  const [re, im] = [await stored(shape, seed, 'float64'), await stored(shape, seed + 0.5, 'float64')];
  return lazy(
    await re
      .add(im.mul({ re: 0, im: 1 }))
      .astype(dtype)
      .compute({ device: 'cpu' }),
  );
}

const operandsOf = async ({ left, right }: typeof FORM, dtype: DType): Promise<[Lazy, Lazy]> => [
  await array(left, 1, dtype),
  await array(right, 2, dtype),
];

/** Calls of a run. */
async function callsOf(x: Lazy, memory?: number) {
  setFaults([]);
  const found = await x.compute(memory === undefined ? { device } : { device, memory });
  const { counts } = describeSimulator();
  const of = (...names: string[]): number => names.reduce((sum, name) => sum + (counts[name] ?? 0), 0);
  return {
    tensor: of('cutensorContract'),
    blas: of('cublasGemmEx', 'cublasGemmStridedBatchedEx', 'cublasLtMatmul'),
    kernels: of('cuLaunchKernel'),
    x: await parts(lazy(found)),
  };
}

/** The error of a device's values beside the CPU's, as a part of the largest. */
async function errorOf(x: readonly number[], built: Lazy): Promise<number> {
  const wanted = await parts(built);
  return largest(x.map((value, k) => value - wanted[k]!)) / largest(wanted);
}

afterEach(() => {
  setFaults([]);
  expect(takeProblems()).toEqual([]);
});

describe.each(DTYPES)('a contraction of %s', (dtype) => {
  it.each(TENSOR_FORMS)('$subscripts is one call without copies', async (form) => {
    const operands = await operandsOf(form, dtype);
    const { tensor, blas, kernels, x } = await callsOf(einsum(form.subscripts, ...operands, asked(dtype)));
    expect({ tensor, blas, kernels }).toEqual({ tensor: 1, blas: 0, kernels: 0 });
    expect(await errorOf(x, einsum(form.subscripts, ...operands))).toBeLessThan(ROUNDED[dtype]!);
  });

  it('is scaled and added to in the call', async () => {
    const operands = await operandsOf(FORM, dtype);
    const addend = await array([12, 11], 3, dtype);
    const built = (options: EinsumOptions): Lazy =>
      einsum(FORM.subscripts, ...operands, options)
        .mul(2)
        .sub(addend);
    const { tensor, blas, kernels, x } = await callsOf(built(asked(dtype)));
    expect({ tensor, blas, kernels }).toEqual({ tensor: 1, blas: 0, kernels: 0 });
    expect(await errorOf(x, built({}))).toBeLessThan(ROUNDED[dtype]!);
  });
});

describe.each(['complex64', 'complex128'] as const)('conjugates of %s', (dtype) => {
  it('are taken in the call, of either operand and through views', async () => {
    const [a, b] = await operandsOf({ ...FORM, right: [5, 4, 3, 11] }, dtype);
    const turned = b.conj().transpose([1, 2, 3, 0]);
    for (const built of [
      einsum(FORM.subscripts, a.conj(), turned),
      einsum('abcd,dbea->ce', a, turned),
      einsum('ij,kj->ik', a.reshape([15, 48]), a.reshape([15, 48]).conj()),
    ]) {
      const { tensor, kernels, x } = await callsOf(built);
      expect({ tensor, kernels }).toEqual({ tensor: 1, kernels: 0 });
      expect(await errorOf(x, built)).toBeLessThan(ROUNDED[dtype]!);
    }
  });

  it('that something else reads are stored', async () => {
    const [a, b] = await operandsOf(FORM, dtype);
    const conjugates = a.conj();
    const built = einsum(FORM.subscripts, conjugates, b).add(conjugates.sum());
    const { kernels, x } = await callsOf(built);
    expect(kernels).toBeGreaterThan(0);
    expect(await errorOf(x, built)).toBeLessThan(ROUNDED[dtype]!);
  });
});

describe('a contraction by cuTENSOR', () => {
  const build = async (options: EinsumOptions = {}, dtype: DType = 'float32'): Promise<Lazy> =>
    einsum(FORM.subscripts, ...(await operandsOf(FORM, dtype)), options);

  it('is in the precision that is asked for', async () => {
    const wanted = await parts(await build({}, 'float64'));
    const errorIn = async (options: EinsumOptions): Promise<number> => {
      const { tensor, x } = await callsOf(await build(options));
      expect(tensor).toBe(1);
      return largest(x.map((value, k) => value - wanted[k]!)) / largest(wanted);
    };
    const [full, tf32, split] = [
      await errorIn({}),
      await errorIn({ precision: 'tf32' }),
      await errorIn({ precision: 'tf32x3' }),
    ];
    expect(tf32).toBeGreaterThan(100 * full);
    expect(split).toBeLessThan(10 * full);
  });

  it('has the same bits in tiles, and each time', async () => {
    const left = await array([40, 8, 30, 16], 1, 'float32');
    const right = await array([8, 16, 6, 30], 2, 'float32');
    const built = einsum('cbad,bdea->ce', left, right, { library: 'cutensor' });
    const whole = await callsOf(built);
    const { x, tensor } = await callsOf(built, 700_000);
    expect(whole.tensor).toBe(1);
    expect(tensor).toBeGreaterThan(1);
    expect(x).toEqual(whole.x);
  });

  it.each<[string, string, number[], number[]]>([
    ['free in the middle of the result', 'xab,xbc->xac', [2, 90, 40], [2, 40, 70]],
    ['last in the result', 'ab,bc->ac', [3, 300], [300, 400]],
    ['of a batch behind others', 'bqhd,bkhd->bhqk', [2, 40, 12, 16], [2, 30, 12, 16]],
    ['first in an operand, last in the result', 'cab,abd->dc', [100, 12, 20], [12, 20, 30]],
  ])('is cut along a label that is %s', async (_, subscripts, left, right) => {
    const operands = [await array(left, 1, 'float32'), await array(right, 2, 'float32')] as const;
    const built = einsum(subscripts, ...operands, { library: 'cutensor' });
    const whole = await callsOf(built);
    const memory = Math.floor(0.62 * built.explain({ device }).peakBytes);
    const found = await callsOf(built, memory);
    expect(found.tensor).toBeGreaterThan(1);
    expect(found.x).toEqual(whole.x);
    expect(built.explain({ device, memory }).peakBytes).toBeLessThanOrEqual(memory);
  });

  it('keeps its plan: of equal problems one is made', async () => {
    clearPrograms();
    const [a, b] = await operandsOf({ ...FORM, left: [5, 3, 14, 4] }, 'float64');
    for (let run = 0; run < 3; run++) {
      const { tensor } = await callsOf(einsum(FORM.subscripts, a, b));
      expect(tensor).toBe(1);
      expect(describeSimulator().counts.cutensorCreatePlan ?? 0).toBe(run === 0 ? 1 : 0);
    }
  });

  it('runs in a loop, and as a part of a CUDA graph', async () => {
    const [a] = await operandsOf({ ...FORM, left: [6, 5, 6, 5] }, 'float32');
    const built = iterate(3, a, (x) => einsum('abcd,cdef->ebaf', x, x).mul(0.01));
    const { x } = await callsOf(built);
    for (let run = 0; run < 5; run++) expect((await callsOf(built)).x).toEqual(x);
    expect(await errorOf(x, built)).toBeLessThan(1e-4);
  });

  it('is said by explain() with its reason', async () => {
    const text = String(await (await build()).explain({ device }));
    expect(text).toMatch(
      /[a-e]{4},[a-e]{4}->ab by cuTENSOR without the copies of [\d.]+ KiB that a matrix product needs: [\d.]+ µs against/,
    );
    expect(text).toMatch(
      /contraction float32 .* by cuTENSOR where the operands lie, computed in full float32/,
    );
    const { passes } = (await (await build()).explain({ device })).toJSON();
    const [choice] = passes.flatMap(({ choices }) => choices);
    expect(choice).toMatchObject({ subscripts: 'cdae,edbc->ab', library: 'cutensor', copiedBytes: 0 });
  });

  it('is left to cuBLAS where nothing would be copied', async () => {
    const [a, b] = [await array([20, 16], 1, 'float32'), await array([16, 12], 2, 'float32')];
    expect(await callsOf(a.matmul(b))).toMatchObject({ tensor: 0, blas: 1, kernels: 0 });
  });

  it('ends cleanly whatever call of it fails, and the next is right', async () => {
    const built = await build({}, 'complex64');
    const { x } = await callsOf(built);
    let size = 20;
    for (const call of [
      'cutensorCreateTensorDescriptor',
      'cutensorCreateContraction',
      'cutensorCreatePlanPreference',
      'cutensorEstimateWorkspaceSize',
      'cutensorCreatePlan',
      'cutensorContract',
    ]) {
      for (const status of [3, 13]) {
        // A problem that was not planned before.
        const [a, b] = await operandsOf({ ...FORM, left: [5, 3, size++, 4] }, 'complex64');
        const fresh = einsum(FORM.subscripts, a, b);
        setFaults([{ call, nth: 1, status }]);
        const running = fresh.compute({ device });
        // Of want of memory, what is free is given back, and the run is made again.
        if (status === 3) await running;
        else await expect(running).rejects.toThrow(/cuTENSOR failed.*CUTENSOR_STATUS_EXECUTION_FAILED/s);
        expect(describeSimulator().faultsMet).toBe(1);
        setFaults([]);
        expect(await errorOf((await callsOf(fresh)).x, fresh)).toBeLessThan(1e-4);
      }
    }
    expect((await callsOf(built)).x).toEqual(x);
  });
});

describe('a library that is asked for', () => {
  const matrices = async (): Promise<[Lazy, Lazy]> => [
    await array([20, 16], 1, 'float32'),
    await array([16, 12], 2, 'float32'),
  ];

  it('computes the product, whatever would be faster', async () => {
    const [a, b] = await matrices();
    const callsBy = async (library: 'cutensor' | 'cublas' | 'weft') => {
      const { tensor, blas, kernels } = await callsOf(a.matmul(b, { library }));
      return { tensor, blas, kernels };
    };
    expect(await callsBy('cutensor')).toEqual({ tensor: 1, blas: 0, kernels: 0 });
    expect(await callsBy('cublas')).toEqual({ tensor: 0, blas: 1, kernels: 0 });
    expect(await callsBy('weft')).toEqual({ tensor: 0, blas: 0, kernels: 1 });
    expect(String(await a.matmul(b, { library: 'weft' }).explain({ device }))).not.toContain('cuBLAS');
  });

  it('has copies made where it needs them', async () => {
    const [a, b] = await operandsOf(FORM, 'float32');
    const built = einsum(FORM.subscripts, a, b, { library: 'cublas' });
    const { tensor, blas, kernels, x } = await callsOf(built);
    expect({ tensor, blas }).toEqual({ tensor: 0, blas: 1 });
    expect(kernels).toBeGreaterThan(0);
    expect(await errorOf(x, einsum(FORM.subscripts, a, b))).toBeLessThan(1e-5);
    expect(String(await built.explain({ device }))).toMatch(/by cuBLAS as asked, [\d.]+ KiB copied/);
  });

  it('is a DeviceError at the line of the product where the device lacks it', async () => {
    const [a, b] = await matrices();
    const computing = a.matmul(b, { library: 'cublas' }).sum().compute({ device: 'cpu' });
    await expect(computing).rejects.toBeInstanceOf(DeviceError);
    await expect(computing).rejects.toThrow(
      /library 'cublas', which the product 'ab,bc->ac' asks for: cpu has 'weft'.*for what was made at .*cutensor\.test\.ts/s,
    );
    await a.matmul(b, { library: 'weft' }).compute({ device: 'cpu' });
  });

  it('is a DTypeError for products that it does not have', () => {
    const integers = lazy({ data: new Int32Array(16), shape: [4, 4] });
    expect(() => integers.matmul(integers, { library: 'cutensor' })).toThrow(DTypeError);
    expect(() => einsum('ij->i', integers, { library: 'cublas' })).toThrow(DTypeError);
    // @ts-expect-error no such library
    expect(() => integers.matmul(integers, { library: 'mkl' })).toThrow("'cutensor' or 'cublas' or 'weft'");
  });

  it('leaves products of nothing, of a vector, and those that sum nothing, to kernels', async () => {
    const empty = lazy({ data: new Float32Array(0), shape: [3, 0] });
    const zeros = await callsOf(einsum('ij,kj->ik', empty, empty, { library: 'cutensor' }));
    expect(zeros).toMatchObject({ tensor: 0, x: Array(18).fill(0) });
    const [a] = await matrices();
    for (const subscripts of ['ij,ij->ij', 'ij,ij->i', 'ij,ij->'])
      expect(await callsOf(einsum(subscripts, a, a, { library: 'cutensor' }))).toMatchObject({ tensor: 0 });
  });
});
