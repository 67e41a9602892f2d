/** `WEFT_CHECK`: mistakes of kernels that the simulated GPU saw, as errors of the compute that ran them. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { config } from '../../host/config.js';
import { ArgumentError, expected } from '../../host/errors.js';
import { once } from '../../host/once.js';
import { SIMULATOR_ADDON } from '../../host/simulator.js';

interface SimulatorAddon {
  control(lines: string): void;
  describe(): string;
}

const simulator = once(
  () => createRequire(import.meta.url)(join(config().simulatorFolder!, SIMULATOR_ADDON)) as SimulatorAddon,
);

/** The result of a run on the simulated GPU. Rejects with an ArgumentError that tells races, undefined reads and accesses out of bounds. */
export async function checked<Result>(run: Promise<Result>): Promise<Result> {
  const [outcome] = await Promise.allSettled([run]);
  const found = mistakes(simulator());
  if (found.length > 0)
    throw new ArgumentError(
      expected('compute', 'kernels without mistakes on the simulated GPU', `\n${found.join('\n')}`),
      outcome.status === 'rejected' ? { cause: outcome.reason } : undefined,
    );
  return run;
}

function mistakes(addon: SimulatorAddon): string[] {
  const { problems } = JSON.parse(addon.describe()) as {
    problems: readonly { kind: string; message: string }[];
  };
  if (problems.length > 0) addon.control('clear');
  return problems.map(({ kind, message }) => `${kind}: ${message}`);
}
