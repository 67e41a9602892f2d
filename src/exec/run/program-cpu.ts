/** Plan → native program for the CPU: every kernel becomes a tape. Called by `program.ts`. */

import { encodeTape } from '../../codegen/cpu/tape.js';
import { readsOnce } from '../../codegen/cpu/tape-read.js';
import { skewOf } from '../../codegen/cpu/tape-skew.js';
import { tapeWorks } from '../../codegen/cpu/tape-work.js';
import { callRow } from '../calls/table.js';
import type { ProgramSpec, StepSpec, SweepSpec } from '../native/native.js';
import { hostBlockBytes } from '../plan/block-bytes.js';
import type { SweepRules } from '../plan/device-needs.js';
import type { Plan, Step, SweepStep } from '../plan/plan.js';
import type { DeviceNeeds, Place } from '../plan/plan-graph.js';
import { bufferSpecs, joinedRanges, loopSpec } from './program-spec.js';

const CPU_SWEEPS: SweepRules = {
  worksOf: tapeWorks,
  canWindow: () => true,
  canSpill: false,
  canReadBack: true,
  slots: { in: 2, out: 1, local: 1 },
  tileBytes: Number.POSITIVE_INFINITY,
};

/**
 * Arrays in memory and results are used where they lie, files are read; tapes bring their own scratch memory.
 */
export const CPU_NEEDS: DeviceNeeds = {
  scratchOf: () => [],
  workspaceOf: (step) => callRow(step).workspace.cpu(step),
  blockBytes: hostBlockBytes,
  hasOwnBlock: () => true,
  heldBytes: ({ role, byteLength, isRead, isFetched }) =>
    role === 'temporary' || isRead || isFetched === true ? byteLength : 0,
  readsOnce,
  skewOf,
  isByElement: ({ reduced }) => reduced.length === 0,
  sweeps: CPU_SWEEPS,
};

/** Results that go to files are held until they are written: in windows where they do not fit. */
const FILE_NEEDS: DeviceNeeds = {
  ...CPU_NEEDS,
  sweeps: { ...CPU_SWEEPS, canReadBack: false },
  heldBytes: (buffer) => (buffer.role === 'output' ? buffer.byteLength : CPU_NEEDS.heldBytes(buffer)),
};

/** The properties of the CPU that plans depend on. `place`: where results are wanted. */
export const cpuNeeds = (place: Place): DeviceNeeds => (place === 'file' ? FILE_NEEDS : CPU_NEEDS);

export function cpuProgram(plan: Plan): ProgramSpec {
  return {
    device: 'cpu',
    buffers: bufferSpecs(plan),
    arenaByteLength: plan.arenaByteLength,
    images: [],
    steps: plan.steps.map(stepSpec),
  };
}

const stepSpec = (step: Step): StepSpec =>
  step.kind === 'sweep' ? sweepSpec(step, launchSpec) : launchSpec(step);

/** A step is one launch. */
function launchSpec(step: Exclude<Step, SweepStep>): Exclude<StepSpec, SweepSpec> {
  switch (step.kind) {
    case 'kernel':
      return { kind: 'tape', tape: encodeTape(step.kernel), buffers: step.buffers };
    case 'phase':
    case 'finish': {
      const kind = step.kind === 'phase' ? 'tapePhase' : 'tapeFinish';
      const buffers = [...step.buffers, ...step.scratch];
      return { kind, tape: encodeTape(step.kernel), phase: step.phase, buffers };
    }
    case 'call':
      return callRow(step).spec(step);
    case 'loop':
      return loopSpec(step, (part) => [stepSpec(part)]);
  }
}

/** A sweep whose steps are one launch each. */
function sweepSpec(
  sweep: SweepStep,
  spec: (step: Exclude<Step, SweepStep>) => Exclude<StepSpec, SweepSpec>,
): SweepSpec {
  return {
    kind: 'sweep',
    tiles: sweep.tiles,
    buffers: sweep.windows,
    body: sweep.body.map(({ step, ranges }) => ({ step: spec(step), ranges: joinedRanges(ranges) })),
  };
}
