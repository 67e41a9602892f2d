/**
 * SweepMemory: sizers of sweeps, shares that their tiles hold, and calls that cannot be cut, for all choices of what is
 * windowed. Most choices differ in a buffer that a sweep does not touch, so that its tiles are the same; so are those of
 * kernels of one structure over other buffers of the same sizes, as of the steps of a search. For one step list and one
 * way to let values wait. Used by `sweep-attempt.ts` and `sweep-pitches.ts`.
 */
import { kernelFingerprint } from '../../fusion/kernel/fingerprint.js';
import type { Kernel } from '../../fusion/kernel/kernel.js';
import { remembered } from '../../host/once.js';
import type { Slices } from '../../host/slices.js';
import type { CallStep } from '../calls/call.js';
import { buffersOf } from '../plan/step-buffers.js';
import { renamedSizer } from './renamed-sweeps.js';
import type { BytePitches, Task } from './sweep-cuts.js';
import type { Sizer, SlotRules } from './sweep-slots.js';
import type { SweptTask } from './sweep-windows.js';

type Share = number | undefined;

/** A sizer of tasks, and their buffers in the order in which they are first touched. */
interface Known {
  readonly sizer: Sizer;
  readonly tasks: readonly SweptTask[];
  readonly buffers: readonly number[];
}

export class SweepMemory {
  readonly #sizers = new Map<string, Sizer>();
  readonly #alike = new Map<string, Known>();
  readonly #shares = new Map<string, { readonly share: Share }>();
  readonly #uncut = new Set<string>();
  readonly #numbers = new Map<object, number>();
  readonly #structures = new Map<string, number>();

  /** The sizer of tasks, by how they run; `make` makes it where no tasks were alike. Rooms are asked for again, too. */
  sizer(tasks: readonly SweptTask[], runs: 'tiles' | 'blocks', rules: SlotRules, make: () => Sizer): Sizer {
    const { isWindowed, isPartial, byteLengthOf, directionOf, pitches } = rules;
    const buffers = buffersIn(tasks);
    const text = (k: number): string =>
      `${byteLengthOf(k)} ${directionOf(k, tasks)} ${pitches.get(k) ?? ''} ${isPartial?.(k) ?? ''}`;
    const alike = `${runs};${this.#textOf(tasks, buffers, isWindowed, text)}`;
    const own = `${alike};${buffers}`;
    const found = this.#sizers.get(own);
    if (found !== undefined) return found;
    const known = this.#alike.get(alike);
    const sizer =
      known === undefined ? remembered(make()) : remembered(renamedSizer(known, { tasks, buffers }));
    this.#sizers.set(own, sizer);
    if (known === undefined) this.#alike.set(alike, { sizer, tasks, buffers });
    return sizer;
  }

  /** The share of windowed bytes that tiles hold; `find` finds it where no tasks were alike. */
  *share(
    tasks: readonly SweptTask[],
    { isWindowed, byteLengthOf }: Pick<SlotRules, 'isWindowed' | 'byteLengthOf'>,
    pitches: BytePitches,
    find: () => Slices<Share>,
  ): Slices<Share> {
    const text = (k: number): string => `${byteLengthOf(k)} ${pitches.get(k) ?? ''}`;
    const key = this.#textOf(tasks, buffersIn(tasks), isWindowed, text);
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

  /** Buffers by their places among those that the tasks touch. */
  #textOf(
    tasks: readonly SweptTask[],
    buffers: readonly number[],
    isWindowed: (buffer: number) => boolean,
    textOf: (buffer: number) => string,
  ): string {
    const places = new Map(buffers.map((buffer, place) => [buffer, place]));
    const own = tasks.map(
      ({ task, isKept, share }) => `${this.#textOfTask(task, places)} ${isKept} ${share ?? ''}`,
    );
    const windows = buffers.map((k) => (isWindowed(k) ? textOf(k) : ''));
    return `${own.join(';')};${windows.join()}`;
  }

  /** A task by the structure of its kernel, by its cut or its step. */
  #textOfTask({ step, cut, takesInWindows }: Task, places: ReadonlyMap<number, number>): string {
    if (!('kernel' in step)) return `${this.#numberOf(step.kind === 'call' ? (cut ?? step) : step)}`;
    const phase = 'phase' in step ? step.phase : '';
    const at = (buffers: readonly number[]): string => buffers.map((k) => places.get(k) ?? `of ${k}`).join();
    const how = `${takesInWindows ?? ''} ${cut === undefined}`;
    return `${step.kind} ${this.#structureOf(step.kernel)} ${phase} ${at(step.buffers)} ${at(step.scratch)} ${how}`;
  }

  #structureOf(kernel: Kernel): string {
    const text = structures.get(kernel) ?? kernelFingerprint(kernel);
    structures.set(kernel, text);
    const found = this.#structures.get(text) ?? this.#structures.size;
    this.#structures.set(text, found);
    return `structure ${found}`;
  }

  #numberOf(code: object): number {
    const found = this.#numbers.get(code) ?? this.#numbers.size;
    this.#numbers.set(code, found);
    return found;
  }
}

const structures = new WeakMap<Kernel, string>();

/** The buffers that tasks touch, in order. */
const buffersIn = (tasks: readonly SweptTask[]): number[] => [
  ...new Set(tasks.flatMap(({ task: { reads, writes } }) => [...reads, ...writes])),
];
