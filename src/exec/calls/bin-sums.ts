/**
 * Sums of floats by bin in one pass over the values where their exponents allow it: on a GPU
 * `codegen/cuda/routines/bin-sums.ts`, on the CPU `native/cpu/bin-sums.cpp`. All rows are one unit: in plans in which they
 * do not fit, on several devices, and on a GPU for few rows or bins, sums are those by units
 * (`fusion/passes/both-ways.ts`), which have the same bits.
 */
import { BIN_THREADS } from '../../codegen/cuda/routines/bin-form.js';
import { printSums, SUM_NAMES, SUMS_STATE, type SumsForm } from '../../codegen/cuda/routines/bin-sums.js';
import { parametersOfSums, type Zero } from '../../graph/bin-parameters.js';
import { dtypeCode } from '../../graph/dtype.js';
import { windowsOf } from '../../graph/exact-sums.js';
import { FIXED_PARTS, fixedBits } from '../../graph/fixed-sums.js';
import { sizeOfShape } from '../../graph/graph.js';
import type { LaunchArgument } from '../native/program-types.js';
import { aligned } from '../plan/memory.js';
import type { RoutineStep } from './call.js';
import type { CallKernels, CallLaunch } from './call-row.js';
import { int32, int64 } from './launch-arguments.js';
import { asKernels, mapFunctions, mapsText } from './map-functions.js';
import { passedOperations } from './passed-operations.js';
import { bytesOfAll, operandsOf, type Routine, routineCall } from './routine.js';

/** Elements that a block goes through at least, and the most blocks: sixteen for each multiprocessor of an H200. */
const BLOCK_ELEMENTS = 2 ** 14;
const MOST_BLOCKS = 2112;
/** The most blocks of kernels that seldom do anything: an H200 begins them in 1.3 µs, 4,096 in 3.4. */
const MOST_SELDOM = 528;

const zerosOf = (none: Zero): SumsForm['zeros'] =>
  none === 'positive' ? none : Object.is(none, -0) ? 'minus' : 'plus';

function sumsForm({ operands, parameters }: RoutineStep): SumsForm {
  const { bins, width, mode, dtype, parts, bits, none } = parametersOfSums(parameters);
  const [keys, values] = operands;
  const rows = keys!.shape[0]!;
  return {
    keys: keys!.dtype,
    values: values!.dtype as 'float32' | 'float64',
    result: dtype,
    mode,
    width,
    windows: parts === 0 ? windowsOf(bits) : undefined,
    bits,
    unitBits: fixedBits(rows),
    zeros: zerosOf(none),
    isLong: bins * width * FIXED_PARTS >= 2 ** 31,
  };
}

function slotsOf({ parameters }: RoutineStep): number {
  const { bins, width } = parametersOfSums(parameters);
  return bins * width;
}

/** The state, the numbers of bins, in whose place those are that are made again, and of fixed sums scales. */
function workspaceOf(step: RoutineStep): number {
  const { windows } = sumsForm(step);
  const slots = slotsOf(step);
  return aligned(SUMS_STATE + 8 * slots * (windows ?? FIXED_PARTS) + (windows === undefined ? 4 * slots : 0));
}

function kernelsOf(step: RoutineStep): CallKernels {
  const { prologue: keys, weights: values, args: further } = mapFunctions(step);
  const form = { ...sumsForm(step), rows: { keys, values } };
  const slots = slotsOf(step);
  const operands = operandsOf(step).map(({ buffer }) => ({ buffer }));
  const count = sizeOfShape(step.operands[1]!.shape);
  const work = { buffer: step.workspace! };
  const blocks = Math.min(MOST_BLOCKS, Math.ceil(Math.max(count, slots) / BLOCK_ELEMENTS));
  const launch = (name: string, perLaunch: number, args: readonly LaunchArgument[]): CallLaunch => ({
    function: name,
    blocks: perLaunch,
    threads: BIN_THREADS,
    args: [{ block: 'x' }, ...args],
  });
  const sizes = [count, parametersOfSums(step.parameters).bins, slots].map(int64);
  const walk = (name: string, most = MOST_SELDOM): CallLaunch => {
    const own = Math.min(blocks, most);
    return launch(name, own, [...operands, work, ...sizes, int32(own), ...further]);
  };
  const result = [work, { buffer: step.results[0]!.buffer }, int64(slots)];
  const each = (name: string): CallLaunch => launch(name, Math.ceil(slots / BIN_THREADS), result);
  const { begin, atOnce, clearAgain, scales, again, finish, zeros, signs } = SUM_NAMES;
  return {
    source: printSums(form),
    launches: [
      ...[begin, atOnce].map((name) => walk(name, MOST_BLOCKS)),
      ...[clearAgain, ...(form.windows === undefined ? [scales] : []), again].map((name) => walk(name)),
      each(finish),
      ...(form.zeros === 'positive' ? [] : [walk(zeros), each(signs)]),
    ],
  };
}

const SUMMING: Routine = {
  units: () => 1,
  unitSize: (_, array) => sizeOfShape(array.shape),
  numbers: ({ operands: [keys, values], parameters }) => [
    dtypeCode(keys!.dtype),
    dtypeCode(values!.dtype),
    keys!.shape[0]!,
    ...parameters,
  ],
  kernels: (step) => asKernels(kernelsOf(step)),
  cudaWorkspace: (step) => ({ most: workspaceOf(step), least: workspaceOf(step) }),
  // An element's bin is a sector of the cache.
  work: ({ operands, results }) => ({ bytes: 2 * bytesOfAll([...operands, ...results]), launches: 8 }),
  operations: passedOperations(3),
  method: (step) => `in one pass, as multiples of a power of two${mapsText(step)}`,
};

export const BIN_SUMS = routineCall(SUMMING);
