/**
 * How many lanes a block on the CPU has: such that its live values stay in the first-level cache. Called by
 * `tape-blocking.ts`, which chooses where the lanes lie.
 */

import { affineLoadOf, boundsIn, isUniform, loadOf } from '../../fusion/kernel/algebra.js';
import { isConstant, isReduction, opOf } from '../../fusion/kernel/arithmetic.js';
import {
  type Access,
  type Instruction,
  type Kernel,
  product,
  type Store,
} from '../../fusion/kernel/kernel.js';
import { inWalks, type Levels } from '../../fusion/kernel/levels.js';
import { byteLengthOf } from '../../graph/dtype.js';
import { CHUNK } from '../../shared/layout.js';
import { stepDType } from './tape-chain.js';
import { operandsOf, type TapeFusion } from './tape-fuse.js';
import { isOfMatrix } from './tape-matrix.js';

/** Bytes that the live registers of a block may take: about half of a first-level cache. */
const REGISTER_BYTES = 24 * 1024;
/** Those of a map of a matrix, which go through few chains: from the second-level cache, as fast as these compute. */
const MATRIX_BYTES = 64 * 1024;
const MOST_LANES = 4096;
/**
 * Lanes of maps whose elements go through vector registers, at most. Kernels of 2^10 to 2^22 elements take 16 % less time
 * than with half as many in float32, in the mean, and 10 % less in float64.
 */
const MOST_PASSING_LANES = 8192;
/** Bytes that their values may take, which they need only where a map writes over its argument. */
const PASSING_BYTES = 128 * 1024;
/**
 * Lanes where values are reduced as they come from memory: a block costs more than the cache that it would
 * stay in. More of them where everything is reduced; lanes on parallel axes have partial results each.
 */
const MOST_READ_LANES = 65536;
const MOST_READ_PARALLEL_LANES = 16384;
/** Steps of a chain that has no more values to keep than it may, and loads that hardware asks for ahead. */
const MOST_PASSING_STEPS = 24;
const MOST_PASSING_LOADS = 4;
const LEAST_LANES = 128;

/**
 * Lanes of a block such that the live values of all instructions stay in the first-level cache.
 * `rowsHaveLanes`: the lanes are parallel axes, so that row-level values are as wide as others, and live all
 * along, unless blocks of elements alone are asked for, which are several rows of those lanes. `fusion`: the tape's pairs as
 * if all of it were over the same lanes.
 */
export function lanesPerBlock(
  kernel: Kernel,
  levels: Levels,
  fusion: TapeFusion,
  rowsHaveLanes: boolean,
  countsRowValues = rowsHaveLanes,
): number {
  const { tape } = kernel;
  const isMap = kernel.reduced.length === 0;
  const { absorbed } = fusion;
  const isWalked = inWalks(kernel, levels);
  const lastParallel = kernel.parallel.length - 1;
  const readInPlace = isMap ? neighboursInPlace(kernel) : reducedInPlace(kernel, fusion, rowsHaveLanes);
  const isInChain = chainedValues(kernel, fusion);
  const isWide = (i: number): boolean => {
    if (isInChain(i) || !isWalked(i) || isReduction(tape[i]!) || absorbed[i] || readInPlace(i)) return false;
    // A value that does not vary along the lanes takes one chunk.
    const read = affineLoadOf(tape[i]!);
    if (isMap && read !== undefined && isUniform(read)) return false;
    return !(rowsHaveLanes && read?.strides[lastParallel] === 0);
  };
  const lastUse = tape.map((_, i) => i);
  tape.forEach((_, i) => {
    for (const arg of operandsOf(kernel, fusion, i)) lastUse[arg] = i;
  });
  const dying = tape.map((): number[] => []);
  lastUse.forEach((use, i) => {
    dying[use]!.push(i);
  });
  const bytesOf = (i: number): number => (isWide(i) ? byteLengthOf(tape[i]!.dtype) : 0);
  let live = 0;
  if (countsRowValues && !isMap) {
    tape.forEach((instruction, i) => {
      if (!isConstant(instruction) && !isReduction(instruction) && !absorbed[i] && !levels.element[i])
        live += byteLengthOf(instruction.dtype);
    });
  }
  let most = live;
  // A result may take the register of an argument that ends with it.
  tape.forEach((_, i) => {
    for (const dead of dying[i]!) if (dead !== i) live -= bytesOf(dead);
    live += bytesOf(i);
    most = Math.max(most, live);
    if (lastUse[i] === i) live -= bytesOf(i);
  });
  const isPassing = passes(kernel, levels, fusion);
  if (!isMap && (most === 0 || isPassing)) return rowsHaveLanes ? MOST_READ_PARALLEL_LANES : MOST_READ_LANES;
  const room = isPassing ? PASSING_BYTES : isOfMatrix(kernel) ? MATRIX_BYTES : REGISTER_BYTES;
  const lanes = 2 ** Math.floor(Math.log2(room / most));
  return Math.min(isPassing ? MOST_PASSING_LANES : MOST_LANES, Math.max(LEAST_LANES, lanes));
}

/**
 * Whether a value goes from step to step in vector registers: of a map of a matrix whose steps are all of one chain, all but
 * its results.
 */
function chainedValues(kernel: Kernel, fusion: TapeFusion): (i: number) => boolean {
  const { tape, stores } = kernel;
  if (!isOfMatrix(kernel)) return () => false;
  const isStep = (i: number): boolean => opOf(tape[i]!) !== undefined;
  const dtypes = new Set(tape.flatMap((_, i) => (isStep(i) ? [stepDType(kernel, fusion, i)] : [])));
  const isOneChain = dtypes.size === 1 && !dtypes.has(undefined);
  const stored = new Set(stores.map(({ value }) => value));
  return (i) => isOneChain && isStep(i) && !stored.has(i);
}

/**
 * Whether a value is a load of a map over neighbours, whose chains read all but the edges of the domain in
 * place.
 */
export function neighboursInPlace({ tape, parallel }: Kernel): (i: number) => boolean {
  const isNeighbour = (i: Instruction): boolean =>
    affineLoadOf(i)?.strides[parallel.length - 1] === 1 && (i.dtype === 'float32' || i.dtype === 'float64');
  const hasEdges = tape.some((i) => isNeighbour(i) && boundsIn(i).length > 0);
  return (i) => hasEdges && isNeighbour(tape[i]!);
}

/**
 * Whether a value is a load that one reduction alone takes, straight from memory: its lanes lie there side by
 * side. Or from a register that many tiles read, which may lie in the second-level cache.
 */
function reducedInPlace(
  kernel: Kernel,
  fusion: TapeFusion,
  lanesAreParallel: boolean,
): (i: number) => boolean {
  const { tape, parallel, reduced } = kernel;
  const readers = tape.map((): number[] => []);
  tape.forEach((_, i) => {
    if (fusion.absorbed[i]) return;
    for (const arg of operandsOf(kernel, fusion, i)) readers[arg]!.push(i);
  });
  const axis = (lanesAreParallel ? parallel.length : parallel.length + reduced.length) - 1;
  return (i) => {
    const read = affineLoadOf(tape[i]!);
    if (read === undefined || read.bounds.length > 0) return false;
    const [reader, ...others] = readers[i]!;
    if (others.length > 0 || reader === undefined || !isReduction(tape[reader]!)) return false;
    const { strides } = read;
    const isShared = parallel.some((size, k) => size > 1 && strides[k] === 0);
    return strides[axis] === 1 || (lanesAreParallel && strides[axis] !== 0 && isShared);
  };
}

/**
 * Whether all there is to compute of each element is one function or one chain, from loads that lie side by
 * side to stores that do, or to reductions of everything: what goes from one step to the next stays in vector
 * registers. Not of a loop, whose tiles should stay in a cache from step to step.
 */
function passes(kernel: Kernel, levels: Levels, fusion: TapeFusion): boolean {
  const { tape, stores, parallel, reduced } = kernel;
  const isMap = reduced.length === 0;
  if (kernel.carried !== undefined) return false;
  if (!isMap && (levels.phases > 1 || product(parallel) > 1 || reduced.at(-1)! % CHUNK > 0)) return false;
  const isElement = (i: number): boolean => isMap || levels.element[i]! || isReduction(tape[i]!);
  const isInPlace = ({ strides, bounds, index }: Access): boolean =>
    index === undefined && bounds.length === 0 && strides.at(-1) === 1;
  const isStored = ({ value, access }: Store): boolean =>
    !isElement(value) || isReduction(tape[value]!) || (opOf(tape[value]!) !== undefined && isInPlace(access));
  if (!stores.every(isStored)) return false;
  const steps: number[] = [];
  let loads = 0;
  for (const [i, instruction] of tape.entries()) {
    if (!isElement(i) || fusion.absorbed[i] || isConstant(instruction)) continue;
    const read = loadOf(instruction);
    if (read === undefined) steps.push(i);
    else if (!isInPlace(read) || ++loads > MOST_PASSING_LOADS) return false;
  }
  if (isMap && steps.length === 1) return true;
  const dtype = tape[steps[0]!]?.dtype;
  return steps.length <= MOST_PASSING_STEPS && steps.every((i) => stepDType(kernel, fusion, i) === dtype);
}
