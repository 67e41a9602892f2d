/**
 * Lets maps write their results over values that end with them, where a job would not fit otherwise:
 *
 *     t = x @ w, y = tanh(t)   →   y = x @ w, y = tanh(y)
 *
 * A result takes the memory of an argument only where every element is read by the thread that then writes
 * it: the map's loads of it are where its store is. The arithmetic stays as it is. Calls whose rows say so do
 * the same. Called by `device-planner.ts`.
 */

import type { Kernel } from '../../fusion/kernel/kernel.js';
import type { CallStep } from '../calls/call.js';
import { callRow } from '../calls/table.js';
import { isWhereItIsStored } from './own-place.js';
import type { KernelStep, Step } from './plan.js';
import { type Lifetimes, lifetimesOf, usesOf } from './stages.js';
import type { StepList } from './step-list.js';

/**
 * The step list with fewer buffers in use; `undefined` where there is nothing to save. `isByElement`: see
 * `DeviceModel`.
 */
export function inPlace(
  stepList: StepList,
  isByElement: (kernel: Kernel) => boolean,
  overwrites: (step: CallStep) => boolean = () => false,
): StepList | undefined {
  const sharing = new Sharing(stepList);
  // From the last step on, so that a chain of maps shares the memory of its last result.
  for (let at = stepList.steps.length - 1; at >= 0; at--) {
    const step = stepList.steps[at]!;
    if (step.kind === 'kernel' && step.scratch.length === 0 && isByElement(step.kernel))
      sharing.look(step, at);
    if (step.kind === 'call' && overwrites(step)) sharing.lookCall(step, at);
  }
  return sharing.stepList();
}

class Sharing {
  readonly #stepList: StepList;
  /** By step; a loop is one. */
  readonly #lifetimes: Lifetimes;
  /** The first step that uses the memory of a result, where that was an argument's. */
  readonly #first = new Map<number, number>();
  /** Buffers that stay as they are. */
  readonly #fixed: ReadonlySet<number>;
  readonly #memoryOf = new Map<number, number>();
  /** By step, the places in its kernel's buffers that are one. */
  readonly #shared = new Map<number, readonly number[]>();

  constructor(stepList: StepList) {
    this.#stepList = stepList;
    this.#lifetimes = lifetimesOf(stepList.steps.map((step) => ({ uses: usesOf(step) })));
    this.#fixed = new Set(stepList.steps.flatMap((step) => (step.kind === 'loop' ? usesOf(step) : [])));
  }

  /** Lets a map's result take the memory of an argument that ends there, if one can. */
  look({ kernel, buffers }: KernelStep, at: number): void {
    for (const [input, argument] of buffers.entries()) {
      if (kernel.buffers[input]!.role !== 'input' || !this.#ends(argument, at)) continue;
      if (buffers.filter((buffer) => buffer === argument).length > 1) continue;
      const output = kernel.buffers.findIndex(
        ({ role }, k) =>
          role === 'output' &&
          this.#canTake(this.#memory(buffers[k]!), argument, at) &&
          isWhereItIsStored(kernel, input, k),
      );
      if (output < 0) continue;
      this.#take(argument, this.#memory(buffers[output]!));
      this.#shared.set(at, [input, output]);
      return;
    }
  }

  /** Lets a call's first result take the memory of its first operand, if that ends there. */
  lookCall(step: CallStep, at: number): void {
    const { reads, writes } = callRow(step).buffersOf(step);
    const [argument, result] = [reads[0]!, this.#memory(writes[0]!)];
    if (reads.lastIndexOf(argument) > 0) return;
    if (this.#ends(argument, at) && this.#canTake(result, argument, at)) this.#take(argument, result);
  }

  #take(argument: number, result: number): void {
    this.#memoryOf.set(argument, result);
    this.#first.set(result, this.#firstUse(argument)!);
  }

  #memory(buffer: number): number {
    return this.#memoryOf.get(buffer) ?? buffer;
  }

  #firstUse(buffer: number): number | undefined {
    return this.#first.get(buffer) ?? this.#lifetimes.get(buffer)?.[0];
  }

  #ends(buffer: number, at: number): boolean {
    const { role } = this.#stepList.buffers[buffer]!;
    return role === 'temporary' && this.#lifetimes.get(buffer)?.at(-1) === at && !this.#fixed.has(buffer);
  }

  #canTake(result: number, argument: number, at: number): boolean {
    const [to, from] = [this.#stepList.buffers[result]!, this.#stepList.buffers[argument]!];
    return to.byteLength === from.byteLength && to.role !== 'state' && this.#firstUse(result) === at;
  }

  stepList(): StepList | undefined {
    if (this.#memoryOf.size === 0) return undefined;
    return { ...this.#stepList, steps: this.#stepList.steps.map((step, at) => this.#moved(step, at)) };
  }

  #moved(step: Step, at: number): Step {
    switch (step.kind) {
      case 'kernel':
      case 'phase':
      case 'finish': {
        const shared = this.#shared.get(at) ?? [];
        const { kernel } = step;
        const buffers = kernel.buffers.map((b, k) => (shared.includes(k) ? { ...b, isShared: true } : b));
        return {
          ...step,
          ...(shared.length > 0 ? { kernel: { ...kernel, buffers } } : {}),
          buffers: step.buffers.map((buffer) => this.#memory(buffer)),
        };
      }
      case 'call':
        return callRow(step).withBuffers(step, (buffer) => this.#memory(buffer));
      case 'loop':
      case 'sweep':
        return step;
    }
  }
}
