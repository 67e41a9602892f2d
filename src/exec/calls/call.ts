/**
 * Calls: steps of a plan that a library or a routine of Weft's own does as a whole, as plain data. All code
 * that looks into one is in its row (`call-row.ts`, `table.ts`).
 */
import type { Kernel } from '../../fusion/kernel/kernel.js';
import type { DType } from '../../graph/dtype.js';
import type { Activation } from '../../graph/epilogue.js';
import type { Precision } from '../../graph/expr.js';
import type { ArrayType, RoutineName } from '../../graph/routines.js';
import type { UserKernel } from '../../graph/user-kernel.js';

interface CallBase {
  readonly kind: 'call';
  /** Its row in `table.ts`. */
  readonly call: string;
  /** The temporary that it may use besides: calls that run one after the other share one. */
  readonly workspace?: number;
  readonly nodes: readonly number[];
}

/**
 * A matrix operand of a plan's buffer, in elements: element (b, i, j) is at `offset + b * batchStride + i *
 * rowStride + j * columnStride`.
 */
export interface MatrixOperand {
  readonly buffer: number;
  readonly offset: number;
  readonly batchStride: number;
  readonly rowStride: number;
  readonly columnStride: number;
  /** Along the outer batch axes of its product. */
  readonly outerStrides?: readonly number[] | undefined;
}

/** The epilogue of a product, with the places of what it reads; see `graph/epilogue.ts`. */
export interface MatmulEpilogue {
  /** Of the result, the addend and the bias. */
  readonly dtype: DType;
  readonly alpha: number;
  readonly beta: number;
  /** As `c`, which it may be. Absent where `beta` is 0. */
  readonly addend: MatrixOperand | undefined;
  /** A row: its elements follow each other. */
  readonly bias: { readonly buffer: number; readonly offset: number } | undefined;
  readonly activation: Activation | undefined;
}

/**
 * c = a · b for each of `batch` matrices and each index of the outer axes: (m, k) · (k, n). On a GPU one stride of a, b
 * and c's (row, column) is 1; the CPU reads a and b at any strides.
 */
export interface MatmulStep extends CallBase {
  readonly call: 'matmul';
  readonly dtype: DType;
  readonly precision: Precision | undefined;
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly batch: number;
  /** Sizes of further batch axes, where no single stride describes the batches (`partition/batch-axes.ts`). */
  readonly outer?: readonly number[] | undefined;
  readonly a: MatrixOperand;
  readonly b: MatrixOperand;
  readonly c: MatrixOperand;
  /** Whether a BLAS is left out on the CPU. */
  readonly ownKernels?: boolean | undefined;
  /** On a GPU, of a step that is not cut. */
  readonly epilogue?: MatmulEpilogue | undefined;
}

/** An operand of a contraction: where its elements lie, in elements, along its labels. */
export interface TensorOperand {
  readonly buffer: number;
  readonly offset: number;
  readonly labels: readonly number[];
  /** From 1 on. */
  readonly strides: readonly number[];
  /** Whether its complex conjugates are multiplied. */
  readonly conjugated?: boolean | undefined;
}

/**
 * result = alpha · Σ left · right + beta · addend over the labels that the result lacks, on a GPU by cuTENSOR.
 * Labels are positions in `sizes`, which are above 1.
 */
export interface ContractionStep extends CallBase {
  readonly call: 'contraction';
  readonly dtype: DType;
  readonly precision: Precision | undefined;
  readonly sizes: readonly number[];
  readonly left: TensorOperand;
  readonly right: TensorOperand;
  /** In C order, as the addend. */
  readonly result: TensorOperand;
  readonly alpha: number;
  /** 0: there is no addend. */
  readonly beta: number;
  readonly addend: TensorOperand | undefined;
}

/** An array in C order, at the beginning of a plan's buffer. */
export interface BufferArray extends ArrayType {
  readonly buffer: number;
}

/** A map of each element by itself. Its buffers are the plan's, in the order of the kernel's. */
export interface ElementMap {
  readonly kernel: Kernel;
  readonly buffers: readonly number[];
}

/** Maps that a routine does where it reads its first operand, where it writes its result, and in between. */
export interface RoutineMaps {
  /** Gives the elements of the operand, which is in no memory. */
  readonly prologue?: ElementMap | undefined;
  /** Maps values of the routine's own, which are its buffer `given` and in no memory, as its results are. */
  readonly values?: (ElementMap & { readonly given: number }) | undefined;
  /**
   * Takes the routine's elements as its buffer number `given`, which is in no memory; it gives the result. Of scans on a GPU
   * it may reduce their rows.
   */
  readonly epilogue?: (ElementMap & { readonly given: number }) | undefined;
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
  /** Of the routine `kernel`. */
  readonly userKernel?: UserKernel | undefined;
}

export type CallStep = MatmulStep | ContractionStep | RoutineStep;
export type CallName = CallStep['call'];

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
