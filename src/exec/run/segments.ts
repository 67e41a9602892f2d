/**
 * Computes the segments below a graph (`fusion/passes/segment.ts`), those that others read first, with
 * the options of the compute that needs them. Each is a program of its own; segments of a loop share one. Called
 * by `execution.ts`.
 *
 * Values stay on the device where memory is not bounded; else they wait in host memory, so that a budget that
 * is enough for every segment is enough for all of them. A value is let go after the last segment that reads it.
 */

import type { Canonical } from '../../fusion/passes/canonicalize.js';
import { canonicalOfSegment, segmentsBelow, segmentsIn } from '../../fusion/passes/segment.js';
import type { DeviceBuffer, Segment, SegmentSource } from '../../graph/expr.js';
import { formatBytes, formattedUp } from '../../graph/format.js';
import { DeviceError, expected, InternalError, MemoryError } from '../../host/errors.js';
import { bytesOver } from '../native/host-memory.js';
import { hostBytesOf, type RunInput } from '../native/native.js';
import type { Destination } from '../plan/plan-graph.js';
import type { Device } from '../targets/device.js';
import type { ComputeTarget } from './compute-target.js';
import { type Input, inputsOf, type SegmentValues } from './inputs.js';
import { runInBudget } from './run-in-budget.js';
import { numbersFor } from './run-numbers.js';
import { type RunSettings, runProgram } from './run-program.js';
import { throwFailedIn } from './statuses.js';

/** Budgets as for the graph above; where results go is found here. */
export type SegmentTarget = Omit<ComputeTarget, 'destination'>;

/** Where the values of segments wait. */
export const destinationOfSegments = ({ budget }: Pick<SegmentTarget, 'budget'>): Destination =>
  budget === undefined ? 'device' : 'host';

/** Throws where values that wait between segments are more than the host memory that they may take. */
export function checkWaiting(byteLength: number, hostBudget = Number.POSITIVE_INFINITY): void {
  if (byteLength <= hostBudget) return;
  const needed = formattedUp(byteLength);
  const fits = `values between segments of the graph that fit into ${formatBytes(hostBudget)} of host memory`;
  throw new MemoryError(expected('compute', fits, formatBytes(needed)), undefined, { hostMemory: needed });
}

/** The tiles of segments do not count as progress. */
const QUIET = {
  whenQueued: false,
  filesOf: undefined,
  deadline: Number.POSITIVE_INFINITY,
  onProgress: undefined,
};

interface Waiting {
  readonly segment: Segment;
  readonly inputs: readonly Input[];
}

/** The values of the segments below a graph, during one compute of it. */
export class Segments implements SegmentValues {
  readonly #waiting: readonly Waiting[];
  readonly #values = new Map<Segment, readonly (ArrayBufferView | DeviceBuffer)[]>();
  /** How many graphs are still to read each segment. */
  readonly #readers = new Map<Segment, number>();

  /** The segments below a graph, if it has any; takes views of all that they read. */
  static below(canonical: Canonical): Segments | undefined {
    const segments = segmentsBelow(canonical);
    return segments.length === 0 ? undefined : new Segments(canonical, segments);
  }

  private constructor(canonical: Canonical, segments: readonly Segment[]) {
    this.#waiting = segments.map((segment) => ({ segment, inputs: inputsOf(canonicalOfSegment(segment)) }));
    for (const segment of segmentsIn(canonical)) this.#count(segment, 1);
    for (const { segment } of this.#waiting)
      for (const below of segmentsIn(canonicalOfSegment(segment))) this.#count(below, 1);
  }

  #count(segment: Segment, change: number): void {
    this.#readers.set(segment, (this.#readers.get(segment) ?? 0) + change);
  }

  /** Computes all segments, on the first device of the target. */
  async compute(
    { devices, ...above }: ComputeTarget,
    { signal, watch }: Pick<RunSettings, 'signal' | 'watch'>,
  ): Promise<void> {
    const [device] = devices;
    if (above.isSharded) this.#refuseOthersThan(device!);
    const target = { ...above, devices: [device!], isSharded: false, toHost: 0 };
    for (const { segment, inputs } of this.#waiting) {
      signal?.throwIfAborted();
      const canonical = canonicalOfSegment(segment);
      this.#values.set(
        segment,
        await valuesOf(canonical, inputs, target, { ...QUIET, signal, watch, segments: this }),
      );
      this.#checkHost(target);
      this.release(canonical);
    }
  }

  /** Refuses segments that read arrays of another device. */
  #refuseOthersThan({ name }: Device): void {
    for (const { segment } of this.#waiting) {
      for (const { source } of canonicalOfSegment(segment).sources) {
        if (source.type !== 'device' || source.buffer.device === name) continue;
        const where = `arrays on '${name}' alone below graphs of thousands of levels`;
        throw new DeviceError(
          expected('compute', where, source.buffer.device, 'persist() values in between'),
        );
      }
    }
  }

  #checkHost({ hostBudget }: SegmentTarget): void {
    let bytes = 0;
    for (const values of this.#values.values())
      for (const value of values) if (ArrayBuffer.isView(value)) bytes += value.byteLength;
    checkWaiting(bytes, hostBudget);
  }

  valueOf({ segment, value }: SegmentSource): RunInput {
    const found = this.#values.get(segment)?.[value];
    if (found === undefined) throw new InternalError('[compute] a segment of the graph was not computed');
    return found;
  }

  /** Lets go of what a graph that has been computed was the last to read. */
  release(canonical: Canonical): void {
    for (const segment of segmentsIn(canonical)) {
      this.#count(segment, -1);
      if (this.#readers.get(segment) === 0) this.#drop(segment);
    }
  }

  /** Lets go of everything. */
  clear(): void {
    for (const segment of [...this.#values.keys()]) this.#drop(segment);
  }

  #drop(segment: Segment): void {
    for (const value of this.#values.get(segment) ?? []) if ('dispose' in value) value.dispose();
    this.#values.delete(segment);
  }
}

/** Computes one segment; on the host where the device has no room for its values beside the work. */
async function valuesOf(
  canonical: Canonical,
  inputs: readonly Input[],
  target: SegmentTarget,
  settings: Omit<RunSettings, 'destination'>,
): Promise<(ArrayBufferView | DeviceBuffer)[]> {
  const given = { inputOf: (source: number) => inputs[source]!, numbers: numbersFor(canonical) };
  const compute = async (destination: Destination): Promise<(ArrayBufferView | DeviceBuffer)[]> => {
    const executed = await runInBudget(canonical, { ...target, destination }, settings.signal, (fitting) =>
      runProgram(fitting, given, { ...settings, destination }),
    );
    const { program, outputs } = executed;
    throwFailedIn(canonical, executed);
    return program.outputs.map((at) => {
      if (at < 0) return new Uint8Array(0);
      const output = outputs[at]!;
      if (output instanceof ArrayBuffer) return bytesOver(output);
      return destination === 'host' ? bytesOver(hostBytesOf(output)) : output;
    });
  };
  const destination = destinationOfSegments(target);
  try {
    return await compute(destination);
  } catch (error) {
    if (destination === 'host' || !(error instanceof MemoryError)) throw error;
    return compute('host');
  }
}
