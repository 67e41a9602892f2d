/**
 * Sweeps of tasks that differ from others in the names of their buffers alone: the sizes that were found for those, with
 * the other buffers in their place. Called by `sweep-memory.ts`.
 */
import type { NoFit, SizedSweep, Sizer } from './sweep-slots.js';
import type { SweptTask, Tile } from './sweep-windows.js';

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
    return 'needed' in found ? refusalOf(found, known, own) : renamed(found, names, own);
  };
}

/** The refusal, of the step at the same place. */
function refusalOf(found: NoFit, known: Named, own: Named): NoFit {
  const place = known.tasks.findIndex(({ task }) => task.step === found.step);
  return place < 0 ? found : { ...found, step: own.tasks[place]!.task.step };
}

function renamed(found: SizedSweep, names: ReadonlyMap<number, number>, { tasks }: Named): SizedSweep {
  const name = (buffer: number): number => names.get(buffer)!;
  const of = <T>(values: ReadonlyMap<number, T>): Map<number, T> =>
    new Map([...values].map(([buffer, value]) => [name(buffer), value]));
  const tileOf = (tile: Tile): Tile => ({
    ...tile,
    windows: of(tile.windows),
    ...(tile.unfinished === undefined ? {} : { unfinished: tile.unfinished.map(name) }),
  });
  const { length, at } = found.tiles;
  const tiles = {
    length,
    at: (t: number): Tile | undefined => {
      const tile = at(t);
      return tile && tileOf(tile);
    },
  };
  const slots = found.slots.map((slot) => ({ ...slot, buffer: name(slot.buffer) }));
  const inPlace = found.inPlace?.map((one) => ({ ...one, buffer: name(one.buffer) }));
  return {
    ...found,
    tasks,
    pitches: new Map([...found.pitches].flatMap(([k, pitch]) => (names.has(k) ? [[name(k), pitch]] : []))),
    tiles,
    slots,
    ...(inPlace === undefined ? {} : { inPlace }),
  };
}
