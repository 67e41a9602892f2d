/**
 * The time of a call by itself: a program of that step alone, repeated, on samples that Weft computes on the device
 * (`exec/calls/call-samples.ts`): no array of the user's is read or written, and a call that a plan lets write over its
 * operand has its result apart. Called by `step-times.ts`.
 */
import type { CallStep } from '../exec/calls/call.js';
import type { CallSamples, SampledOperand } from '../exec/calls/call-samples.js';
import { callRow } from '../exec/calls/table.js';
import { cpuInfo, createProgram, type ProgramSpec, type RunInput, run } from '../exec/native/native.js';
import { aligned } from '../exec/plan/memory.js';
import type { DevicePlan, PlanBuffer } from '../exec/plan/plan.js';
import { buffersOf } from '../exec/plan/step-buffers.js';
import { evaluateStored } from '../exec/run/evaluate.js';
import type { RunNumbers } from '../exec/run/run-numbers.js';
import type { Device } from '../exec/targets/device.js';
import { targetOf } from '../exec/targets/table.js';
import { byteLengthOf, type DType, isComplex, isFloat } from '../graph/dtype.js';
import type { Expr } from '../graph/expr.js';
import { sizeOfShape } from '../graph/graph.js';
import { cast, constant, iota, map } from '../graph/infer.js';
import { unit } from '../graph/random.js';
import { type KeyBits, words } from '../graph/random-bits.js';
import { reshape } from '../graph/views.js';

/** An operand whose size is known. */
type Operand = SampledOperand & { readonly shape: readonly number[] };

/** Bytes that it takes to time a call. */
export function trialBytes(step: CallStep, { buffers }: DevicePlan): number {
  const { reads, writes } = buffersOf(step);
  const workspace = step.workspace === undefined ? [] : [step.workspace];
  return [...new Set([...reads, ...writes, ...workspace])].reduce(
    (sum, buffer) => sum + buffers[buffer]!.byteLength,
    0,
  );
}

/** Nanoseconds of a run of repeated calls, and of all runs; a call that takes longer is run twice. */
const RUN = 4e6;
const ALL = 4e7;
const LEAST_RUNS = 3;
const LONG = 1e9;
const MOST_REPEATS = 500;

/** Where a call is a step, and whether algorithms are measured there (`tune`). */
export interface CallPlace {
  readonly plan: DevicePlan;
  readonly device: Device;
  readonly tune: boolean;
  /** The constants of the graph, which kernels that a call runs within itself may read. */
  readonly numbers?: RunNumbers;
}

/** The least seconds of a call on its operands; with one thread of the CPU its processor's, else of the clock. */
export async function secondsOfCall(
  step: CallStep,
  samples: CallSamples,
  { plan, device, tune, numbers }: CallPlace,
): Promise<number> {
  const operands = distinct(samples.operands).map((operand): Operand => {
    const { byteLength } = plan.buffers[operand.buffer]!;
    return { shape: [Math.floor(byteLength / byteLengthOf(operand.dtype))], ...operand };
  });
  const alone = planOf(step, operands, plan);
  const spec = await targetOf(device).emit(alone, device, {
    budget: undefined,
    hostBudget: undefined,
    tune,
  });
  const stored = await evaluateStored(operands.map(dataOf), { device: device.name });
  try {
    const inputs = stored.map(({ buffer }): RunInput => buffer ?? new Uint8Array(0));
    const timed = (repeats: number): (() => Promise<number>) => {
      const program = createProgram(repeated(spec, repeats));
      const outputs = alone.buffers.flatMap(({ role }) => (role === 'output' ? (['device'] as const) : []));
      return async () => {
        const { nanoseconds, outputs: made } = await run(program, inputs, { outputs, numbers });
        for (const output of made) if (!(output instanceof ArrayBuffer)) output.dispose();
        return nanoseconds / repeats;
      };
    };
    const isOwn = device.isHost && cpuInfo().threads === 1;
    const ownOf = (begin: NodeJS.CpuUsage): number => {
      const { user, system } = process.cpuUsage(begin);
      return isOwn ? 1e3 * (user + system) : Number.POSITIVE_INFINITY;
    };
    const once = timed(1);
    await once();
    const beginOnce = process.cpuUsage();
    const first = await once();
    if (first >= LONG) return 1e-9 * Math.min(first, ownOf(beginOnce));
    const repeats = Math.max(1, Math.min(MOST_REPEATS, Math.round(RUN / first)));
    const again = timed(repeats);
    await again();
    const begin = process.cpuUsage();
    let [least, spent, runs] = [Number.POSITIVE_INFINITY, 0, 0];
    for (; runs < LEAST_RUNS || spent < ALL; runs++) {
      const each = await again();
      least = Math.min(least, each);
      spent += each * repeats;
    }
    // Of all runs together: the time of a thread that has not been switched since is not counted yet.
    return 1e-9 * Math.min(least, ownOf(begin) / runs / repeats);
  } finally {
    for (const { buffer } of stored) buffer?.dispose();
  }
}

/** A buffer may be read as several operands: the first one says what it is like. */
const distinct = (operands: readonly SampledOperand[]): SampledOperand[] => [
  ...new Map([...operands].reverse().map((operand) => [operand.buffer, operand])).values(),
];

/** The plan of a call alone: operands are inputs in their order, each once, and its results have memory of their own. */
function planOf(step: CallStep, operands: readonly Operand[], plan: DevicePlan): DevicePlan {
  const { writes } = buffersOf(step);
  const inputs = operands.map(({ buffer }) => buffer);
  const results = [...new Set(writes)].filter((buffer) => !inputs.includes(buffer));
  const own = (buffer: number, role: PlanBuffer['role']): PlanBuffer => {
    const { byteLength, label } = plan.buffers[buffer]!;
    return { role, byteLength, offset: 0, label };
  };
  const workspace = step.workspace === undefined ? [] : [own(step.workspace, 'temporary')];
  const buffers = [
    ...inputs.map((buffer) => own(buffer, 'input')),
    ...results.map((buffer) => own(buffer, 'output')),
    ...workspace,
  ];
  const order = [...inputs, ...results];
  const moved = callRow(step).withBuffers(step, (buffer) => order.indexOf(buffer));
  return {
    buffers,
    steps: [{ ...moved, workspace: workspace.length === 0 ? undefined : order.length }],
    inputs: inputs.map((_, k) => k),
    outputs: results.map((_, k) => k),
    arenaByteLength: aligned(workspace[0]?.byteLength ?? 0),
    peakBytes: 0,
    hostPeakBytes: 0,
  };
}

/** A program whose steps are run so many times, on a GPU as one graph. */
function repeated(spec: ProgramSpec, repeats: number): ProgramSpec {
  const steps = Array.from({ length: repeats }, () => spec.steps).flat();
  const isGraph = (spec.graphs ?? []).length > 0;
  return { ...spec, steps, ...(isGraph ? { graphs: [{ first: 0, count: steps.length }] } : {}) };
}

const KEY: KeyBits = { impl: 'philox4x32', words: constant(24n, 'uint64') };

/** The data of a sample. */
function dataOf({ dtype, shape, sample }: Operand): Expr {
  const places = (): Expr => reshape(iota(sizeOfShape(shape)), shape);
  switch (sample.kind) {
    case 'uniform':
      return uniform(dtype, shape, sample.from ?? 0);
    case 'below':
      return cast(scaled(unit(KEY, shape, 'float64'), sample.below), dtype);
    case 'starts':
      return spaced(places(), sample.upTo, Math.max(1, shape[0]! - 1), dtype);
    case 'ends':
      return spaced(map('add', [places(), 1]), sample.upTo, shape[0]!, dtype);
    case 'columns': {
      // Element k is in row r from r · elements / rows on: how far it is in it, it has as remainder.
      const elements = Math.max(1, shape[0]!);
      const within = map('remainder', [scaled(places(), sample.rows), elements]);
      return cast(map('floorDivide', [scaled(within, sample.below), elements]), dtype);
    }
    case 'dominant': {
      const [n, m] = shape.slice(-2) as [number, number];
      const row = map('remainder', [map('floorDivide', [places(), m]), n]);
      const isDiagonal = map('equal', [map('remainder', [places(), m]), row]);
      return map('add', [uniform(dtype, shape, 0), scaled(cast(isDiagonal, dtype), m)]);
    }
    case 'pivots': {
      const column = map('remainder', [places(), shape.at(-1)!]);
      return cast(map('add', [column, 1]), dtype);
    }
  }
}

const scaled = (x: Expr, by: number): Expr => map('multiply', [x, by]);

/** Place k of `parts` equal ones from 0 to `upTo`, rounded up where they are integers. */
function spaced(place: Expr, upTo: number, parts: number, dtype: DType): Expr {
  if (isFloat(dtype)) return cast(scaled(cast(place, 'float64'), upTo / parts), dtype);
  const above = map('add', [scaled(place, upTo), parts - 1]);
  return cast(map('floorDivide', [above, parts]), dtype);
}

function uniform(dtype: DType, shape: readonly number[], from: number): Expr {
  if (isFloat(dtype)) return map('add', [unit(KEY, shape, dtype), from]);
  if (isComplex(dtype)) return cast(uniform('float64', shape, from), dtype);
  if (dtype === 'bool') return map('less', [unit(KEY, shape, 'float32'), 0.5]);
  return cast(words(KEY, shape, byteLengthOf(dtype) === 8 ? 64 : 32), dtype);
}
