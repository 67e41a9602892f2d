/**
 * `placeholder`: an array of a shape and dtype without elements, to plan and explain jobs whose data is not
 * there.
 */

import { placeholderOf } from '../exec/run/placeholder.js';
import { deviceFrom } from '../exec/targets/device.js';
import { checkOptions, refuseMore } from '../graph/arguments.js';
import { checkShape, type ShapeArgument } from '../graph/shape.js';
import { called } from '../host/site.js';
import { type Asked, type DTypeArgument, dtypeOf } from './creation.js';
import { Lazy } from './lazy.js';

/** Options of `placeholder`. */
export interface PlaceholderOptions {
  /** Stands for an array that is on this device, as after `persist()`; without it for one in host memory. */
  readonly device?: string | undefined;
}

/**
 * An array of a shape and dtype (float64 unless one is given) that has no elements and takes no memory,
 * whatever its size: `placeholder([1e6, 1e4], 'float32').mean(0).plan({ memory: '8GiB' })`. `plan()` and
 * `explain()` of what is built on it, also those of a compiled function that is given it, tell what a compute
 * with a contiguous array of that shape would do.
 *
 * To compute with it is refused with an ArgumentError that names the line where it was made. Throws a
 * ShapeError for what is no shape, a DTypeError for what is no dtype, a DeviceError for what is no device's
 * name.
 *
 * @example
 * placeholder([2 ** 20, 2 ** 12], 'float32').mean(0)
 * //=> Lazy float32 (4096,)
 */
export function placeholder<A extends DTypeArgument | undefined = undefined>(
  shape: ShapeArgument,
  dtype?: A,
  options?: PlaceholderOptions,
): Lazy<Asked<A, 'float64'>>;
export function placeholder(
  shape: ShapeArgument,
  dtype?: DTypeArgument,
  options?: PlaceholderOptions,
  ...more: readonly unknown[]
): Lazy {
  return called(placeholder, () => {
    refuseMore('placeholder', 3, [shape, dtype, options, ...more]);
    checkOptions('placeholder', options, ['device']);
    const sizes = checkShape('placeholder', shape);
    const device = options?.device === undefined ? undefined : deviceFrom('compute', options.device).name;
    return new Lazy(placeholderOf(dtypeOf('placeholder', dtype) ?? 'float64', sizes, device));
  });
}
