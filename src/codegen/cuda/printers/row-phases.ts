/**
 * The work of each phase of a row kernel: which values it computes, loads, stores and keeps for later phases.
 * Printed by `row-kernel.ts`.
 */
import { argumentsOf } from '../../../fusion/kernel/kernel.js';
import type { Body } from '../body.js';
import type { Lifetimes } from '../schedules/schedule-rows.js';
import { type Accumulator, accumulatorsOf } from './block-reduce.js';

export interface RowPhase {
  readonly accumulators: readonly Accumulator[];
  readonly stores: readonly number[];
  /** Element-level values printed in this phase, in tape order, without loads. */
  readonly computed: readonly number[];
  /** Loads that this phase brings in. */
  readonly loads: readonly number[];
  /** Values that this phase puts aside for later ones. */
  readonly kept: readonly number[];
}

/** Phase number `phase`; without lifetimes nothing is held and each phase computes all it needs. */
export function phaseOf(body: Body, { first, held }: Lifetimes, phase: number): RowPhase {
  const { kernel, levels } = body;
  const accumulators = accumulatorsOf(body, phase);
  const stores = kernel.stores.flatMap(({ value }, store) =>
    levels.element[value] && levels.phase[value] === phase ? [store] : [],
  );
  const keeps = [...held].filter((position) => first[position] === phase);
  const targets = [
    ...accumulators.flatMap(({ position }) => argumentsOf(body.instruction(position))),
    ...stores.map((store) => kernel.stores[store]!.value),
    ...keeps,
  ];
  const earlier = (position: number): boolean => held.has(position) && first[position]! < phase;
  const needed = body.closure(targets, (position) => !levels.element[position] || earlier(position));
  const { isLoad } = body;
  return {
    accumulators,
    stores,
    loads: needed.filter(isLoad),
    computed: needed.filter((position) => !isLoad(position)),
    kept: keeps.filter((position) => !isLoad(position)),
  };
}
