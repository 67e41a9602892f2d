/**
 * Factors of sparse matrices that cuDSS makes on a GPU, and solves with them, which are nodes. Called by
 * `sparse-direct.ts` and `sparse-cholesky.ts`, which have the CPU make factors where this gives none.
 */
import { cudaInfo, factorSparse, probeCudss } from '../exec/native/native.js';
import { budgetsOf } from '../exec/run/budgets.js';
import { type ComputeOptions, checkComputeOptions } from '../exec/run/compute-options.js';
import type { Device } from '../exec/targets/device.js';
import { chooseDevices, probeFor, probeForAll } from '../exec/targets/devices.js';
import { fromParts } from '../graph/complex-parts.js';
import { type DType, dtypeCode, isComplex, isHalf, promote } from '../graph/dtype.js';
import { type DeviceBuffer, type Expr, holdersOf } from '../graph/expr.js';
import { deviceArray } from '../graph/infer.js';
import type { SparseParts } from '../graph/sparse.js';
import { directSolution, type FactorsOnGpu } from '../graph/sparse-solve.js';
import { compute } from './compute.js';
import { Lazy } from './lazy.js';
import { arange } from './ranges.js';
import type { SparseMatrix } from './sparse-matrix.js';

/** X of A X = B, for right-hand sides of shape (n) or (n, k) that were checked. */
export type DirectSolve = (right: Lazy) => Lazy;

interface Factoring {
  /** Whether the matrix is Hermitian and positive definite, where it is so: then its lower triangle is factored. */
  readonly isPositive: boolean;
  readonly options: ComputeOptions;
}

/** Factors, where they are good. */
export type GpuFactors =
  | { readonly solve: DirectSolve }
  /** `missing`: the CPU is to make them; `failed`: those of cuDSS are of no use. */
  | { readonly solve: undefined; readonly reason: 'missing' | 'failed' };

const MISSING: GpuFactors = { solve: undefined, reason: 'missing' };
const FAILED: GpuFactors = { solve: undefined, reason: 'failed' };

/** The dtype of factors. */
export const factorDType = (dtype: DType): DType =>
  isComplex(dtype) || dtype === 'float32' ? dtype : isHalf(dtype) ? 'float32' : 'float64';

/**
 * Factors of a square matrix by cuDSS, where it is there and the options, or else where the matrix lies, choose one GPU.
 * They are tried on a system whose solution is known: pivots are looked for in blocks alone, so that factors of some
 * matrices are useless although no call fails.
 */
export async function gpuFactors(op: string, a: SparseMatrix, given: Factoring): Promise<GpuFactors> {
  const { isPositive, options } = given;
  const device = await gpuFor(a.parts, options);
  if (device === undefined || a.shape[0] === 0) return MISSING;
  const { devices: _, ...others } = options;
  const running = { ...others, device: device.name };
  const own = factorDType(a.dtype);
  const matrix = await a.astype(own).sumDuplicates().persist(running);
  const lower = isPositive ? await matrix.tril().persist(running) : matrix;
  const buffers = buffersOf(lower.parts);
  if (buffers === undefined) return MISSING;
  const { starts, places, values } = lower.parts;
  const problem = {
    dtype: dtypeCode(own),
    hasWideStarts: starts.dtype === 'int64',
    hasWideColumns: places.dtype === 'int64',
    n: a.shape[0],
    stored: values.shape[0]!,
    isPositive,
    most: budgetsOf(options, [device]).budget ?? Number.MAX_SAFE_INTEGER,
  };
  const made = await factorSparse(device.name, problem, buffers);
  const { buffer, number, hasFailed, replacedPivots } = made;
  const memory = deviceArray(buffer, 'uint8', [buffer.byteLength]);
  const solve = solveWith(op, { number, memory, dtype: own });
  let found: DirectSolve | undefined;
  try {
    options.signal?.throwIfAborted();
    // A matrix whose pivots are replaced is not positive definite.
    if (!hasFailed && !(isPositive && replacedPivots > 0))
      found = await refined(matrix, solve, { replacedPivots, running });
  } finally {
    if (found === undefined) buffer.dispose();
  }
  return found === undefined ? FAILED : { solve: found };
}

/** The GPU that is to have the factors. */
async function gpuFor(
  { starts, places, values }: SparseParts,
  options: ComputeOptions,
): Promise<Device | undefined> {
  checkComputeOptions('compute', options);
  const { device, devices: named } = options;
  await (named === undefined ? probeFor(device) : probeForAll(named));
  const holders = [starts, places, values].flatMap((each) => {
    const buffer = bufferOf(each);
    return buffer === undefined ? [] : [holdersOf(buffer)];
  });
  const { devices, isSharded } = chooseDevices(options, holders);
  if (isSharded || devices[0]!.isHost) return undefined;
  await probeCudss();
  return cudaInfo().cudss === null ? undefined : devices[0];
}

const bufferOf = (x: Expr): DeviceBuffer | undefined =>
  x.kind === 'source' && x.source.type === 'device' ? x.source.buffer : undefined;

/** The buffers of a matrix that lies on one device; none of one that stores nothing. */
function buffersOf({ starts, places, values }: SparseParts): DeviceBuffer[] | undefined {
  const buffers = [starts, places, values].map(bufferOf);
  return buffers.every((buffer) => buffer !== undefined && buffer.shards === undefined)
    ? (buffers as DeviceBuffer[])
    : undefined;
}

/** Solves in the dtype of the factors; complex right-hand sides of a real matrix as two real ones each. */
const solveWith =
  (op: string, factors: FactorsOnGpu): DirectSolve =>
  (right) => {
    const { shape } = right;
    const columns = right.reshape([shape[0]!, shape[1] ?? 1]);
    const solved = (b: Lazy): Lazy => new Lazy(directSolution(op, factors, b.expr));
    const isWider = isComplex(right.dtype) && !isComplex(factors.dtype);
    const dtype = promote(factors.dtype, right.dtype);
    const x = isWider
      ? new Lazy(fromParts(solved(columns.real()).expr, solved(columns.imag()).expr, dtype))
      : solved(columns).astype(dtype);
    return x.reshape(shape);
  };

/**
 * The solve with as many steps of refinement as it takes: a system is solved with a backward error as of LU without pivots
 * that are replaced, or after two steps with one that is many times its roundings. Where pivots were replaced, the matrix may be
 * singular: then the solution is large, and other factors are to decide. `undefined`: the factors are of no use.
 */
async function refined(
  a: SparseMatrix,
  solve: DirectSolve,
  { replacedPivots, running }: Trial,
): Promise<DirectSolve | undefined> {
  const isSingle = a.dtype === 'float32' || a.dtype === 'complex64';
  const { rounding, mostGrowth } = isSingle ? SINGLE : DOUBLE;
  const b = arange(a.shape[0]).remainder(7).add(4).astype(a.dtype);
  const largest = (v: Lazy): Lazy => v.abs().max().astype('float64');
  const norm = largest(a.abs().sum(1));
  for (const [steps, most] of ROUNDINGS.entries()) {
    const solved = withSteps(a, solve, steps);
    const x = solved(b);
    const size = norm.multiply(largest(x));
    const error = largest(a.matmul(x).subtract(b)).divide(size.add(largest(b)));
    const [found, growth] = await compute([error, size.divide(largest(b))], running);
    if (replacedPivots > 0 && !(Number(growth!.item()) <= mostGrowth)) return undefined;
    if (Number(found!.item()) <= most * rounding) return solved;
  }
  return undefined;
}

/** x + A⁻¹ (b - A x), so many times. */
const withSteps = (a: SparseMatrix, solve: DirectSolve, steps: number): DirectSolve =>
  steps === 0
    ? solve
    : (b) => {
        const x = withSteps(a, solve, steps - 1)(b);
        return x.add(solve(b.subtract(a.matmul(x))));
      };

interface Trial {
  readonly replacedPivots: number;
  readonly running: ComputeOptions;
}

/** The most roundings of the backward error, without a step of refinement, with one and with two. */
const ROUNDINGS = [2 ** 7, 2 ** 7, 2 ** 12] as const;
/** A rounding, and a hundredth of what a pivot is replaced by beside the largest element: 1e-5 and 1e-13. */
const SINGLE = { rounding: 2 ** -24, mostGrowth: 1e3 } as const;
const DOUBLE = { rounding: 2 ** -53, mostGrowth: 1e11 } as const;
