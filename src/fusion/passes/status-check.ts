/**
 * Looks for calls that failed: the codes of their statuses are results of a graph beside the user's, come to the host
 * with them, and are looked at there. Called by `exec/run`.
 *
 *     linalg.solve(a, b)   →   the solution, and a code: 0, or a LinalgError
 */
import { type CheckedStatus, statusIn } from '../../graph/statuses.js';
import { expected, LinalgError } from '../../host/errors.js';
import { formatSite } from '../../host/site.js';

/** Throws for the first call that failed. `codes`: those of the checks, in their order. */
export function throwFailed(checks: readonly CheckedStatus[], codes: readonly bigint[]): void {
  for (const [k, { op, wanted, reason, count, site }] of checks.entries()) {
    if (codes[k] === 0n) continue;
    const { matrix, status } = statusIn(codes[k]!, count);
    const which = count === 1 ? '' : `matrix ${matrix} of ${count}: `;
    const place = formatSite(site);
    const made = place === undefined ? '' : `\n    made at ${place}`;
    throw new LinalgError(expected(op, wanted, `${which}${reason(status)}`) + made, matrix);
  }
}
