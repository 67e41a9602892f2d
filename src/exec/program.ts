/**
 * Graph → program: runs the passes, partitions, plans and builds for a device; keeps what it made by fingerprint, so that
 * the same graph on other data costs a lookup. Called by `evaluate.ts` and `inspect/explain.ts`.
 */
import type { Canonical } from '../fusion/canonicalize.js';
import { type Partition, partition } from '../fusion/partition.js';
import { type PassOptions, runPasses } from '../fusion/pipeline.js';
import type { Graph } from '../graph/graph.js';
import { LruCache } from './lru-cache.js';
import { createProgram, type NativeProgram } from './native.js';
import type { Plan } from './plan.js';
import { planPartition } from './planner.js';
import { CPU_NEEDS, cpuProgram } from './program-cpu.js';
import { CUDA_NEEDS, cudaProgram } from './program-cuda.js';

export interface Planned {
  /** After the passes. */
  readonly graph: Graph;
  readonly partition: Partition;
  readonly plan: Plan;
}

/** What a compute will do on a device, without building it. */
export function planGraph(canonical: Canonical, device: string, options: PassOptions): Planned {
  const graph = runPasses(canonical.graph, options);
  const partitioned = partition(graph);
  const needs = device === 'cpu' ? CPU_NEEDS : CUDA_NEEDS;
  return { graph, partition: partitioned, plan: planPartition(graph, partitioned, canonical.sources, needs) };
}

export interface Program {
  readonly plan: Plan;
  readonly native: NativeProgram;
}

/** Programs kept for the next compute of the same graph. */
const PROGRAMS = 256;
const programs = new LruCache<Promise<Program>>(PROGRAMS);

/** Drops all kept programs; their device code goes with them. */
export function clearPrograms(): void {
  programs.clear();
  byGraph = new WeakMap();
}

/** Programs by graph: a repeated compute of one graph finds its program without its fingerprint. */
let byGraph = new WeakMap<Canonical, Map<string, Promise<Program>>>();

/** The program of a graph on a device, made at most once for each fingerprint. */
export function programOf(canonical: Canonical, device: string, exact: boolean): Promise<Program> {
  const use = exact ? `${device} exact` : device;
  const found = byGraph.get(canonical)?.get(use);
  if (found !== undefined) return found;
  const made = programByFingerprint(canonical, device, exact);
  const uses = byGraph.get(canonical) ?? new Map<string, Promise<Program>>();
  byGraph.set(canonical, uses.set(use, made));
  made.catch(() => uses.delete(use));
  return made;
}

function programByFingerprint(canonical: Canonical, device: string, exact: boolean): Promise<Program> {
  const key = `${canonical.fingerprint} ${device} ${exact}`;
  const known = programs.get(key);
  if (known !== undefined) return known;
  const made = build(canonical, device, exact);
  programs.set(key, made);
  made.catch(() => programs.delete(key)); // a failure is not kept
  return made;
}

async function build(canonical: Canonical, device: string, exact: boolean): Promise<Program> {
  const { plan } = planGraph(canonical, device, { exact });
  const spec = device === 'cpu' ? cpuProgram(plan) : await cudaProgram(plan, device);
  return { plan, native: createProgram(spec) };
}
