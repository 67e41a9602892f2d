/**
 * Calls: steps of a plan that a library or a routine of Weft's own does as a whole, as plain data. All code
 * that looks into one is in its row (`call-row.ts`, `table.ts`).
 */
import type { Neighbours } from '../../codegen/cuts/scan-neighbours.js';
import type { TileFold } from '../../codegen/cuts/scan-reader.js';
import type { Kernel } from '../../fusion/kernel/kernel.js';
import type { ArrayType } from '../../graph/routine-row.js';
import type { RoutineName } from '../../graph/routines.js';
import type { UserKernel } from '../../graph/user-kernel.js';
import type { CallBase } from './call-base.js';
import type { LibraryStep } from './products/product-steps.js';

/** An array in C order, at the beginning of a plan's buffer. */
export interface BufferArray extends ArrayType {
  readonly buffer: number;
}

/** A map of each element by itself. Its buffers are the plan's, in the order of the kernel's. */
export interface ElementMap {
  readonly kernel: Kernel;
  readonly buffers: readonly number[];
}

/** A map of a routine's elements; results that are `folds` have values of tiles (`codegen/cuts/scan-reader.ts`). */
export interface Epilogue extends ElementMap {
  readonly given: number;
  readonly folds?: readonly TileFold[];
  /** Of results that read neighbours: the second result has the ends of tiles (`codegen/cuts/scan-neighbours.ts`). */
  readonly neighbours?: Neighbours | undefined;
}

/** Maps that a routine does where it reads its first operand, where it writes its result, and in between. */
export interface RoutineMaps {
  /** Gives the elements of the operand, which is in no memory. */
  readonly prologue?: ElementMap | undefined;
  /** Of bins: gives the values of rows, an operand that is then in no memory (`plan/bin-maps.ts`). */
  readonly weights?: (ElementMap & { readonly operand: number }) | undefined;
  /** Maps values of the routine's own, which are its buffer `given` and in no memory, as its results are. */
  readonly values?: (ElementMap & { readonly given: number }) | undefined;
  /**
   * Takes the routine's elements as its buffer number `given`, which is in no memory; it gives the results, in the order of
   * its buffers. Of scans on a GPU it may reduce their rows.
   */
  readonly epilogue?: Epilogue | undefined;
}

/** Of a routine that makes its result window by window (`result-windows.ts`). */
export interface ResultWindows {
  /** The numbers of the result that windows are of. */
  readonly of: 'bins' | 'runs';
  /** Windows of the result, and parts of the rows that pass for each. */
  readonly windows: number;
  readonly parts: number;
  /** Elements from the first number of a bin to its second one, of several. */
  readonly pitch: number;
}

/** Where an array of batches lies, in elements, whose rows' elements follow each other. */
export interface BatchPlace {
  readonly offset: number;
  /** From a batch of the first axis, one of the second, and a row, to the next. */
  readonly strides: readonly [outer: number, head: number, row: number];
}

/** A routine of `graph/routines.ts`. */
export interface RoutineStep extends CallBase {
  readonly call: RoutineName;
  readonly parameters: readonly number[];
  readonly operands: readonly BufferArray[];
  readonly results: readonly BufferArray[];
  /** The most elements in a unit, where rows allow it; without it, as many as fill a GPU. */
  readonly unitElements?: number | undefined;
  /**
   * Where units are columns of all rows of every array (`column-cut.ts`): elements from row to row of operands,
   * then of results.
   */
  readonly columns?: readonly number[] | undefined;
  readonly resultWindows?: ResultWindows | undefined;
  readonly maps?: RoutineMaps | undefined;
  /**
   * Of `attention` whose batches are of two axes, that of neighbours so long: where Q, K, V and the result lie. Shapes of
   * arrays have one axis for both.
   */
  readonly places?: { readonly heads: number; readonly of: readonly BatchPlace[] } | undefined;
  /** Of `writeRow` in a loop, whose result lies where its first operand does (`plan/row-states.ts`). */
  readonly isInPlace?: boolean | undefined;
  /** Of the routine `kernel`. */
  readonly userKernel?: UserKernel | undefined;
}

export type CallStep = LibraryStep | RoutineStep;

/** Bytes that a call uses besides its operands and its results, and the least that it can do with. */
export interface WorkspaceNeed {
  readonly most: number;
  readonly least: number;
}

/**
 * How long a step takes when it runs alone, how much of the device it fills then, up to 1, and what it takes
 * the host to queue it.
 */
export interface StepCost {
  readonly seconds: number;
  readonly share: number;
  readonly queueSeconds: number;
}
