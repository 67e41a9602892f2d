/**
 * Planners of steps that one device does alone, kept while one job is planned: the search for the least budget of a
 * refused job plans the same steps a dozen times, for less room each time, and a `DevicePlanner` groups and cuts
 * them once. Made by `shard-partition.ts`, used by `shard-phase.ts` and `one-device.ts`.
 */
import type { DeviceModel } from '../plan/device-model.js';
import { DevicePlanner } from '../plan/device-planner.js';
import type { Step } from '../plan/plan.js';
import type { StepList } from '../plan/step-list.js';

export class WholePlanners {
  readonly #known = new Map<string, DevicePlanner>();
  readonly #numbers = new Map<object, number>();

  /**
   * The planner of a step list. `rules`: all that the model depends on which may differ between plans of the job; the
   * model itself is made once for each.
   */
  of(stepList: StepList, rules: string, model: () => DeviceModel): DevicePlanner {
    const steps = stepList.steps.map((step) => this.#keyOf(step));
    const buffers = stepList.buffers.map(({ role, byteLength, isStored, source }) =>
      [role, byteLength, isStored, source].join(),
    );
    const key = [rules, steps.join(), buffers.join(' ')].join('; ');
    const known = this.#known.get(key) ?? new DevicePlanner(stepList, model());
    this.#known.set(key, known);
    return known;
  }

  /** Phases of kernels are made anew for each way to share; other steps stay the same objects. */
  #keyOf(step: Step): string {
    if (step.kind !== 'phase' && step.kind !== 'finish') return String(this.#numberOf(step));
    const { kind, kernel, phase, buffers, scratch } = step;
    return [kind, this.#numberOf(kernel), phase, `[${buffers}]`, `[${scratch}]`].join(' ');
  }

  #numberOf(object: object): number {
    const number = this.#numbers.get(object) ?? this.#numbers.size;
    this.#numbers.set(object, number);
    return number;
  }
}
