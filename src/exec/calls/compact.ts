/**
 * The places at which running counts grow, in order (`codegen/cuda/routines/compact.ts`, `native/cpu/compact.cpp`).
 * An element's place in the result depends on the data, so that the whole line is one unit.
 */
import { COMPACT_NAME, COMPACT_THREADS, printCompact } from '../../codegen/cuda/routines/compact.js';
import { sizeOfShape } from '../../graph/graph.js';
import type { RoutineStep } from './call.js';
import { type Routine, routineCall } from './routine.js';

const sizeOf = ({ operands }: RoutineStep): number => sizeOfShape(operands[0]!.shape);

const COMPACTING: Routine = {
  units: () => 1,
  unitSize: sizeOf,
  numbers: (step) => [sizeOf(step)],
  kernels: (step) => ({
    source: printCompact(),
    launches: [
      {
        function: COMPACT_NAME,
        blocks: Math.ceil(sizeOf(step) / COMPACT_THREADS),
        threads: COMPACT_THREADS,
        args: [
          { block: 'x' },
          { buffer: step.operands[0]!.buffer },
          { buffer: step.results[0]!.buffer },
          { bytes: new Uint8Array(BigInt64Array.of(BigInt(sizeOf(step))).buffer) },
        ],
      },
    ],
  }),
  cudaWorkspace: () => ({ most: 0, least: 0 }),
  work: (step) => ({ bytes: 16 * sizeOf(step), launches: 1 }),
  method: () => 'an element writes one place',
};

export const COMPACT = routineCall(COMPACTING);
