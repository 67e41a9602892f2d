/** Steps in sweeps: no task reads what a later one of its sweep makes. */
import { expect, it } from 'vitest';
import type { Step } from '../../src/exec/plan/plan.js';
import type { Cut, Task, Touch } from '../../src/exec/tiles/sweep-cuts.js';
import { groupTasks } from '../../src/exec/tiles/sweep-groups.js';
import { completed } from '../../src/host/slices.js';

const UNITS = 16;
/** Bytes of the buffers by number; those of a few are not windowed. */
const BYTES = { x: 1600, few: 320, many: 1600, mapped: 1600, result: 1600, partial: 8, sum: 8 };
type Name = keyof typeof BYTES;
const NAMES = Object.keys(BYTES) as Name[];
const numbers = (names: readonly Name[]): number[] => names.map((name) => NAMES.indexOf(name));
const isWindowed = (buffer: number): boolean => BYTES[NAMES[buffer]!] > 8;

/** A task whose units touch their part of each windowed buffer. */
function task(kind: Step['kind'], from: readonly Name[], to: readonly Name[], repeats: boolean): Task {
  const [reads, writes] = [numbers(from), numbers(to)];
  const touches = (buffers: readonly number[], first: number, last: number): Touch[] =>
    buffers.filter(isWindowed).map((buffer) => {
      const unit = BYTES[NAMES[buffer]!] / UNITS;
      return { buffer, first: first * unit, last: last * unit };
    });
  const cut: Cut = {
    units: UNITS,
    touches: (first, last) => ({ reads: touches(reads, first, last), writes: touches(writes, first, last) }),
    ranges: () => [],
    pitches: () => [],
  };
  const isCut = [...reads, ...writes].some(isWindowed);
  return { step: { kind } as Step, reads, writes, cut: isCut ? cut : undefined, repeats };
}

it('make no value again behind a task made again that reads it where it waits', () => {
  // Few bytes of a kernel wait, as it reads many more to make them again; as many as it reads are made again.
  const both = task('kernel', ['x'], ['few', 'many'], true);
  const map = task('kernel', ['few'], ['mapped'], true);
  const part = task('phase', ['x'], ['partial'], false);
  const finish = task('finish', ['partial'], ['sum'], false);
  const last = task('kernel', ['mapped', 'many', 'sum'], ['result'], true);
  const groups = completed(
    groupTasks(
      [both, map, part, finish, last].map((one) => [[one]]),
      {
        isWindowed,
        byteLengthOf: (buffer) => BYTES[NAMES[buffer]!],
        isInput: (buffer) => NAMES[buffer] === 'x',
        isFetched: () => false,
        canSpill: true,
        mostOfWhole: 0.6,
        inBlocks: false,
      },
    ),
  );
  if ('why' in groups) throw new Error(`refused: ${groups.why}`);
  expect(groups.at(-1)!.tasks).toEqual([map, last]);
  for (const { tasks } of groups)
    for (const [at, { reads }] of tasks.entries())
      expect(tasks.slice(at + 1).flatMap(({ writes }) => writes.filter((b) => reads.includes(b)))).toEqual(
        [],
      );
});
