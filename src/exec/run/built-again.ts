/**
 * Graphs that are built again: a loop that builds `x.add(1)` anew for each compute has the same graph each time, with
 * other arrays and constants. One whose run was small, on the CPU, is kept with its program; expressions like it
 * (`graph-match.ts`) run that at once, as calls of a compiled function do (`small-calls.ts`), without a graph, its
 * fingerprint and devices. Whatever is otherwise than it was goes the way of all computes, which says what is wrong.
 * Called by `evaluate.ts`.
 */
import type { Canonical } from '../../fusion/passes/canonicalize.js';
import { isComplex } from '../../graph/dtype.js';
import type { Expr } from '../../graph/expr.js';
import { type Guard, hold } from '../../graph/runtime-scalar.js';
import { writeScalar } from '../../graph/scalar-bytes.js';
import { CONSTANT_BYTES } from '../../shared/layout.js';
import type { RunInput } from '../native/native.js';
import { isRecording } from '../native/recorder.js';
import { turnToHandOver } from '../native/turns.js';
import { chooseDevices } from '../targets/devices.js';
import type { ComputeOptions } from './compute-options.js';
import type { ComputeTarget } from './compute-target.js';
import { GraphMatch, type MatchedArray } from './graph-match.js';
import type { HostResult } from './host-result.js';
import { guardsOf, type Program, programsSince } from './program.js';
import { SmallCalls } from './small-calls.js';
import { watcher } from './watch.js';

/** Graphs that are kept: each is compared with what is computed, which takes little where the first result differs. */
const MOST = 32;
/** Graphs of one program that are kept: those whose constants ask for others, or of other sharing, are new ones. */
const MOST_OF_PROGRAM = 8;

class BuiltGraph {
  readonly device: string | undefined;
  /** Whether the device follows from what is installed, not from the user or from arrays. */
  readonly #isChosen: boolean;
  readonly #match: GraphMatch;
  readonly #guards: readonly Guard[];
  readonly #calls: SmallCalls;
  readonly #numbers: DataView;
  readonly #numberBytes: Uint8Array | undefined;

  constructor(device: string | undefined, match: GraphMatch, guards: readonly Guard[], calls: SmallCalls) {
    this.device = device;
    this.#isChosen = device === undefined && match.arrays.every(({ type }) => type === 'host');
    this.#match = match;
    this.#guards = guards;
    this.#calls = calls;
    this.#numbers = new DataView(new ArrayBuffer(match.scalars.length * CONSTANT_BYTES));
    this.#numberBytes = match.scalars.length === 0 ? undefined : new Uint8Array(this.#numbers.buffer);
  }

  /** The results of expressions; undefined: nothing was computed. */
  results(exprs: readonly Expr[]): HostResult[] | undefined {
    const match = this.#match;
    if (!match.begins(exprs)) return undefined;
    try {
      return match.matches(exprs) ? this.#run() : undefined;
    } finally {
      match.forget();
    }
  }

  #run(): HostResult[] | undefined {
    const { scalars, arrays } = this.#match;
    if (!hold(this.#guards, scalars) || (this.#isChosen && !isHostChosen())) return undefined;
    const calls = this.#calls;
    const { sources } = calls;
    const inputs = new Array<RunInput>(sources.length);
    for (let k = 0; k < inputs.length; k++) {
      const input = inputOf(arrays[sources[k]!]!);
      if (input === undefined) return undefined;
      inputs[k] = input;
    }
    for (let k = 0; k < scalars.length; k++) {
      const { dtype, value } = scalars[k]!;
      writeScalar(this.#numbers, k * CONSTANT_BYTES, dtype, value);
    }
    const outputs = calls.run(inputs, this.#numberBytes);
    // A call that failed is computed again by those who say where.
    return outputs === undefined || calls.hasCodes ? undefined : calls.resultsIn(outputs);
  }
}

/** Undefined: the array has lost its memory. */
function inputOf({ source, start, elementCount, dtype }: MatchedArray): RunInput | undefined {
  if (source!.type === 'device') return source!.buffer;
  const { data } = source!;
  const values = isComplex(dtype) ? 2 : 1;
  const end = (start + elementCount) * values;
  // The run reads it in this call.
  if (start === 0 && data.length === end) return data;
  return data.length < end ? undefined : data.subarray(start * values, end);
}

const NO_HOLDERS: readonly (readonly string[])[] = [];

function isHostChosen(): boolean {
  const { devices, isSharded } = chooseDevices({}, NO_HOLDERS);
  return !isSharded && devices[0]!.isHost;
}

/** Whether options say nothing but the device. */
const isPlain = (options: ComputeOptions): boolean =>
  options.devices === undefined &&
  options.signal === undefined &&
  options.onProgress === undefined &&
  options.exact === undefined &&
  options.memory === undefined &&
  options.hostMemory === undefined &&
  options.tune === undefined &&
  options.onDeviceLost === undefined &&
  options.deadline === undefined;

/** The one that was computed last comes first. */
const kept: BuiltGraph[] = [];
const counts = new WeakMap<Program, number>();
let since = programsSince();

/** Keeps the graph of expressions that have run, if its runs are small and on the CPU. */
export function keepBuilt(
  exprs: readonly Expr[],
  canonical: Canonical,
  target: ComputeTarget,
  options: ComputeOptions,
  program: Program,
): void {
  const count = counts.get(program) ?? 0;
  if (count === MOST_OF_PROGRAM || !isPlain(options)) return;
  counts.set(program, count + 1);
  const guards = guardsOf(canonical, target);
  const calls = guards && SmallCalls.of(program, exprs, canonical);
  const match = calls && GraphMatch.of(canonical, exprs);
  match?.forget();
  if (match === undefined) return;
  kept.unshift(new BuiltGraph(options.device, match, guards!, calls!));
  if (kept.length > MOST) kept.pop();
}

/** The results of expressions whose graph was kept. Undefined: nothing was computed. */
export function builtAgain(
  exprs: readonly Expr[],
  options: ComputeOptions,
): HostResult[] | Promise<HostResult[]> | undefined {
  if (kept.length === 0 || !isPlain(options) || watcher() !== undefined || isRecording()) return undefined;
  if (since !== programsSince()) {
    since = programsSince();
    kept.length = 0;
  }
  for (let k = 0; k < kept.length; k++) {
    const built = kept[k]!;
    const results = built.device === options.device ? built.results(exprs) : undefined;
    if (results === undefined) continue;
    if (k > 0) {
      kept.copyWithin(1, 0, k);
      kept[0] = built;
    }
    const turn = turnToHandOver();
    return turn === undefined ? results : turn.then(() => results);
  }
  return undefined;
}
