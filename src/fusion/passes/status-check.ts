/**
 * Looks for calls that failed, and for indices out of range that the steps of loops found: their codes are results of a graph
 * beside the user's, come to the host with them, and are looked at there. Called by `exec/run`.
 *
 *     linalg.solve(a, b)   →   the solution, and a code: 0, or a LinalgError
 */
import type { CheckedStatus } from '../../graph/statuses.js';
import { formatSite } from '../../host/site.js';

/** Throws for the first failure. `codes`: those of the checks, in their order. */
export function throwFailed(checks: readonly CheckedStatus[], codes: readonly bigint[]): void {
  for (const [k, { error, site }] of checks.entries()) {
    if (error === undefined || codes[k] === 0n) continue;
    const place = formatSite(site);
    throw error(codes[k]!, place === undefined ? '' : `\n    made at ${place}`, codes[k + 1]);
  }
}
