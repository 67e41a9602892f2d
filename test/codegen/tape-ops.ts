/** For tests of tapes: what their sections hold. */
import type { TapePlan } from '../../src/codegen/cpu/tape-plan.js';
import type { TapeOp } from '../../src/codegen/cpu/tape-registers.js';
import { nameOf } from '../support/print-tape.js';

/** Names of what a section computes; of joined instructions the joined name, of a chain its steps. */
export function opsOf({ kernel, schedule }: TapePlan, section: readonly TapeOp[]): string[] {
  return section.flatMap((op) => {
    if (op.kind === 'store') return [];
    if (op.kind === 'chain') return [op.chain.steps.map(({ name }) => name).join(' ')];
    const { value } = op;
    return schedule.fusion.functions.get(value)?.name ?? nameOf(kernel.tape[value]!);
  });
}
