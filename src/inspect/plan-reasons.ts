/**
 * Reasons for stored values that the plan of a device gives, where it leaves what fusion alone could not join: values that
 * stay in a cache, and those that several routines read, each of which could have computed them alone. Called by
 * `explain.ts`.
 */
import { isBins } from '../exec/plan/bin-maps.js';
import type { DeviceModel } from '../exec/plan/device-model.js';
import { formatBytes } from '../graph/format.js';
import { ADVICE } from './advice.js';
import type { LocatedStep } from './explain-steps.js';
import type { ExplainedEdge } from './explanation-data.js';

/** The edges with the reasons of a plan. `results`: labels of buffers that are stored in any case. */
export function withReasonsOfPlan(
  edges: readonly ExplainedEdge[],
  located: readonly LocatedStep[],
  results: ReadonlySet<string>,
  { panels }: DeviceModel,
): ExplainedEdge[] {
  const least = panels?.neighbours?.leastBytes ?? 0;
  const isKernel = (at: number): boolean => located[at]?.own.kind === 'kernel';
  const isMapped = (at: number): boolean => {
    const own = located[at]?.own;
    return own !== undefined && isBins(own);
  };
  const readersOf = (value: string): Set<number> =>
    new Set(edges.flatMap(({ buffer, to }) => (buffer === value && isMapped(to) ? [to] : [])));
  return edges.map((edge): ExplainedEdge => {
    const { buffer, from, to, reason, bytes } = edge;
    const byteLength = bytes / 2;
    const stays = byteLength < least && isKernel(from) && isKernel(to) && !results.has(buffer);
    if (stays && reason === 'read-around') {
      const sizes = `It has ${formatBytes(byteLength)}, and panels are for ${formatBytes(least)} and more.`;
      return { ...edge, reason: 'in-cache', advice: `${ADVICE['in-cache']} ${sizes}` };
    }
    const isShared = reason === 'library-call' && isKernel(from) && readersOf(buffer).size > 1;
    return isShared ? { ...edge, reason: 'several-calls', advice: ADVICE['several-calls'] } : edge;
  });
}
