/** The one launch of a call over a stack of matrices, of which blocks have one or some each. */
import type { RoutineStep } from './call.js';
import type { CallKernels } from './call-row.js';
import { int64 } from './launch-arguments.js';

export interface MatrixLaunch {
  readonly function: string;
  readonly source: string;
  readonly blocks: number;
  readonly threads: number;
  readonly sharedByteLength?: number;
  /** Arguments behind the operands and results. */
  readonly sizes?: readonly number[];
}

export const launchOfMatrices = (
  { operands, results }: RoutineStep,
  { source, sizes = [], ...launch }: MatrixLaunch,
): CallKernels => ({
  source,
  launches: [
    {
      ...launch,
      args: [
        { block: 'x' },
        ...[...operands, ...results].map(({ buffer }) => ({ buffer })),
        ...sizes.map(int64),
      ],
    },
  ],
});
