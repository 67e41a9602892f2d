/**
 * Times one workload as the CPU peers' benchmark does: inputs are typed arrays in memory or files, a call
 * builds the expression, computes it and ends with the result in memory of its own. The fields are those of
 * the peers' JSON lines.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compile, compute, type Lazy, lazy, saveNpy } from '../src/index.js';
import { numbersOf, weightedSum } from './checksum.js';
import { type MachineCopy, waitForQuiet, watchOthers } from './machine.js';
import { median, now, toDigits, toPrecision } from './statistics.js';
import { uniform, type Workload } from './workload.js';

export interface CpuLine {
  readonly workload: string;
  readonly peer: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly setup: 'installed';
  readonly seconds_median: number;
  readonly seconds_min: number;
  /** Planning included. */
  readonly seconds_first: number;
  readonly repeats: number;
  /** CPUs that other processes used meanwhile. */
  readonly others_cpu?: number;
  /** GB/s of a copy in memory, before and after. */
  readonly machine_copy?: number;
  readonly checksum: number;
  readonly gb_per_s?: number;
  readonly gflop_per_s?: number;
  readonly kernels: number;
  readonly peak_bytes: number;
}

export interface CpuSettings {
  /** Seconds of repeats; 0: the fewest repeats. */
  readonly budgetSeconds: number;
  /** The longest to wait for other processes to be quiet. */
  readonly quietSeconds: number;
  /** Without it, `machine_copy` is left out. */
  readonly machineCopy?: MachineCopy | undefined;
}

export const CPU_BUDGET_SECONDS = 3;
const LEAST_REPEATS = 5;
const MOST_REPEATS = 1000;
/** A call below this is timed in groups. */
const SHORT_SECONDS = 0.005;
const NOISY_CPUS = 0.15;
const TRIES = 3;

interface Repeats {
  readonly others: number | undefined;
  readonly copy: number | undefined;
  readonly seconds: readonly number[];
}

export async function measureOnCpu(workload: Workload, settings: CpuSettings): Promise<CpuLine> {
  if (workload.fromFile !== true) {
    const inputs = await compute(workload.inputs.map(uniform), { device: 'cpu' });
    return measureWith(
      inputs.map((array) => lazy(array)),
      workload,
      settings,
    );
  }
  const folder = await mkdtemp(join(tmpdir(), 'weft-bench-'));
  try {
    const saved = workload.inputs.map((input, i) =>
      saveNpy(join(folder, `${i}.npy`), uniform(input), { device: 'cpu' }),
    );
    return await measureWith(await Promise.all(saved), workload, settings);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function measureWith(
  inputs: readonly Lazy[],
  workload: Workload,
  settings: CpuSettings,
): Promise<CpuLine> {
  // As one writes it for repeated calls.
  const compiled = compile(workload.expression, { device: 'cpu' });
  const timed = async (count: number): Promise<number> => {
    const start = now();
    for (let i = 0; i < count; i++) await compiled(...inputs);
    return (now() - start) / 1e3 / count;
  };
  const began = now();
  const result = await compiled(...inputs);
  const first = (now() - began) / 1e3;
  const checksum = weightedSum(numbersOf(result));
  const { steps, peakBytes } = compiled.explain(...inputs);

  const warmUntil = now() + Math.min(200, settings.budgetSeconds * 1e3);
  let once = await timed(1);
  while (now() < warmUntil) once = Math.min(once, await timed(1));
  const group = once < SHORT_SECONDS ? Math.max(1, Math.round(SHORT_SECONDS / once)) : 1;
  const { others, copy, seconds } = await quietest(() => repeat(() => timed(group), settings));
  const middle = median(seconds);
  return {
    workload: workload.name,
    peer: 'weft',
    dtype: workload.dtype,
    shape: workload.shape,
    setup: 'installed',
    seconds_median: toPrecision(middle, 6),
    seconds_min: toPrecision(Math.min(...seconds), 6),
    seconds_first: toPrecision(first, 6),
    repeats: seconds.length,
    ...(others === undefined ? {} : { others_cpu: toDigits(others, 2) }),
    ...(copy === undefined ? {} : { machine_copy: toDigits(copy, 1) }),
    checksum,
    ...(workload.bytes === undefined ? {} : { gb_per_s: toPrecision(workload.bytes / middle / 1e9, 4) }),
    ...(workload.flops === undefined ? {} : { gflop_per_s: toPrecision(workload.flops / middle / 1e9, 4) }),
    kernels: steps.length,
    peak_bytes: peakBytes,
  };
}

/** Measures again while others disturb, and takes the quietest. */
async function quietest(measure: () => Promise<Repeats>): Promise<Repeats> {
  let best = await measure();
  for (let i = 1; i < TRIES && (best.others ?? 0) > NOISY_CPUS; i++) {
    const next = await measure();
    if ((next.others ?? 0) < (best.others ?? 0)) best = next;
  }
  return best;
}

async function repeat(timed: () => Promise<number>, settings: CpuSettings): Promise<Repeats> {
  await waitForQuiet(settings.quietSeconds);
  const before = await settings.machineCopy?.rate();
  const others = watchOthers();
  const seconds: number[] = [];
  const end = now() + settings.budgetSeconds * 1e3;
  while (seconds.length < LEAST_REPEATS || (now() < end && seconds.length < MOST_REPEATS)) {
    seconds.push(await timed());
  }
  const used = others();
  const after = await settings.machineCopy?.rate();
  const copy = before === undefined || after === undefined ? undefined : (before + after) / 2;
  return { others: used, copy, seconds };
}
