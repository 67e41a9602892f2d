/** References of the workloads that take arrays apart and join them, by loops in float64. */

type Values = Float64Array;

function lorenz([x, y, z]: readonly number[]): number[] {
  return [10 * (y! - x!), x! * (28 - z!) - y!, x! * y! - (8 / 3) * z!];
}

/** A Runge–Kutta step of each state of the Lorenz system. */
export function lorenzStepByLoop(states: Values): Values {
  const n = states.length / 3;
  const result = new Float64Array(states.length);
  const moved = (from: readonly number[], by: readonly number[], h: number): number[] =>
    from.map((value, k) => value + h * by[k]!);
  for (let i = 0; i < n; i++) {
    const state = [states[i]!, states[n + i]!, states[2 * n + i]!];
    const k1 = lorenz(state);
    const k2 = lorenz(moved(state, k1, 0.005));
    const k3 = lorenz(moved(state, k2, 0.005));
    const k4 = lorenz(moved(state, k3, 0.01));
    for (let k = 0; k < 3; k++)
      result[k * n + i] = state[k]! + (0.01 / 6) * (k1[k]! + 2 * k2[k]! + 2 * k3[k]! + k4[k]!);
  }
  return result;
}

/** Hue, saturation and value of each colour. */
export function hsvByLoop(colours: Values): Values {
  const result = new Float64Array(colours.length);
  for (let i = 0; i < colours.length; i += 3) {
    const [r, g, b] = [colours[i]!, colours[i + 1]!, colours[i + 2]!];
    const most = Math.max(r, g, b);
    const range = most - Math.min(r, g, b);
    let sector = 0;
    if (range > 0) {
      if (most === r) sector = (g - b) / range + (g < b ? 6 : 0);
      else sector = most === g ? (b - r) / range + 2 : (r - g) / range + 4;
    }
    result.set([sector / 6, most === 0 ? 0 : range / most, most], i);
  }
  return result;
}
