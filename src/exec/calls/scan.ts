/**
 * Running sums, products and extremes of rows, in tiles of at most `SCAN_TILE` elements: a warp has one on a GPU
 * (`codegen/cuda/routines/scan.ts`), a thread on the CPU (`native/cpu/scan.cpp`). Tiles do not depend on one
 * another: what is before each is an operand.
 */
import { printScan, SCAN_NAME, SCAN_THREADS, SCAN_WARPS } from '../../codegen/cuda/routines/scan.js';
import { byteLengthOf, dtypeCode } from '../../graph/dtype.js';
import { sizeOfShape } from '../../graph/graph.js';
import { SCAN_OPS, SCAN_TILE } from '../../graph/routines.js';
import type { LaunchArgument } from '../native/program-types.js';
import type { RoutineStep } from './call.js';
import { type Routine, routineCall } from './routine.js';

/** Elements that a unit has at least. */
const LEAST_UNIT = 2 ** 13;

/** How rows are cut into tiles, and tiles into units. */
interface ScanPlan {
  readonly rows: number;
  readonly length: number;
  readonly tile: number;
  readonly tilesPerRow: number;
  /** A multiple of a block's tiles; where rows end within a tile, those of a row. */
  readonly tilesPerUnit: number;
  readonly unitLength: number;
  readonly units: number;
}

function planOf({ operands }: RoutineStep): ScanPlan {
  const { shape } = operands[0]!;
  const length = shape.at(-1)!;
  const rows = sizeOfShape(shape.slice(0, -1));
  const tile = operands.length > 1 ? SCAN_TILE : length;
  const tilesPerRow = Math.ceil(length / tile);
  if (rows > 1 && length % tile !== 0)
    return { rows, length, tile, tilesPerRow, tilesPerUnit: tilesPerRow, unitLength: length, units: rows };
  const tilesPerUnit = SCAN_WARPS * Math.ceil(LEAST_UNIT / (SCAN_WARPS * tile));
  const units = Math.ceil((rows * tilesPerRow) / tilesPerUnit);
  return { rows, length, tile, tilesPerRow, tilesPerUnit, unitLength: tilesPerUnit * tile, units };
}

const int64 = (value: number): LaunchArgument => ({
  bytes: new Uint8Array(BigInt64Array.of(BigInt(value)).buffer),
});

const SCANNING: Routine = {
  units: (step) => planOf(step).units,
  unitSize: (step, array) => {
    const { unitLength, tilesPerUnit } = planOf(step);
    return array === step.operands[1] ? tilesPerUnit : unitLength;
  },
  numbers: (step) => {
    const { rows, length, tile, tilesPerUnit } = planOf(step);
    const { dtype } = step.operands[0]!;
    return [dtypeCode(dtype), step.parameters[0]!, rows, length, tile, tilesPerUnit, step.operands.length];
  },
  kernels: (step) => {
    const { rows, length, tile, tilesPerRow, tilesPerUnit, units } = planOf(step);
    const [input, before] = step.operands;
    const blocksPerUnit = Math.ceil(tilesPerUnit / SCAN_WARPS);
    return {
      source: printScan({
        dtype: input!.dtype,
        op: SCAN_OPS[step.parameters[0]!]!,
        carried: before?.dtype,
      }),
      launches: [
        {
          function: SCAN_NAME,
          blocks: units * blocksPerUnit,
          threads: SCAN_THREADS,
          args: [
            { block: 'x' },
            { buffer: input!.buffer },
            ...(before === undefined ? [] : [{ buffer: before.buffer }]),
            { buffer: step.results[0]!.buffer },
            ...[rows * tilesPerRow, tilesPerUnit, blocksPerUnit, tilesPerRow, length, tile].map(int64),
          ],
        },
      ],
    };
  },
  cudaWorkspace: () => ({ most: 0, least: 0 }),
  work: ({ operands }) => {
    const [{ dtype, shape }] = operands as readonly [(typeof operands)[0]];
    return { bytes: 2 * sizeOfShape(shape) * byteLengthOf(dtype), launches: 1 };
  },
  method: (step) => `${SCAN_OPS[step.parameters[0]!]!} in tiles of ${planOf(step).tile}`,
};

export const SCAN = routineCall(SCANNING);
