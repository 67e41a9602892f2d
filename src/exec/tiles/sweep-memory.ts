/**
 * SweepMemory: sizers of sweeps, shares that their tiles hold, and calls that cannot be cut, for all choices of what is
 * windowed. Most choices differ in a buffer that a sweep does not touch, so that its tiles are the same. For one step list
 * and one way to let values wait. Used by `sweep-attempt.ts` and `sweep-pitches.ts`.
 */
import { remembered } from '../../host/once.js';
import type { Slices } from '../../host/slices.js';
import type { CallStep } from '../calls/call.js';
import { buffersOf } from '../plan/step-buffers.js';
import type { BytePitches, Task } from './sweep-cuts.js';
import type { Sizer, SlotRules } from './sweep-slots.js';
import type { SweptTask } from './sweep-windows.js';

type Share = number | undefined;

export class SweepMemory {
  readonly #sizers = new Map<string, Sizer>();
  readonly #shares = new Map<string, { readonly share: Share }>();
  readonly #uncut = new Set<string>();
  readonly #numbers = new Map<object, number>();

  /** The sizer of tasks, by how they run; `make` makes it where no tasks were alike. Rooms are asked for again, too. */
  sizer(tasks: readonly SweptTask[], runs: 'tiles' | 'blocks', rules: SlotRules, make: () => Sizer): Sizer {
    const { isWindowed, byteLengthOf, directionOf, pitches } = rules;
    const text = (k: number): string => `${byteLengthOf(k)} ${directionOf(k, tasks)} ${pitches.get(k) ?? ''}`;
    const key = `${runs};${this.#textOf(tasks, isWindowed, text)}`;
    const found = this.#sizers.get(key) ?? remembered(make());
    this.#sizers.set(key, found);
    return found;
  }

  /** The share of windowed bytes that tiles hold; `find` finds it where no tasks were alike. */
  *share(
    tasks: readonly SweptTask[],
    isWindowed: (buffer: number) => boolean,
    pitches: BytePitches,
    find: () => Slices<Share>,
  ): Slices<Share> {
    const key = this.#textOf(tasks, isWindowed, (k) => `${pitches.get(k) ?? ''}`);
    const found = this.#shares.get(key) ?? { share: yield* find() };
    this.#shares.set(key, found);
    return found.share;
  }

  /** Notes that a call cannot be cut while some of the buffers that it touches are windowed. */
  addUncut(call: CallStep, isWindowed: (buffer: number) => boolean, inBlocks: boolean): void {
    this.#uncut.add(this.#textOfCall(call, isWindowed, inBlocks));
  }

  isUncut(call: CallStep, isWindowed: (buffer: number) => boolean, inBlocks: boolean): boolean {
    return this.#uncut.has(this.#textOfCall(call, isWindowed, inBlocks));
  }

  #textOfCall(call: CallStep, isWindowed: (buffer: number) => boolean, inBlocks: boolean): string {
    const { reads, writes } = buffersOf(call);
    return `${this.#numberOf(call)} ${inBlocks} ${[...reads, ...writes].filter(isWindowed)}`;
  }

  #textOf(
    tasks: readonly SweptTask[],
    isWindowed: (buffer: number) => boolean,
    textOf: (buffer: number) => string,
  ): string {
    const own = tasks.map(({ task, isKept, share }) => `${this.#textOfTask(task)} ${isKept} ${share ?? ''}`);
    const touched = new Set(tasks.flatMap(({ task: { reads, writes } }) => [...reads, ...writes]));
    const buffers = [...touched].map((k) => (isWindowed(k) ? `${k} ${textOf(k)}` : k));
    return `${own.join(';')};${buffers.join()}`;
  }

  /** A task by its kernel, which other choices have as well, its cut or its step. */
  #textOfTask({ step, cut }: Task): string {
    if (!('kernel' in step)) return `${this.#numberOf(step.kind === 'call' ? (cut ?? step) : step)}`;
    const phase = 'phase' in step ? step.phase : '';
    return `${step.kind} ${this.#numberOf(step.kernel)} ${phase} ${step.buffers} ${step.scratch}`;
  }

  #numberOf(code: object): number {
    const found = this.#numbers.get(code) ?? this.#numbers.size;
    this.#numbers.set(code, found);
    return found;
  }
}
