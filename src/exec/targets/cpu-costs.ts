/** The times of steps on the CPU, as far as they can be known before they run. */

import { memoryRateOf } from '../../codegen/cpu/tape-rates.js';
import { secondsOfTape } from '../../codegen/cpu/tape-seconds.js';
import { callRow } from '../calls/table.js';
import type { CostModel } from '../plan/device-model.js';
import type { Step } from '../plan/plan.js';
import { cpuRates } from './cpu-probes.js';

const NANOSECOND = 1e-9;
/** A run is queued, and its end is seen. */
const RUN_SECONDS = 5e-6;

/** Operands and results are used where they lie: nothing is copied to the device. */
export const CPU_COSTS: CostModel = {
  secondsOf: (step, part) => part * secondsOf(step),
  busRate: Number.POSITIVE_INFINITY,
  phaseSeconds: RUN_SECONDS,
  roundSeconds: RUN_SECONDS,
};

/** Of calls, their memory traffic alone: libraries and routines say nothing of their arithmetic. */
function secondsOf(step: Step): number {
  const rates = cpuRates();
  switch (step.kind) {
    case 'kernel':
      return secondsOfTape(step.kernel, rates);
    case 'phase':
      return step.phase === 0 ? secondsOfTape(step.kernel, rates) : 0;
    case 'finish':
      return 0;
    case 'call': {
      const { bytesRead, bytesWritten } = callRow(step).explain(step, 'cpu');
      const { read, write } = memoryRateOf(rates, bytesRead + bytesWritten);
      return NANOSECOND * (read * bytesRead + write * bytesWritten);
    }
    case 'loop':
      return Math.ceil(step.steps / step.stepsAtOnce) * sumOf(step.body);
    case 'sweep':
      return sumOf(step.body.map((part) => part.step));
  }
}

const sumOf = (steps: readonly Step[]): number => steps.reduce((sum, step) => sum + secondsOf(step), 0);
