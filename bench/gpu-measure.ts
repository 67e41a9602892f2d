/**
 * Times one workload as the GPU peers' benchmark does: inputs stay on the device, a call computes the
 * expression and leaves the result there; the clock stops when it is complete. The expression is compiled, as
 * one writes it for repeated calls (`compile`), and so built and planned in the first call alone. The fields
 * are those of the peers' JSON lines.
 */
import {
  type Compiled,
  compile,
  compute,
  type Explanation,
  type Lazy,
  type NDArray,
  persist,
  synchronize,
} from '../src/index.js';
import { finiteSum, numbersOf } from './checksum.js';
import { median, now, toDigits } from './statistics.js';
import { uniform, type Workload } from './workload.js';

export interface GpuLine {
  readonly workload: string;
  readonly peer: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly ms_median: number;
  readonly ms_min: number;
  /** Planning, code generation and compilation included; a kernel found in the disk cache is not compiled. */
  readonly first_ms: number;
  readonly gbps?: number;
  readonly tflops?: number;
  /** Not of results that would take longer to add up than to compute. */
  readonly checksum?: number;
  /** Steps of the plan: generated kernels and library products. */
  readonly kernels: number;
  /**
   * Upper bound of the device memory held, resident inputs included; on the CPU without results, which are
   * the user's.
   */
  readonly peak_bytes: number;
  readonly device: string;
  /** How the expression is called. */
  readonly call: 'compiled';
}

const WARM_CALLS = 2;
/** Short calls are warmed for so long: the engine compiles what is called often after thousands of calls. */
const WARM_SECONDS = 0.25;
/** Calls of up to so many milliseconds are short. */
const SHORT_MS = 1;
const LEAST_REPEATS = 5;
const MOST_REPEATS = 200;
const BUDGET_SECONDS = 1.5;

/** A result of one call, wherever it is. */
interface Outcome {
  readonly size: number;
  readonly toHost: () => Promise<NDArray>;
  readonly release: () => void;
}

/** A workload with its inputs made: `call` does one whole evaluation, or queues it until `finish`. */
interface Prepared {
  readonly call: () => Promise<Outcome>;
  readonly finish: () => Promise<void>;
  readonly explain: () => Explanation;
  readonly residentBytes: number;
  readonly release: () => void;
}

async function prepare(workload: Workload, device: string, tune: boolean): Promise<Prepared> {
  const made = workload.inputs.map(uniform);
  const compiled: Compiled<Lazy[], Lazy> = compile(workload.expression, { device, tune });
  if (workload.fromHost) {
    const arrays = await compute(made, { device });
    const call = async (): Promise<Outcome> => {
      const result = await compiled(...arrays);
      return { size: result.size, toHost: async () => result, release: () => {} };
    };
    const explain = (): Explanation => compiled.explain(...arrays);
    return { call, finish: async () => {}, explain, residentBytes: 0, release: () => {} };
  }
  const inputs = await persist(made, { device });
  const call = async (): Promise<Outcome> => {
    const result = await compiled.persist(...inputs);
    return { size: result.size, toHost: () => result.compute(), release: () => result.dispose() };
  };
  const residentBytes = inputs.reduce((sum, { size, dtype }) => sum + size * bytesOfElement(dtype), 0);
  const release = (): void => {
    for (const input of inputs) input.dispose();
  };
  const finish = (): Promise<void> => synchronize(device);
  return { call, finish, explain: () => compiled.explain(...inputs), residentBytes, release };
}

const BYTES: Readonly<Record<string, number>> = { float64: 8, float32: 4, bfloat16: 2, float16: 2 };
const bytesOfElement = (dtype: string): number => BYTES[dtype] ?? Number.NaN;

/** Milliseconds of one call when `count` are started together; the results of the others are given back. */
async function timedCall({ call, finish }: Prepared, count: number): Promise<[number, Outcome]> {
  const start = now();
  const outcomes = await Promise.all(Array.from({ length: count }, call));
  await finish();
  const ms = (now() - start) / count;
  const [first, ...others] = outcomes;
  for (const other of others) other.release();
  return [ms, first!];
}

/** How a sweep of many workloads is timed. */
export interface MeasureOptions {
  /** Whether products are tuned. */
  readonly tune?: boolean;
  /** Seconds for which short calls are warmed. */
  readonly warmSeconds?: number;
  /** Results of more elements are not added up. */
  readonly mostSummed?: number;
}

/** Runs and times a workload. `budgetSeconds` replaces the seconds of repeats; 0: the fewest repeats. */
export async function measureOnGpu(
  workload: Workload,
  device: string,
  budgetSeconds = workload.budgetSeconds ?? BUDGET_SECONDS,
  { tune = false, warmSeconds = WARM_SECONDS, mostSummed = Number.POSITIVE_INFINITY }: MeasureOptions = {},
): Promise<GpuLine> {
  const prepared = await prepare(workload, device, tune);
  try {
    const [firstMs, outcome] = await timedCall(prepared, 1);
    const isSummed = outcome.size <= mostSummed;
    const checksum = isSummed ? finiteSum(numbersOf(await outcome.toHost())) : undefined;
    outcome.release();
    const { steps, peakBytes } = prepared.explain();
    const times = await repeat(prepared, workload.inner ?? 1, { budgetSeconds, warmSeconds });
    const ms = median(times);
    return {
      workload: workload.name,
      peer: 'weft',
      dtype: workload.dtype,
      shape: workload.shape,
      ms_median: toDigits(ms, 5),
      ms_min: toDigits(Math.min(...times), 5),
      first_ms: toDigits(firstMs, 1),
      ...(workload.bytes === undefined ? {} : { gbps: toDigits(workload.bytes / ms / 1e6, 1) }),
      ...(workload.flops === undefined ? {} : { tflops: toDigits(workload.flops / ms / 1e9, 2) }),
      ...(checksum === undefined ? {} : { checksum }),
      kernels: steps.length,
      peak_bytes: peakBytes + prepared.residentBytes,
      device,
      call: 'compiled',
    };
  } finally {
    prepared.release();
  }
}

/** Seconds of the calls that count, and of those before them. */
interface Seconds {
  readonly budgetSeconds: number;
  readonly warmSeconds: number;
}

async function warm(prepared: Prepared, inner: number, seconds: number): Promise<void> {
  const end = now() + seconds * 1e3;
  let least = Number.POSITIVE_INFINITY;
  for (let calls = 0; calls < WARM_CALLS || (least < SHORT_MS && now() < end); calls++) {
    const [ms, outcome] = await timedCall(prepared, calls < WARM_CALLS ? 1 : inner);
    outcome.release();
    least = Math.min(least, ms);
  }
}

async function repeat(
  prepared: Prepared,
  inner: number,
  { budgetSeconds, warmSeconds }: Seconds,
): Promise<number[]> {
  await warm(prepared, inner, warmSeconds);
  const times: number[] = [];
  const end = now() + budgetSeconds * 1e3;
  while (times.length < LEAST_REPEATS || (now() < end && times.length < MOST_REPEATS)) {
    const [ms, outcome] = await timedCall(prepared, inner);
    outcome.release();
    times.push(ms);
    if (now() > end + 20e3) break;
  }
  return times;
}
