/**
 * Sparse matrices and iterative solvers, resident, in milliseconds: `node dist/bench/sparse-solvers.js
 * [--device cuda] [--only name,name] [--scale small] [--repeats 5] [--file out]` prints a JSON line for each, with
 * the sum of the result. Names and sizes are those of the peers' benchmarks; matrices are drawn anew.
 */
import { appendFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import {
  arange,
  compute,
  type Lazy,
  ones,
  persist,
  random,
  type SparseMatrix,
  sparse,
  synchronize,
} from '../src/index.js';
import { median, now, toPrecision } from './statistics.js';

interface Work {
  readonly shape: readonly number[];
  /** Solves once; gives a number of the result. */
  readonly run: () => Promise<number>;
}

/** The five-point Laplacian of a square, float64, resident. */
function laplacian(side: number, device: string): Promise<SparseMatrix> {
  const line = sparse.diags([-1, 2, -1], [-1, 0, 1], [side, side]);
  const identity = sparse.eye(side);
  return sparse.kron(line, identity).add(sparse.kron(identity, line)).persist({ device });
}

/** A sparse function of the Laplacian, all three lines of its result. */
async function ofLaplacian(
  side: number,
  device: string,
  of: (a: SparseMatrix, squared: SparseMatrix) => SparseMatrix,
): Promise<Work> {
  const matrix = await laplacian(side, device);
  const squared = await matrix.matmul(matrix).persist({ device });
  const run = async (): Promise<number> => {
    const { data, indices, indptr } = of(matrix, squared);
    const lines = await persist([data, indices, indptr], { device });
    await synchronize(device);
    const total = await lines[0].sum().compute({ device });
    for (const each of lines) each.dispose();
    return Number(total.item());
  };
  return { shape: [side * side], run };
}

/** A direct solve with the Laplacian: its factors, which the CPU makes, and two triangles. */
async function direct(side: number, device: string): Promise<Work> {
  const matrix = await laplacian(side, device);
  const run = async (): Promise<number> => {
    const x = await sparse.spsolve(matrix, ones([side * side]), { device });
    return Number((await x.sum().compute({ device })).item());
  };
  return { shape: [side * side], run };
}

/** 200 steps of conjugate gradients for the Laplacian. */
async function poisson(side: number, device: string): Promise<Work> {
  const matrix = await laplacian(side, device);
  const [b] = await persist([ones([side * side])], { device });
  const run = async (): Promise<number> => {
    const { x, iterations } = sparse.cg(matrix, b, { maxiter: 200 });
    const [steps] = await compute([iterations, x.sum()], { device });
    return Number(steps.item());
  };
  return { shape: [side * side, 200], run };
}

/** Rows with random columns, in order, and uniform elements. */
function randomMatrix(side: number, each: number): SparseMatrix {
  const keys = random.split(random.key(1), 2);
  const indices = random
    .integers(keys[0]!, [side, each], 0, side)
    .astype('int32')
    .sort(1)
    .reshape([side * each]);
  const data = random.uniform(keys[1]!, [side * each], { dtype: 'float32' });
  const indptr = arange(side + 1)
    .mul(each)
    .astype('int32');
  return sparse.csr({ data, indices, indptr }, [side, side]);
}

/** The L-curve of a ridge regression: ten dampings, and the norm of each residual. */
async function ridge(side: number, device: string): Promise<Work> {
  const matrix = await randomMatrix(side, side / 10).persist({ device });
  const [b] = await persist([random.normal(random.key(2), [side], { mean: 3 })], { device });
  const damp = Array.from({ length: 10 }, (_, k) => 0.1 * 5e4 ** (k / 9));
  const run = async (): Promise<number> => {
    const { x } = sparse.lsmr(matrix, b, { damp });
    const off: Lazy = matrix.matmul(x.T).sub(b.reshape([side, 1]));
    const [norms] = await compute([off.square().sum(0).sqrt().sum()], { device });
    return Number(norms.item());
  };
  return { shape: [side, side, 10], run };
}

function works(isSmall: boolean, device: string): Readonly<Record<string, () => Promise<Work>>> {
  const size = <T>(full: T, small: T): T => (isSmall ? small : full);
  return {
    cg_poisson: () => poisson(size(2048, 64), device),
    sparse_matmul: () => ofLaplacian(size(1024, 64), device, (a) => a.matmul(a)),
    sparse_add: () => ofLaplacian(size(1024, 64), device, (a, squared) => a.add(squared)),
    sparse_transpose: () => ofLaplacian(size(1024, 64), device, (a) => a.T),
    sparse_solve: () => direct(size(256, 32), device),
    ridge_lsmr: () => ridge(size(15_000, 500), device),
  };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      device: { type: 'string', default: 'cpu' },
      only: { type: 'string' },
      scale: { type: 'string', default: 'full' },
      repeats: { type: 'string', default: '5' },
      file: { type: 'string' },
    },
  });
  const { device, file } = values;
  const all = works(values.scale === 'small', device);
  for (const workload of values.only?.split(',') ?? Object.keys(all)) {
    const { shape, run } = await all[workload]!();
    const times: number[] = [];
    let checksum = 0;
    for (let k = 0; k <= Number(values.repeats); k++) {
      const start = now();
      checksum = await run();
      times.push(now() - start);
    }
    const [first, ...warm] = times;
    const line = JSON.stringify({
      workload,
      peer: 'weft',
      shape,
      ms_median: toPrecision(median(warm), 6),
      ms_min: toPrecision(Math.min(...warm), 6),
      first_ms: toPrecision(first!, 4),
      checksum: toPrecision(checksum, 10),
      device,
    });
    console.log(line);
    if (file !== undefined) appendFileSync(file, `${line}\n`);
  }
}

await main();
