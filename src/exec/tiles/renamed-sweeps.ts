/**
 * Sweeps of tasks that differ from others in the names of their buffers alone: the sizes that were found for those, with
 * the other buffers in their place. Called by `sweep-memory.ts`.
 */
import { renamed } from './renaming.js';
import { type NoFit, RENAMED_SWEEP, type SizedSweep, type Sizer } from './sweep-slots.js';
import type { SweptTask } from './sweep-windows.js';

/** Tasks, and the buffers that they touch, in order. */
interface Named {
  readonly tasks: readonly SweptTask[];
  readonly buffers: readonly number[];
}

/** The sizer of tasks that are like others. */
export function renamedSizer(known: Named & { readonly sizer: Sizer }, own: Named): Sizer {
  const names = new Map(known.buffers.map((buffer, place) => [buffer, own.buffers[place]!]));
  return function* (room) {
    const found = yield* known.sizer(room);
    return 'needed' in found ? refusalOf(found, known, own) : renamedSweep(found, names, own);
  };
}

/** The refusal, of the step at the same place. */
function refusalOf(found: NoFit, known: Named, own: Named): NoFit {
  const place = known.tasks.findIndex(({ task }) => task.step === found.step);
  return place < 0 ? found : { ...found, step: own.tasks[place]!.task.step };
}

function renamedSweep(found: SizedSweep, names: ReadonlyMap<number, number>, own: Named): SizedSweep {
  // Buffers that the tasks do not touch have no pitches here.
  const pitches = new Map([...found.pitches].filter(([buffer]) => names.has(buffer)));
  const name = (buffer: number): number => names.get(buffer)!;
  return { ...renamed({ ...found, pitches }, RENAMED_SWEEP, name), tasks: own.tasks };
}
