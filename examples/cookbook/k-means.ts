/**
 * K-means: Lloyd's steps from eight random starts at once, of which the best is kept, in one loop on the device. Checked by
 * the centres that the points were drawn around.
 */
import { compute, iterate, type Lazy, lazy, random, stack } from '../../src/index.js';
import { chart } from './chart.js';
import { check, type Picture, type Settings } from './recipe.js';

const CENTRES = [
  [-2, -1],
  [2, -1.2],
  [0, 2],
  [3, 2.2],
  [-3, 2.5],
];
const [K, STARTS, STEPS] = [CENTRES.length, 8, 20];
const COLORS = ['#2f6fb0', '#e08214', '#2e9e5b', '#c2185b', '#7a4fa3'];

/** The squares of the distances of points, (n, 2), from centres, (starts, k, 2): (starts, n, k). */
const squares = (points: Lazy, centres: Lazy): Lazy =>
  points.expandDims([0, 2]).sub(centres.expandDims(1)).square().sum(3);

/** Each centre goes to the mean of the points that are nearest to it; one without points stays. */
function lloyd(points: Lazy, centres: Lazy): Lazy {
  const nearest = squares(points, centres).argmin(2).expandDims(2);
  const isMember = nearest.equal(Array.from({ length: K }, (_, k) => k)).astype('float64');
  const counts = isMember.sum(1).expandDims(2);
  const moved = isMember.mT.matmul(points).add(centres.mul(1e-9));
  return moved.div(counts.add(1e-9));
}

export async function kMeans({ size, device }: Settings): Promise<Picture> {
  const [which, noise, starts] = random.split(random.key(2), 3);
  const drawn = random.integers(which!, [size], 0, K);
  const points = lazy(CENTRES)
    .take(drawn, 0)
    .add(random.normal(noise!, [size, 2]).mul(0.45));
  const first = points.take(random.integers(starts!, [STARTS, K], 0, size), 0);
  const all = iterate(STEPS, first, (centres) => lloyd(points, centres));
  const inertia = squares(points, all).min(2).mean(1);
  const centres = all.take(inertia.argmin(), 0);
  const labels = squares(points, centres.expandDims(0)).argmin(2).flatten();
  const shown = stack([points.slice(null, 0), points.slice(null, 1), labels], 1).slice([0, 400]);
  const found = await compute({ centres, inertia: inertia.min(), shown }, { device });
  const rows = found.centres.toArray() as number[][];
  for (const [x, y] of CENTRES) {
    const nearest = Math.min(...rows.map((row) => Math.hypot(row[0]! - x!, row[1]! - y!)));
    check(`distance of a centre from (${x}, ${y})`, nearest, 0, 4 / Math.sqrt(size));
  }
  check('mean square of the distances', found.inertia, 2 * 0.45 ** 2, 4 / Math.sqrt(size));
  const samples = found.shown.toRows(['x', 'y', 'label']);
  const ofLabel = COLORS.map((color, k) => {
    const own = samples.filter(({ label }) => label === k);
    return {
      x: own.map(({ x }) => Number(x)),
      y: own.map(({ y }) => Number(y)),
      mark: 'dots' as const,
      color,
    };
  });
  const middles = {
    x: rows.map(([x]) => x!),
    y: rows.map(([, y]) => y!),
    mark: 'dots' as const,
    color: '#000',
  };
  return chart([...ofLabel, middles], {
    title: `five clusters of ${size} points, 400 of them`,
    x: 'x',
    y: 'y',
  });
}
