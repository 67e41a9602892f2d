/**
 * Values that a reduction stores beside its results become maps of their own, which later sweeps run again for
 * each tile, where nothing can wait on the host:
 *
 *     m = x > 0, s = Σ x·m in one kernel, Σ (x - s)²·m     →     s = Σ x·(x > 0);  m = x > 0, Σ (x - s)²·m
 *
 * Called by `sweeps.ts` for the CPU alone: there the order of a sum depends on the reduction, and not on what
 * else its kernel stores.
 */
import { usedBuffers } from '../../codegen/cuts/split-phases.js';
import { mergeAxes, permuteAxes, sizesOf, withoutDead } from '../../fusion/kernel/algebra.js';
import type { Kernel, Store } from '../../fusion/kernel/kernel.js';
import { levelsOf } from '../../fusion/kernel/levels.js';
import type { Draft } from '../plan/draft.js';
import type { KernelStep, Step } from '../plan/plan.js';

/** The draft with such maps; itself, where there are none. */
export function withRemadeValues(draft: Draft): Draft {
  const isOwn = (buffer: number): boolean => draft.buffers[buffer]!.role === 'temporary';
  const steps = draft.steps.flatMap((step) => (step.kind === 'kernel' ? mapsApart(step, isOwn) : [step]));
  return steps.length === draft.steps.length ? draft : { ...draft, steps };
}

function mapsApart(step: KernelStep, isOwn: (buffer: number) => boolean): Step[] {
  const { kernel, buffers, scratch } = step;
  if (kernel.reduced.length === 0 || scratch.length > 0) return [step];
  const { element, phase } = levelsOf(kernel);
  const isMap = ({ value, access }: Store): boolean =>
    element[value] === true && phase[value] === 0 && isOwn(buffers[access.buffer]!);
  const maps = kernel.stores.filter(isMap);
  const others = kernel.stores.filter((store) => !isMap(store));
  if (maps.length === 0 || others.length === 0) return [step];
  return [...maps.map((store) => mapOf(kernel, store)), withoutDead({ ...kernel, stores: others })].map(
    (own) => {
      const { kernel: less, used } = usedBuffers(own);
      return { ...step, kernel: less, buffers: used.map((k) => buffers[k]!) };
    },
  );
}

/** The map of one store, over the axes in the order in which it walks the memory. */
function mapOf(kernel: Kernel, store: Store): Kernel {
  const { strides } = store.access;
  const order = strides.map((_, k) => k).sort((a, b) => Math.abs(strides[b]!) - Math.abs(strides[a]!));
  const name = `map_of_${kernel.name}`;
  const map = { ...kernel, name, parallel: sizesOf(kernel), reduced: [], stores: [store] };
  return mergeAxes(permuteAxes(withoutDead(map), order));
}
