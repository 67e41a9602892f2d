/**
 * Works that keep what ranges of units touch: planning asks for the same ranges over and over, for each
 * number of tiles, each threshold and each budget. Kernels of one structure, as the steps of a search, are cut alike and
 * share them. For one planning: nobody else needs them. Called by `plan-graph.ts` and `plan-shards.ts`.
 */
import type { Pitches } from '../../codegen/cuts/pitch.js';
import type { Work, Works } from '../../codegen/cuts/work.js';
import { kernelFingerprint } from '../../fusion/kernel/fingerprint.js';
import type { Kernel } from '../../fusion/kernel/kernel.js';
import { lastOf } from '../../host/once.js';
import type { DeviceModel } from '../plan/device-model.js';
import type { WorksOf } from './sweep-cuts.js';

/** The model of a device, for one planning. */
export const forOnePlanning = (model: DeviceModel): DeviceModel =>
  model.sweeps === undefined
    ? model
    : { ...model, sweeps: { ...model.sweeps, worksOf: remembered(model.sweeps.worksOf) } };

function remembered(worksOf: WorksOf): WorksOf {
  const known = new Map<Kernel, Works>();
  const alike = new Map<string, Works>();
  return (kernel) =>
    made(known, kernel, () => made(alike, kernelFingerprint(kernel), () => withKeptRegions(worksOf(kernel))));
}

const withKeptRegions = (works: Works): Works => ({
  ...works,
  rows: works.rows && keeping(works.rows),
  phases: works.phases.map((phase) => ({ ...phase, work: keeping(phase.work) })),
});

/** Regions by pitches, window, first and last unit. */
function keeping(work: Work): Work {
  type Kept = Map<number, Map<number, ReturnType<Work['regions']>>>;
  const byPitches = new Map<string, Kept>();
  const keptFor = lastOf((pitches: Pitches | undefined) =>
    made(byPitches, pitches === undefined ? '' : [...pitches].join(), (): Kept => new Map()),
  );
  const byWindow = new Map<string, Kept>();
  const regions: Work['regions'] = (first, last, pitches, window) => {
    const kept =
      window === undefined
        ? keptFor(pitches)
        : made(byWindow, `${window} ${pitches === undefined ? '' : [...pitches]}`, (): Kept => new Map());
    const from = made(kept, first, () => new Map());
    return made(from, last, () => work.regions(first, last, pitches, window));
  };
  return { ...work, regions };
}

/** The value of a key, which is made when it is first asked for. */
function made<K, V>(known: Map<K, V>, key: K, make: () => V): V {
  let found = known.get(key);
  if (found === undefined) {
    found = make();
    known.set(key, found);
  }
  return found;
}
