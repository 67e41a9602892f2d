/**
 * Works that keep what ranges of units touch: planning asks for the same ranges over and over, for each
 * number of tiles, each threshold and each budget. For one planning: nobody else needs them. Called by
 * `plan-graph.ts` and `plan-shards.ts`.
 */
import type { Pitches } from '../../codegen/cuts/pitch.js';
import type { Work, Works } from '../../codegen/cuts/work.js';
import type { Kernel } from '../../fusion/kernel/kernel.js';
import type { DeviceModel } from '../plan/device-model.js';
import type { WorksOf } from './sweep-cuts.js';

/** The model of a device, for one planning. */
export const forOnePlanning = (model: DeviceModel): DeviceModel =>
  model.sweeps === undefined
    ? model
    : { ...model, sweeps: { ...model.sweeps, worksOf: remembered(model.sweeps.worksOf) } };

function remembered(worksOf: WorksOf): WorksOf {
  const known = new Map<Kernel, Works>();
  return (kernel) => {
    let works = known.get(kernel);
    if (works === undefined) {
      works = withKeptRegions(worksOf(kernel));
      known.set(kernel, works);
    }
    return works;
  };
}

const withKeptRegions = (works: Works): Works => ({
  ...works,
  rows: works.rows && keeping(works.rows),
  phases: works.phases.map((phase) => ({ ...phase, work: keeping(phase.work) })),
});

/** Regions without pitches, by the first and the last unit. */
function keeping(work: Work): Work {
  const kept = new Map<number, Map<number, ReturnType<Work['regions']>>>();
  const regions = (first: number, last: number, pitches?: Pitches): ReturnType<Work['regions']> => {
    if (pitches !== undefined && pitches.size > 0) return work.regions(first, last, pitches);
    let from = kept.get(first);
    if (from === undefined) {
      from = new Map();
      kept.set(first, from);
    }
    let found = from.get(last);
    if (found === undefined) {
      found = work.regions(first, last);
      from.set(last, found);
    }
    return found;
  };
  return { ...work, regions };
}
