/** The bounds that steps of a stencil test, and whether one can fail in a tile. Called by `stencil-kernel.ts`. */
import { type Bound, sameBound } from '../../fusion/kernel.js';
import type { Body } from '../body.js';
import { boundsExpression } from '../index-math.js';
import type { Parameters } from '../parameters.js';
import { type StencilSchedule, shiftOf, tileColumns, tileRows } from '../schedules/schedule-stencil.js';

/** Every bound that a step tests, of the instructions at these places on the tape. Loads of what no step changes are not of a step. */
export function boundsOf(positions: readonly number[], body: Body): Bound[] {
  const all = positions.flatMap((position): readonly Bound[] => {
    const i = body.instruction(position);
    if (i.kind === 'inside') return i.bounds;
    return i.kind === 'load' && (shiftOf(body.kernel, i) ?? undefined) !== undefined ? i.access.bounds : [];
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
