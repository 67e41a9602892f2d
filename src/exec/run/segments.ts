/**
 * Computes the folded parts below a graph (`fusion/passes/segment.ts`), those that others read first, with
 * the options of the compute that needs them. Each is a program of its own; parts of a loop share one. Called
 * by `execution.ts`.
 *
 * Values stay on the device where memory is not bounded; else they wait in host memory, so that a budget that
 * is enough for every part is enough for all of them. A value is let go after the last part that reads it.
 */

import type { Canonical } from '../../fusion/passes/canonicalize.js';
import { canonicalOfPart, partsBelow, partsIn } from '../../fusion/passes/segment.js';
import type { DeviceBuffer, FoldedPart, FoldedSource } from '../../graph/expr.js';
import { formatBytes, formattedUp } from '../../graph/format.js';
import { DeviceError, expected, InternalError, MemoryError } from '../../host/errors.js';
import { bytesOver } from '../native/host-memory.js';
import { hostBytesOf, type RunInput } from '../native/native.js';
import type { Place } from '../plan/plan-graph.js';
import type { Device } from '../targets/device.js';
import type { ComputeTarget } from './compute-target.js';
import { type Input, inputsOf, type PartValues } from './inputs.js';
import { runInBudget } from './run-in-budget.js';
import { type RunSettings, runProgram } from './run-program.js';

/** Budgets as for the graph above; where results go is found here. */
export type PartTarget = Omit<ComputeTarget, 'place'>;

/** Where the values of parts wait. */
export const placeOfParts = ({ budget }: Pick<PartTarget, 'budget'>): Place =>
  budget === undefined ? 'device' : 'host';

/** Throws where values that wait between parts are more than the host memory that they may take. */
export function checkWaiting(byteLength: number, hostBudget = Number.POSITIVE_INFINITY): void {
  if (byteLength <= hostBudget) return;
  const needed = formattedUp(byteLength);
  const fits = `values between parts of the graph that fit into ${formatBytes(hostBudget)} of host memory`;
  throw new MemoryError(expected('compute', fits, formatBytes(needed)), undefined, { hostMemory: needed });
}

/** The tiles of parts are not told as progress. */
const QUIET = {
  whenQueued: false,
  filesOf: undefined,
  deadline: Number.POSITIVE_INFINITY,
  onProgress: undefined,
};

interface Waiting {
  readonly part: FoldedPart;
  readonly inputs: readonly Input[];
}

/** The values of the parts below a graph, during one compute of it. */
export class Parts implements PartValues {
  readonly #waiting: readonly Waiting[];
  readonly #values = new Map<FoldedPart, readonly (ArrayBufferView | DeviceBuffer)[]>();
  /** How many graphs are still to read each part. */
  readonly #readers = new Map<FoldedPart, number>();

  /** The parts below a graph, if it has any; takes views of all that they read. */
  static below(canonical: Canonical): Parts | undefined {
    const parts = partsBelow(canonical);
    return parts.length === 0 ? undefined : new Parts(canonical, parts);
  }

  private constructor(canonical: Canonical, parts: readonly FoldedPart[]) {
    this.#waiting = parts.map((part) => ({ part, inputs: inputsOf(canonicalOfPart(part)) }));
    for (const part of partsIn(canonical)) this.#count(part, 1);
    for (const { part } of this.#waiting)
      for (const below of partsIn(canonicalOfPart(part))) this.#count(below, 1);
  }

  #count(part: FoldedPart, change: number): void {
    this.#readers.set(part, (this.#readers.get(part) ?? 0) + change);
  }

  /** Computes all parts, on the first device of the target. */
  async compute({ devices, ...above }: ComputeTarget, signal: AbortSignal | undefined): Promise<void> {
    const [device] = devices;
    if (above.isSharded) this.#refuseOthersThan(device!);
    const target = { ...above, devices: [device!], isSharded: false };
    for (const { part, inputs } of this.#waiting) {
      signal?.throwIfAborted();
      const canonical = canonicalOfPart(part);
      this.#values.set(part, await valuesOf(canonical, inputs, target, { ...QUIET, signal, parts: this }));
      this.#checkHost(target);
      this.release(canonical);
    }
  }

  /** Refuses parts that read arrays of another device. */
  #refuseOthersThan({ name }: Device): void {
    for (const { part } of this.#waiting) {
      for (const { source } of canonicalOfPart(part).sources) {
        if (source.type !== 'device' || source.buffer.device === name) continue;
        const where = `arrays on '${name}' alone below graphs of thousands of levels`;
        throw new DeviceError(
          expected('compute', where, source.buffer.device, 'persist() values in between'),
        );
      }
    }
  }

  #checkHost({ hostBudget }: PartTarget): void {
    let bytes = 0;
    for (const values of this.#values.values())
      for (const value of values) if (ArrayBuffer.isView(value)) bytes += value.byteLength;
    checkWaiting(bytes, hostBudget);
  }

  valueOf({ part, value }: FoldedSource): RunInput {
    const found = this.#values.get(part)?.[value];
    if (found === undefined) throw new InternalError('[compute] a part of the graph was not computed');
    return found;
  }

  /** Lets go of what a graph that has been computed was the last to read. */
  release(canonical: Canonical): void {
    for (const part of partsIn(canonical)) {
      this.#count(part, -1);
      if (this.#readers.get(part) === 0) this.#drop(part);
    }
  }

  /** Lets go of everything. */
  clear(): void {
    for (const part of [...this.#values.keys()]) this.#drop(part);
  }

  #drop(part: FoldedPart): void {
    for (const value of this.#values.get(part) ?? []) if ('dispose' in value) value.dispose();
    this.#values.delete(part);
  }
}

/** Computes one part; on the host where the device has no room for its values beside the work. */
async function valuesOf(
  canonical: Canonical,
  inputs: readonly Input[],
  target: PartTarget,
  settings: Omit<RunSettings, 'place'>,
): Promise<(ArrayBufferView | DeviceBuffer)[]> {
  const compute = async (place: Place): Promise<(ArrayBufferView | DeviceBuffer)[]> => {
    const { program, outputs } = await runInBudget(canonical, { ...target, place }, (fitting) =>
      runProgram(fitting, (source) => inputs[source]!, { ...settings, place }),
    );
    return program.outputs.map((at) => {
      if (at < 0) return new Uint8Array(0);
      const output = outputs[at]!;
      if (output instanceof ArrayBuffer) return bytesOver(output);
      return place === 'host' ? bytesOver(hostBytesOf(output)) : output;
    });
  };
  const place = placeOfParts(target);
  try {
    return await compute(place);
  } catch (error) {
    if (place === 'host' || !(error instanceof MemoryError)) throw error;
    return compute('host');
  }
}
