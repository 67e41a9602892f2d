/**
 * Looks at the codes of calls that may fail, which a run gives beside its results (`fusion/passes/status-check.ts`).
 * Called by `evaluate.ts`, `compiled-graph.ts` and `segments.ts`.
 */
import type { Canonical } from '../../fusion/passes/canonicalize.js';
import { throwFailed } from '../../fusion/passes/status-check.js';
import type { DeviceBuffer } from '../../graph/expr.js';
import { hostBytesOf } from '../native/native.js';
import type { Destination } from '../plan/plan-graph.js';
import type { Executed } from './run-program.js';

/** Brings int64 scalars of devices to the host. */
export type ReadCodes = (buffers: readonly DeviceBuffer[]) => Promise<readonly bigint[]>;

type Output = ArrayBuffer | DeviceBuffer;

/** Throws a LinalgError where a call of a graph that has run failed, and frees what it left on devices. */
export async function checkStatuses(
  canonical: Canonical,
  executed: Executed,
  destination: Destination,
  read: ReadCodes,
): Promise<void> {
  if (canonical.statuses.length === 0) return;
  if (destination !== 'device') return throwFailedIn(canonical, executed);
  const stored = codesOf(canonical, executed) as DeviceBuffer[];
  const codes = await read(stored);
  freeing(executed, () => throwFailed(canonical.statuses, codes));
  for (const buffer of new Set(stored)) buffer.dispose();
}

/** The same of a run whose results came to the host. */
export function throwFailedIn(canonical: Canonical, executed: Executed): void {
  const codes = codesOf(canonical, executed).map(
    (output) => new BigInt64Array(output instanceof ArrayBuffer ? output : hostBytesOf(output))[0]!,
  );
  freeing(executed, () => throwFailed(canonical.statuses, codes));
}

/** The last outputs of the graph. */
const codesOf = ({ statuses, graph }: Canonical, { program, outputs }: Executed): Output[] =>
  program.outputs.slice(graph.outputs.length - statuses.length).map((k) => outputs[k]!);

/** Frees all results where `check` throws. */
function freeing({ outputs }: Executed, check: () => void): void {
  try {
    check();
  } catch (error) {
    for (const output of new Set(outputs)) if (!(output instanceof ArrayBuffer)) output.dispose();
    throw error;
  }
}
