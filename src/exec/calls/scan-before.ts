/**
 * The values before the tiles of a scan, from the tiles' totals: few beside the elements, so a line of them
 * is a unit, or some columns of all lines. The order is that of `codegen/cuda/routines/scan-look-back.ts`, on the CPU one tile after the
 * other.
 */
import {
  BEFORE_NAME,
  GROUPS_NAME,
  levelsOf,
  printBefore,
} from '../../codegen/cuda/routines/scan-look-back.js';
import { byteLengthOf, dtypeCode } from '../../graph/dtype.js';
import { sizeOfShape } from '../../graph/graph.js';
import { SCAN_OPS } from '../../graph/scan-tiles.js';
import type { LaunchArgument } from '../native/program-types.js';
import type { RoutineStep } from './call.js';
import type { CallKernels, CallLaunch } from './call-row.js';
import { columnUnit } from './column-cut.js';
import { int64 } from './launch-arguments.js';
import { asKernels } from './map-functions.js';
import { type Routine, routineCall } from './routine.js';

const THREADS = 256;

type Lines = readonly [outer: number, tiles: number, inner: number];
const linesOf = ({ operands }: RoutineStep): Lines => operands[0]!.shape as unknown as Lines;

/** Elements from row to row of the totals, and of the values before them. */
const pitchesOf = (step: RoutineStep): readonly [totals: number, before: number] => {
  const inner = linesOf(step)[2];
  return (step.columns ?? [inner, inner]) as readonly [number, number];
};

/** Values of all levels of groups, and of those up to each. */
function groupsOf(step: RoutineStep): {
  readonly sizes: readonly number[];
  readonly places: readonly number[];
  readonly count: number;
} {
  const [outer, tiles, inner] = linesOf(step);
  const sizes = levelsOf(tiles).slice(1);
  let count = 0;
  const places = sizes.map((size) => {
    count += outer * size * inner;
    return count - outer * size * inner;
  });
  return { sizes, places, count };
}

function kernelsOf(step: RoutineStep): CallKernels {
  const [outer, tiles, inner] = linesOf(step);
  const [op, reverse] = step.parameters as readonly [number, number];
  const [totals] = step.operands;
  const { sizes, places } = groupsOf(step);
  const kind = SCAN_OPS[op]!;
  // Sums of exponentials are numbers of their own, whatever the elements are.
  const numbers = { op: kind, dtype: kind === 'logsumexp' ? 'float64' : totals!.dtype } as const;
  const groups = { buffer: step.workspace ?? totals!.buffer };
  const columns = step.columns === undefined ? inner : columnUnit(inner);
  const [totalsPitch, beforePitch] = pitchesOf(step);
  const launch = (
    name: string,
    size: number,
    args: readonly LaunchArgument[],
    last: readonly number[],
  ): CallLaunch => {
    const lineBlocks = Math.ceil((size * columns) / THREADS);
    const sizesOf = [lineBlocks, outer, tiles, inner, columns, totalsPitch, ...last].map(int64);
    return {
      function: name,
      blocks: outer * Math.ceil(inner / columns) * lineBlocks,
      threads: THREADS,
      args: [{ block: 'x' }, ...args, ...sizesOf],
    };
  };
  const grouping = sizes.map((size, k) =>
    launch(
      GROUPS_NAME,
      size,
      [{ buffer: totals!.buffer }, groups],
      [k === 0 ? -1 : places[k - 1]!, k === 0 ? tiles : sizes[k - 1]!, places[k]!, size],
    ),
  );
  const arrays = [{ buffer: totals!.buffer }, groups, { buffer: step.results[0]!.buffer }];
  return {
    source: printBefore(numbers, reverse === 1, THREADS),
    launches: [...grouping, launch(BEFORE_NAME, tiles, arrays, [beforePitch])],
  };
}

const COMBINING: Routine = {
  units: (step) => linesOf(step)[0],
  unitSize: (step) => linesOf(step)[1] * linesOf(step)[2],
  columns: (step) => linesOf(step)[2],
  numbers: (step) => {
    const columns = step.columns === undefined ? 0 : columnUnit(linesOf(step)[2]);
    const { operands, parameters } = step;
    return [dtypeCode(operands[0]!.dtype), ...parameters, ...linesOf(step), columns, ...pitchesOf(step)];
  },
  kernels: (step) => asKernels(kernelsOf(step)),
  cudaWorkspace: (step) => {
    const bytes = groupsOf(step).count * byteLengthOf(step.operands[0]!.dtype);
    return { most: bytes, least: bytes };
  },
  work: (step) => {
    const { dtype, shape } = step.operands[0]!;
    return { bytes: 3 * sizeOfShape(shape) * byteLengthOf(dtype), launches: 1 + groupsOf(step).sizes.length };
  },
  method: (step) => `${SCAN_OPS[step.parameters[0]!]!} of the tiles before each`,
};

export const SCAN_BEFORE = routineCall(COMBINING);
