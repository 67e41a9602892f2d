/** The form of a row of the table of routines (`routines.ts`). */
import type { DType } from './dtype.js';
import type { UserKernel } from './user-kernel.js';

export interface ArrayType {
  readonly dtype: DType;
  readonly shape: readonly number[];
}

export interface RoutineRow {
  /** The types of the results, in order. */
  readonly results: (
    inputs: readonly ArrayType[],
    parameters: readonly number[],
    kernel?: UserKernel,
  ) => readonly ArrayType[];
}

/** Integers that hold places of so many elements. */
export const placeDType = (size: number): DType => (size < 2 ** 31 ? 'int32' : 'int64');
