/**
 * The chunks of a row that do not fit the registers of its threads: they are held in shared memory from phase
 * to phase, each in a place that only its thread touches. Called by `row-kernel.ts`.
 *
 * Only the last chunk of a row may lie past its end, and only it is guarded: a guard around every load would
 * keep them from being in flight together.
 */

import { byteLengthOf } from '../../../graph/dtype.js';
import { type HeldSlots, heldSlots } from '../schedules/schedule-rows.js';
import { printChunk } from './row-chunk.js';
import type { RowContext } from './row-context.js';
import type { RowPhase } from './row-phases.js';

/** Loads of a thread on their way to shared memory together. */
const FLIGHT = 4;

export class SharedChunks {
  readonly #c: RowContext;
  readonly #slots: HeldSlots;

  constructor(c: RowContext) {
    this.#c = c;
    this.#slots =
      c.schedule.sharedChunks > 0 ? heldSlots(c.body.kernel) : { slotOf: new Map(), byteLengths: [] };
  }

  /** Dynamic shared memory of a block. */
  get byteLength(): number {
    return this.#offset(this.#slots.byteLengths.length);
  }

  /** Whether every chunk lies within the row. */
  get #full(): boolean {
    const { chunks, sharedChunks } = this.#c.schedule;
    return this.#c.length >= (chunks + sharedChunks) * this.#c.step;
  }

  /** Byte at which a slot starts. */
  #offset(slot: number): number {
    const { threadsR, threadsP, sharedChunks, width } = this.#c.schedule;
    const bytes = this.#slots.byteLengths.slice(0, slot).reduce((sum, n) => sum + n, 0);
    return bytes * threadsR * threadsP * sharedChunks * width;
  }

  /**
   * Where a held value of chunk `k` of this thread stands. Values that share a slot begin at the same byte whatever their
   * sizes: one that is narrower than the slot must not lie where another thread writes a wider one.
   */
  #place(position: number, type: string, k: string): string {
    const { body, schedule } = this.#c;
    const { threadsR, threadsP } = schedule;
    const slot = this.#slots.slotOf.get(position)!;
    // A slot is a multiple of a warp's worth of elements, so of 16 bytes.
    const offset = this.#offset(slot) / 16;
    const pitch = this.#slots.byteLengths[slot]! / byteLengthOf(body.instruction(position).dtype);
    const chunk = `(${k}) * ${threadsR * threadsP} + (int)threadIdx.x`;
    const at = pitch === 1 ? chunk : `${pitch} * (${chunk})`;
    return `reinterpret_cast<${type}*>(weft_row + ${offset})[${at}]`;
  }

  /** Brings loads that are held into shared memory, a few in flight at a time. */
  printLoads(phase: RowPhase): void {
    const { out, loads, lifetimes, columns, schedule } = this.#c;
    const { chunks, sharedChunks } = schedule;
    for (const position of phase.loads.filter((load) => lifetimes.held.has(load))) {
      const type = loads.typeOf(position);
      for (let first = 0; first < sharedChunks; first += FLIGHT) {
        const count = Math.min(FLIGHT, sharedChunks - first);
        const last = first + count === sharedChunks && !this.#full ? count - 1 : count;
        const each = (inner: (k: string, reduced: readonly string[]) => void): void => {
          const chunk = (k: string, full: boolean): void =>
            this.#c.chunk(`(${chunks + first} + ${k})`, full, (reduced) => inner(k, reduced));
          if (last > 0) out.unrolled('k', last, () => chunk('k', true));
          if (last < count) out.block('', () => chunk(`${last}`, false));
        };
        out.block('', () => {
          out.line(`${type} l${position}[${count}];`);
          each((k, reduced) => loads.load(out, position, `[${k}]`, [...columns, ...reduced]));
          each((k) => out.line(`${this.#place(position, type, `${first} + ${k}`)} = l${position}[${k}];`));
        });
      }
    }
  }

  /** The part of a walk whose chunks lie in shared memory. */
  printWalk(number: number, phase: RowPhase): void {
    const { out, schedule } = this.#c;
    const { chunks, sharedChunks } = schedule;
    const whole = this.#full ? sharedChunks : sharedChunks - 1;
    const chunk = (k: string, full: boolean): void =>
      this.#c.chunk(`(${chunks} + ${k})`, full, (reduced) => this.#printChunk(number, phase, k, reduced));
    if (whole > 0) {
      out.line('#pragma unroll 2');
      out.block(`for (int k = 0; k < ${whole}; ++k)`, () => chunk('k', true));
    }
    if (whole < sharedChunks) out.block('', () => chunk(`${whole}`, false));
  }

  #printChunk(number: number, phase: RowPhase, k: string, reduced: readonly string[]): void {
    const { out, loads, lifetimes } = this.#c;
    const { first, last, held } = lifetimes;
    for (const position of held) {
      const isLoad = this.#c.isLoad(position);
      const needed = first[position]! <= number && last[position]! >= number;
      if (!needed || (!isLoad && first[position] === number)) continue;
      const type = isLoad ? loads.typeOf(position) : this.#c.packType(position);
      out.line(`const ${type} ${isLoad ? 'l' : 'h'}${position} = ${this.#place(position, type, k)};`);
    }
    for (const position of phase.kept) out.line(`${this.#c.packType(position)} h${position};`);
    printChunk(this.#c, phase, reduced, { indexOf: () => '', kept: '' });
    for (const position of phase.kept)
      out.line(`${this.#place(position, this.#c.packType(position), k)} = h${position};`);
  }
}
