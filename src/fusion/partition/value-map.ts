/** The map of a routine's own values (`ValueMap`) as a kernel. Called by the pass that makes it and by the routine. */
import type { ValueMap } from '../../graph/graph.js';
import type { Kernel } from '../kernel/kernel.js';
import { sourceOfKey } from './buffer-key.js';
import { partition } from './partition.js';

export interface ValueMapKernel {
  readonly kernel: Kernel;
  /** The buffer of the routine's values. */
  readonly given: number;
  /** The source that each buffer is; undefined: the kernel writes it. */
  readonly sources: readonly (number | undefined)[];
}

/** Undefined where it is not one kernel that reads the values. */
export function valueMapKernel({ graph }: ValueMap): ValueMapKernel | undefined {
  const [step, ...others] = partition(graph).steps;
  if (step?.kind !== 'kernel' || others.length > 0) return undefined;
  const { kernel, keys } = step.kernel;
  const sources = keys.map(sourceOfKey);
  const given = sources.indexOf(0);
  return given < 0 ? undefined : { kernel, given, sources };
}
