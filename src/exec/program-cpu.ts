/** Plan → native program for the CPU: every kernel becomes a tape. Called by `evaluate.ts`. */
import { encodeTape } from '../codegen/tape.js';
import { dtypeCode } from '../graph/dtype.js';
import type { ProgramSpec, StepSpec } from './native.js';
import type { Plan, Step } from './plan.js';
import type { DeviceNeeds } from './planner.js';

/** Tapes bring their own scratch memory, and host arrays are read in place. */
export const CPU_NEEDS: DeviceNeeds = { scratchOf: () => [], workspaceByteLength: 0, copiesHost: false };

export function cpuProgram(plan: Plan): ProgramSpec {
  return {
    device: 'cpu',
    buffers: plan.buffers.map(({ role, byteLength, offset }) => ({ role, byteLength, offset })),
    arenaByteLength: plan.arenaByteLength,
    images: [],
    steps: plan.steps.map(stepSpec),
  };
}

function stepSpec(step: Step): StepSpec {
  if (step.kind === 'kernel') return { kind: 'tape', tape: encodeTape(step.kernel), buffers: step.buffers };
  return matmulSpec(step);
}

/** A matrix product is the same step on every device. */
export function matmulSpec(step: Extract<Step, { kind: 'matmul' }>): StepSpec {
  const { m, n, k, batch, a, b, c } = step;
  return { kind: 'matmul', dtype: dtypeCode(step.dtype), m, n, k, batch, a, b, c };
}
