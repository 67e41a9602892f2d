/**
 * Plan: what a compute will do, as flat plain data: buffers with their places in the arena, and steps in order.
 *
 * It is made once per graph fingerprint and device (`planner.ts`), printed by `explain()`, and turned into a native
 * program by `program-cuda.ts` or `program-cpu.ts`.
 */

import type { Kernel } from '../fusion/kernel.js';
import type { DType } from '../graph/dtype.js';

export interface PlanBuffer {
  readonly role: 'input' | 'output' | 'temporary';
  readonly byteLength: number;
  /** Byte offset in the arena; 0 for inputs and outputs, which have memory of their own. */
  readonly offset: number;
  /** What it holds: `node 12`, `source 0 float32`, `scratch` … */
  readonly label: string;
}

/** A matrix operand, in elements: element (b, i, j) is at `offset + b * batchStride + i * rowStride + j * columnStride`. */
export interface MatrixOperand {
  readonly buffer: number;
  readonly offset: number;
  readonly batchStride: number;
  readonly rowStride: number;
  readonly columnStride: number;
}

export type Step =
  /** Runs a kernel; `buffers[i]` is the plan buffer behind the kernel's buffer i, `scratch[i]` behind its scratch i. */
  | {
      readonly kind: 'kernel';
      readonly kernel: Kernel;
      readonly buffers: readonly number[];
      readonly scratch: readonly number[];
      readonly nodes: readonly number[];
    }
  /** c = a · b for each of `batch` matrices: (m, k) · (k, n). One stride of a, b and c's (row, column) is 1. */
  | {
      readonly kind: 'matmul';
      readonly dtype: DType;
      readonly m: number;
      readonly n: number;
      readonly k: number;
      readonly batch: number;
      readonly a: MatrixOperand;
      readonly b: MatrixOperand;
      readonly c: MatrixOperand;
      readonly nodes: readonly number[];
    };

export interface Plan {
  readonly buffers: readonly PlanBuffer[];
  readonly steps: readonly Step[];
  /** For each buffer of role `input`, in order: the source of the graph that fills it. */
  readonly inputs: readonly number[];
  /** For each output of the graph: its place among the buffers of role `output`; -1: it has no elements. */
  readonly outputs: readonly number[];
  readonly arenaByteLength: number;
  /** Upper bound of the device memory a run holds: inputs that must be brought in, outputs, arena, scratch, workspaces. */
  readonly peakBytes: number;
}

/** Prints a plan as text: buffers with their places, steps in order. */
export function printPlan(plan: Plan): string {
  const buffers = plan.buffers.map(
    (buffer, k) =>
      `b${k} ${buffer.role} ${buffer.byteLength} bytes${buffer.role === 'temporary' ? ` at ${buffer.offset}` : ''}: ${buffer.label}`,
  );
  const list = (ids: readonly number[]): string => ids.map((b) => `b${b}`).join(' ');
  const steps = plan.steps.map((step, k) =>
    step.kind === 'kernel'
      ? `${k} ${step.kernel.name} ${list(step.buffers)}${step.scratch.length > 0 ? ` scratch ${list(step.scratch)}` : ''}`
      : `${k} matmul ${step.dtype} ${step.batch} x (${step.m}, ${step.k}) @ (${step.k}, ${step.n}) ${list([step.a.buffer, step.b.buffer, step.c.buffer])}`,
  );
  return [`arena ${plan.arenaByteLength} bytes, peak ${plan.peakBytes} bytes`, ...buffers, ...steps].join(
    '\n',
  );
}
