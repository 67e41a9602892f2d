/**
 * Gathering rows in bins, by keys (`bins`) or by edges that keys lie between (`histogram`): counts, last places,
 * sums of integers, extremes. Each unit of rows has bins of its own, which a reduction of the graph combines. On
 * a GPU by atomic operations (`codegen/cuda/routines/bins.ts`), on the CPU by a thread for each copy of the bins
 * (`native/cpu/bins.cpp`): neither's order matters, so bits are the same everywhere.
 */
import { BINS_NAME, binThreads, FILL_NAME, printBins } from '../../codegen/cuda/routines/bins.js';
import { BIN_MODES, BIN_OPS, type BinMode } from '../../graph/bin-units.js';
import { byteLengthOf, dtypeCode } from '../../graph/dtype.js';
import { sizeOfShape } from '../../graph/graph.js';
import type { LaunchArgument } from '../native/program-types.js';
import { planOf } from './bin-plan.js';
import { BIN_WINDOWS } from './bin-windows.js';
import type { BufferArray, RoutineStep } from './call.js';
import type { CallKernels } from './call-row.js';
import { int64 } from './launch-arguments.js';
import { asKernels, mapFunctions, mapsText } from './map-functions.js';
import { tilesOf } from './result-windows.js';
import { operandsOf, type Routine, routineCall } from './routine.js';

/** Elements that a block goes through where many have a unit, and the most of those. */
const BLOCK_ELEMENTS = 2 ** 14;
const MOST_BLOCKS = 2 ** 12;

function kernelsOf(step: RoutineStep): CallKernels {
  const { form, rows, bins, units, unitRows } = planOf(step);
  const { prologue: keys, weights: values, args: further } = mapFunctions(step);
  const out = { buffer: step.results[0]!.buffer };
  const source = printBins({ ...form, rows: { keys, values } });
  const slots = bins * form.width * form.parts;
  const isShared = form.sharedBins !== undefined;
  const { windows, parts } = step.resultWindows ?? { windows: 1, parts: 1 };
  const most = Math.max((Math.min(rows, unitRows) * form.width) / parts, slots / windows);
  const atOnce = form.isWindowed ? 1 : units;
  const unitBlocks = isShared
    ? 1
    : Math.min(Math.ceil(MOST_BLOCKS / atOnce), Math.ceil(most / BLOCK_ELEMENTS));
  const launch = (name: string, args: readonly LaunchArgument[]) => ({
    function: name,
    blocks: BINNING.units(step) * unitBlocks,
    threads: binThreads({ ...form, rows: { keys, values } }),
    args: [{ block: 'x' } as const, ...args],
  });
  const operands = operandsOf(step).map(({ buffer }) => ({ buffer }));
  const sizes = [rows, unitRows, unitBlocks, bins, ...windowNumbers(step)].map(int64);
  const gather = launch(BINS_NAME, [...operands, out, ...sizes, ...further]);
  if (isShared) return { source, launches: [gather] };
  if (form.isWindowed) return { source, launches: [launch(FILL_NAME, [out, ...sizes]), gather] };
  return { source, launches: [launch(FILL_NAME, [out, int64(unitBlocks), int64(slots)]), gather] };
}

/** How many windows bins and rows have, and how far parts of a number are apart. */
const windowNumbers = ({ resultWindows: own }: RoutineStep): number[] =>
  own === undefined ? [] : [own.windows, own.parts, own.pitch];

const BINNING: Routine = {
  units: (step) => tilesOf(step, planOf(step).units),
  windows: BIN_WINDOWS,
  unitSize: (step, array) => {
    const { form, keys, values, bins, unitRows } = planOf(step);
    if (array === keys) return unitRows;
    if (array === values) return unitRows * form.width;
    return array === step.results[0] ? bins * form.width * form.parts : undefined;
  },
  numbers: (step) => {
    const { form, keys, values, rows, bins, unitRows, edges } = planOf(step);
    const { op, width, parts, bits, mode, result } = form;
    return [
      BIN_OPS.indexOf(op),
      dtypeCode(keys.dtype),
      values === undefined ? 0 : 1 + dtypeCode(values.dtype),
      dtypeCode(result),
      rows,
      unitRows,
      bins,
      width,
      edges === undefined ? 1 + BIN_MODES.indexOf(mode as BinMode) : 0,
      mode === 'equalEdges' ? 1 : 0,
      parts,
      bits,
      ...windowNumbers(step),
    ];
  },
  kernels: (step) => asKernels(kernelsOf(step)),
  cudaWorkspace: () => ({ most: 0, least: 0 }),
  work: (step) => {
    const { form } = planOf(step);
    const bytesOf = ({ dtype, shape }: BufferArray): number => sizeOfShape(shape) * byteLengthOf(dtype);
    const read = step.operands.reduce((sum, array) => sum + bytesOf(array), 0);
    const written = bytesOf(step.results[0]!);
    if (form.sharedBins !== undefined) return { bytes: read + written, launches: 1 };
    // An element's bin is a sector of the cache.
    return { bytes: 2 * read + 2 * written, launches: 2 };
  },
  method: (step) => {
    const { form, units } = planOf(step);
    const where = form.sharedBins === undefined ? '' : ' that fit a block';
    return `${form.op} in ${units === 1 ? 'one set' : `${units} sets`} of bins${where}${mapsText(step)}`;
  },
};

export const BINS = routineCall(BINNING);
export const HISTOGRAM = routineCall(BINNING);
