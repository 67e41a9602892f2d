/**
 * The bounds that steps of a stencil test, and whether one can fail in a tile. Called by `stencil-kernel.ts`.
 */
import { boundsIn } from '../../../fusion/kernel/algebra.js';
import { type Bound, sameBound } from '../../../fusion/kernel/kernel.js';
import type { Body } from '../body.js';
import { boundsExpression } from '../index-math.js';
import type { Parameters } from '../parameters.js';
import { type StencilSchedule, shiftOf, tileColumns, tileRows } from '../schedules/schedule-stencil.js';

/** The bounds that a step of the loop tests. Loop-invariant loads test theirs once, ahead of all steps. */
export function boundsOf(positions: readonly number[], body: Body): Bound[] {
  const all = positions.flatMap((position): readonly Bound[] => {
    const access = body.accessAt(position);
    const isOfStep = access === undefined || (shiftOf(body.kernel, access) ?? undefined) !== undefined;
    return isOfStep ? boundsIn(body.instruction(position)) : [];
  });
  return all.filter((bound, k) => all.findIndex((other) => sameBound(bound, other)) === k);
}

/** Tests whether a bound holds everywhere in a tile: at both of the corners where it is least and most. */
export function holdsInTile(bound: Bound, schedule: StencilSchedule, params: Parameters): string {
  const far = [`(top + ${tileRows(schedule) - 1})`, `(side + ${tileColumns(schedule) - 1})`] as const;
  const near = ['top', 'side'] as const;
  const corner = (most: boolean): string[] =>
    bound.strides.map((stride, axis) => (stride > 0 === most ? far[axis]! : near[axis]!));
  return [false, true].map((most) => boundsExpression([bound], corner(most), params)).join(' && ');
}
