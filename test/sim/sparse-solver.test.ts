/**
 * Direct solves by cuDSS: factors on the simulated GPU, solves as steps of programs, factors that are of no use, budgets,
 * and whichever call of the library fails.
 */
import { setTimeout } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { arange } from '../../src/api/ranges.js';
import { SparseMatrix } from '../../src/api/sparse-matrix.js';
import { type CudaInfo, collectGarbage, cudaInfo } from '../../src/exec/native/native.js';
import {
  compile,
  type DType,
  iterate,
  type Lazy,
  LinalgError,
  lazy,
  MemoryError,
  sparse,
} from '../../src/index.js';
import { cudssFinding } from '../../src/inspect/cuda-findings.js';
import { describeSimulator, setFaults, takeProblems } from './simulator.js';

const device = 'cuda';
afterEach(() => setFaults([]));

const poisson = (side: number): SparseMatrix => {
  const line = sparse.diags([-1, 2, -1], [-1, 0, 1], [side, side]);
  return sparse.kron(line, sparse.eye(side)).add(sparse.kron(sparse.eye(side), line));
};
const DTYPES: readonly DType[] = ['float32', 'complex128'];
/** A matrix that no kernel of the simulated GPU has to make. */
async function made(a: SparseMatrix): Promise<SparseMatrix> {
  const { indptr, indices, data } = await a.compute({ device: 'cpu' });
  const [starts, places, values] = [indptr, indices, data].map((line) => lazy(line).expr);
  const form = { isCanonical: true, isGiven: false };
  return new SparseMatrix({ shape: a.shape, starts: starts!, places: places!, values: values!, ...form });
}
const matrixOf = (dtype: DType): Promise<SparseMatrix> => {
  const a = poisson(4).astype(dtype);
  const next = sparse.eye(16, 16, 1, { dtype });
  return made(dtype.startsWith('complex') ? a.add(next.multiply({ re: 0, im: 0.5 })) : a.add(next));
};
const executions = (): number => describeSimulator().counts.cudssExecute ?? 0;

async function errorOf(a: SparseMatrix, x: Lazy, b: Lazy, on = device): Promise<number> {
  return Number((await a.matmul(x).subtract(b).abs().max().compute({ device: on })).item());
}

describe('factors by cuDSS', () => {
  it.each(DTYPES)('solve systems of %s with one right-hand side and with several', async (dtype) => {
    setFaults([]);
    const a = await matrixOf(dtype);
    const solve = await sparse.factorized(a, { device });
    // An analysis, factors, and the solve that tries them.
    expect(executions()).toBe(3);
    const one = arange(16).sin().astype(dtype);
    const several = arange(48).cos().astype(dtype).reshape([16, 3]);
    const most = dtype === 'float32' || dtype === 'complex64' ? 1e-5 : 1e-13;
    for (const b of [one, several]) {
      const x = solve(b);
      expect([x.dtype, x.shape]).toEqual([dtype, b.shape]);
      expect(await errorOf(a, x, b)).toBeLessThan(most);
    }
    expect((await solve(several.slice([], [0, 0])).compute({ device })).shape).toEqual([16, 0]);
  });

  it('meet right-hand sides of other dtypes as the factors of the CPU do', async () => {
    const a = await matrixOf('float32');
    for (const b of [
      arange(16),
      arange(16).astype('complex128').multiply({ re: 1, im: 2 }),
      arange(16).astype('int8'),
    ]) {
      const [gpu, cpu] = await Promise.all(
        [device, 'cpu'].map((each) => sparse.spsolve(a, b, { device: each })),
      );
      expect(gpu!.dtype).toBe(cpu!.dtype);
      const off = (await gpu!.compute({ device })).data as Float64Array;
      const same = (await cpu!.compute({ device: 'cpu' })).data as Float64Array;
      for (const [k, value] of off.entries()) expect(value).toBeCloseTo(same[k]!, 3);
    }
  });

  it('are kept for later solves, in compiled functions and in loops', async () => {
    const a = await matrixOf('float64');
    const solve = await sparse.factorized(a, { device });
    const step = compile((b: Lazy) => solve(b.multiply(2)).add(1), { device });
    setFaults([]);
    const first = await step(arange(16));
    for (let run = 0; run < 6; run++) expect((await step(arange(16))).data).toEqual(first.data);
    expect(executions()).toBe(7);
    const looped = iterate(3, lazy(new Float64Array(16).fill(1)), (x) => solve(x));
    const unrolled = solve(solve(solve(lazy(new Float64Array(16).fill(1)))));
    expect((await looped.compute({ device })).data).toEqual((await unrolled.compute({ device })).data);
  });

  it('of Cholesky read the lower triangle of a matrix that is positive definite', async () => {
    for (const dtype of ['float64', 'complex128'] as const) {
      const complex = dtype.startsWith('complex');
      const skew = sparse.eye(16, 16, -1, { dtype }).multiply(complex ? { re: 0, im: 0.5 } : 0.5);
      const sum = poisson(4)
        .astype(dtype)
        .add(skew)
        .add(complex ? skew.T.conj() : skew.T);
      const a = await made(sum.add(sparse.eye(16)));
      const lower = await made(a.tril().add(sparse.eye(16, 16, 3)));
      const b = arange(32).sin().astype(dtype).reshape([16, 2]);
      for (const each of dtype === 'float64' ? [device] : [device, 'cpu']) {
        const factor = await sparse.cholesky(lower, { device: each });
        expect(factor.shape).toEqual([16, 16]);
        expect(await errorOf(a, factor.solve(b), b, each)).toBeLessThan(1e-4);
      }
    }
  });

  it('that are of no use are left to the CPU, which finds singular matrices', async () => {
    const singular = [
      sparse.fromDense([
        [1, 2],
        [2, 4],
      ]),
      sparse.diags([[1, Number.NaN]]),
    ];
    for (const a of singular) {
      const failed = sparse.spsolve(a, new Float64Array(a.shape[0]), { device });
      await expect(failed).rejects.toThrow(LinalgError);
      await expect(failed).rejects.toThrow(/\[sparse.spsolve\] expected a matrix that is not singular/);
    }
    for (const a of [
      sparse.diags([[1, 0]]),
      sparse.fromDense([
        [1, 2],
        [2, 1],
      ]),
    ])
      for (const each of [device, 'cpu'])
        await expect(sparse.cholesky(a, { device: each })).rejects.toThrow(
          '[sparse.cholesky] expected a matrix that is positive definite',
        );
  });

  it('take no more of the device than they may', async () => {
    const a = await poisson(4).persist({ device });
    await expect(sparse.factorized(a, { device, memory: 6000 })).rejects.toThrow(
      /factors of a sparse matrix take about 8192 bytes of the device, more than the 6000 that they may/,
    );
    await expect(sparse.factorized(a, { device, memory: 6000 })).rejects.toThrow(MemoryError);
  });

  it('are made by the CPU where the order is chosen, and where L and U are wanted', async () => {
    setFaults([]);
    const a = await matrixOf('float64');
    await sparse.factorized(a, { device, order: 'rcm' });
    await sparse.splu(a, { device });
    expect(executions()).toBe(0);
  });

  it('solve on their GPU alone', async () => {
    const x = await sparse.spsolve(await matrixOf('float64'), arange(16), { device: 'cuda:0' });
    for (const other of ['cuda:1', 'cpu'])
      await expect(x.compute({ device: other })).rejects.toThrow(
        `device arrays on '${other}': an array on 'cuda:0'`,
      );
  });

  it('leave nothing behind whichever call fails, the first or one of a later solve', async () => {
    const a = await matrixOf('float64');
    const solved = async (): Promise<void> => {
      const x = await sparse.spsolve(a, arange(16), { device });
      await x.compute({ device });
    };
    setFaults([]);
    await solved();
    const { counts } = describeSimulator();
    const calls = Object.keys(counts).filter((call) => call.startsWith('cudss') && !call.endsWith('Destroy'));
    expect(calls.length).toBe(9);
    // The calls that make a device's handle: the next solve tries again.
    for (const call of ['cudssCreate', 'cudssSetDeviceMemHandler', 'cudssSetThreadingLayer']) {
      setFaults([{ call, nth: 1, status: 5 }]);
      const failed = sparse.spsolve(a, arange(16), { device: 'cuda:1' });
      await expect(failed, call).rejects.toThrow(/cuDSS failed.*CUDSS_STATUS_EXECUTION_FAILED/s);
    }
    setFaults([]);
    await sparse.spsolve(a, arange(16), { device: 'cuda:1' });
    for (const call of calls)
      for (const nth of new Set([1, counts[call]!])) {
        setFaults([{ call, nth, status: 5 }]);
        await expect(solved(), `${call} ${nth}`).rejects.toThrow(
          /cuDSS failed.*CUDSS_STATUS_EXECUTION_FAILED/s,
        );
      }
    setFaults([]);
    await solved();
    expect(takeProblems()).toEqual([]);
  });

  it('have their unknowns ordered by threads of the host, as the doctor says', async () => {
    const info = cudaInfo();
    const { cudss } = info;
    expect(cudss!.threads).toMatch(/libcudss_mtlayer_gomp\.so$/);
    const value = (threads: string | null, triedThreads: readonly string[] = []) =>
      cudssFinding({ ...info, cudss: { ...cudss!, threads, triedThreads } } as CudaInfo);
    expect(value(cudss!.threads)).toEqual({
      area: 'gpu',
      name: 'cuDSS',
      status: 'found',
      value: `1.0, ${cudss!.path}, unknowns ordered by threads of ${cudss!.threads}`,
    });
    expect(value(null).value).toMatch(/by one thread: libcudss_mtlayer_gomp\.so\.1 is not beside it$/);
    expect(value(null, ['a: no libgomp.so.1'])).toMatchObject({
      value: expect.stringMatching(/does not load$/) as string,
      tried: ['a: no libgomp.so.1'],
    });
  });

  it('and their descriptors end with the functions that solve', async () => {
    for (let wait = 0; wait < 100 && describeSimulator().live.cudssDescriptors !== 0; wait++) {
      collectGarbage();
      await setTimeout(10);
    }
    expect(describeSimulator().live.cudssDescriptors).toBe(0);
  });
});
