/** The times of steps on the CPU, as far as they can be known before they run. */

import { secondsOfTape } from '../../codegen/cpu/tape-seconds.js';
import type { CostModel } from '../plan/device-model.js';
import type { Step } from '../plan/plan.js';
import { secondsOfCall } from './cpu-call-seconds.js';
import { cpuRates } from './cpu-probes.js';

/** A run is queued, and its end is seen. */
const RUN_SECONDS = 5e-6;

/** Operands and results are used where they lie: nothing is copied to the device. */
export const CPU_COSTS: CostModel = {
  secondsOf: (step, part) => part * secondsOf(step),
  busRate: Number.POSITIVE_INFINITY,
  phaseSeconds: RUN_SECONDS,
  roundSeconds: RUN_SECONDS,
};

function secondsOf(step: Step): number {
  const rates = cpuRates();
  switch (step.kind) {
    case 'kernel':
      return secondsOfTape(step.kernel, rates);
    case 'phase':
      return step.phase === 0 ? secondsOfTape(step.kernel, rates) : 0;
    case 'finish':
      return 0;
    case 'call':
      return secondsOfCall(step, rates);
    case 'loop':
      return Math.ceil(step.steps / step.stepsAtOnce) * sumOf(step.body);
    case 'sweep':
      return sumOf(step.body.map((part) => part.step));
  }
}

const sumOf = (steps: readonly Step[]): number => steps.reduce((sum, step) => sum + secondsOf(step), 0);
