/**
 * Where the states of loops lie while their rounds are planned: what a round makes is current in the next one, and
 * copies that are kept are parts of one value. Called by `sharding.ts`.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Phase } from '../plan/plan.js';
import type { LoopStages } from './loop-phases.js';
import type { Piece } from './shard-device.js';

/** Values so far, by buffer: where they are on devices, and the bytes that each device holds of them. */
interface Values {
  readonly pieces: Map<number, readonly Piece[]>;
  readonly held: readonly Map<number, number>[];
  readonly byteLengthOf: (buffer: number) => number;
  readonly isOnDevices: (buffer: number) => boolean;
}

export class Rounds {
  /** Of states that loops keep on devices, the bytes of each device. */
  readonly keptBytes = new Map<number, readonly number[]>();
  readonly #values: Values;

  constructor(values: Values) {
    this.#values = values;
  }

  /** Before a loop's first stage: room for all states that it keeps on devices, as far as that is known. */
  begin(loops: readonly LoopStages[], at: number): void {
    const { held } = this.#values;
    for (const { loop, first } of loops)
      for (const { kept } of first === at ? loop.states : [])
        for (const [device, bytes] of this.keptBytes.get(kept)?.entries() ?? [])
          held[device]!.set(kept, bytes);
  }

  /**
   * After a stage. False: a round does not leave its states where it found them, or the devices share nothing in
   * it.
   */
  end(loops: readonly LoopStages[], at: number, phases: readonly Phase[]): boolean {
    return loops.every((stages) => {
      const { first, lead, steady, keep, end } = stages;
      const isLead = at === first + lead - 1;
      const isLast = at === first + lead + steady - 1;
      if (isLast && !phases.slice(first).some(isSharded)) return false;
      if (isLead) this.#handOn(stages);
      else if (isLast && !this.#isAsBefore(stages)) return false;
      if (isLast) this.#leave(stages);
      if (keep === 0 || at !== end - 1) return true;
      return phases.slice(-keep).every(isSharded) && this.#joinFrames(stages);
    });
  }

  /** The first round's results are current. */
  #handOn({ loop }: LoopStages): void {
    const { pieces, held } = this.#values;
    for (const { first, current } of loop.states) {
      pieces.set(current, pieces.get(first)!);
      for (const bytes of held) {
        if (bytes.has(first)) bytes.set(current, bytes.get(first)!);
        bytes.delete(first);
      }
    }
  }

  #isAsBefore({ loop }: LoopStages): boolean {
    const { pieces } = this.#values;
    return loop.states.every(({ next, current }) => isDeepStrictEqual(pieces.get(next), pieces.get(current)));
  }

  #leave({ loop }: LoopStages): void {
    const { pieces, held } = this.#values;
    for (const { next, current } of loop.states) {
      for (const bytes of held) bytes.delete(next);
      // Where a condition ends the loop at once, it is what the loop began with.
      if (loop.condition >= 0) pieces.set(current, []);
    }
  }

  #joinFrames({ loop }: LoopStages): true {
    const { pieces, held, byteLengthOf, isOnDevices } = this.#values;
    const count = loop.rounds / loop.every;
    for (const { frame, kept } of loop.states) {
      if (frame < 0 || !isOnDevices(kept)) continue;
      const from = (k: number): Piece[] =>
        pieces.get(frame)!.map(({ device, first, last }) => {
          const before = k * byteLengthOf(frame);
          return { device, first: first + before, last: last + before };
        });
      pieces.set(kept, Array.from({ length: count }, (_, k) => from(k)).flat());
      const bytes = held.map((one) => count * (one.get(frame) ?? 0));
      this.keptBytes.set(kept, bytes);
      for (const [device, one] of held.entries()) {
        one.set(kept, bytes[device]!);
        one.delete(frame);
      }
    }
    return true;
  }
}

const isSharded = ({ kind }: Phase): boolean => kind === 'sharded';
