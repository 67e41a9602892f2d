/**
 * Expressions that take arrays apart, compute on the parts and join them again: an integrator, a conversion of
 * colours. Tests of joins use them, too.
 */
import { type Lazy, maximum, minimum, stack, where } from '../src/index.js';

/** The Lorenz system over states of shape (3, n). */
export function lorenz(state: Lazy): Lazy {
  const [x, y, z] = [0, 1, 2].map((k) => state.slice(k)) as [Lazy, Lazy, Lazy];
  return stack([y.sub(x).mul(10), x.mul(z.mul(-1).add(28)).sub(y), x.mul(y).sub(z.mul(8 / 3))]);
}

/** A step of the classical Runge–Kutta method. */
export function rungeKutta(derivative: (state: Lazy) => Lazy, state: Lazy, h: number): Lazy {
  const k1 = derivative(state);
  const k2 = derivative(state.add(k1.mul(h / 2)));
  const k3 = derivative(state.add(k2.mul(h / 2)));
  const k4 = derivative(state.add(k3.mul(h)));
  return state.add(
    k1
      .add(k2.mul(2))
      .add(k3.mul(2))
      .add(k4)
      .mul(h / 6),
  );
}

/** A step of 0.01 of the Lorenz system. */
export const lorenzStep = (state: Lazy): Lazy => rungeKutta(lorenz, state, 0.01);

/** Hue, saturation and value of colours along the last axis, all in 0 … 1. */
export function rgbToHsv(image: Lazy): Lazy {
  const colours = image.dtype === 'uint8' ? image.astype('float32').div(255) : image;
  const [r, g, b] = [0, 1, 2].map((k) => colours.slice('...', k)) as [Lazy, Lazy, Lazy];
  const most = maximum(maximum(r, g), b);
  const range = most.sub(minimum(minimum(r, g), b));
  const safe = where(range.equal(0), 1, range);
  const ofRed = g.sub(b).div(safe);
  const sector = where(
    most.equal(r),
    where(ofRed.less(0), ofRed.add(6), ofRed),
    where(most.equal(g), b.sub(r).div(safe).add(2), r.sub(g).div(safe).add(4)),
  );
  return stack([sector.div(6), where(most.equal(0), 0, range.div(most)), most], -1);
}
