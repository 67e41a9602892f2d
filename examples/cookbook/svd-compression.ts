/**
 * Compression of an image by its singular values: what remains of it with the first 3, 8 and 20. Checked by the theorem of
 * Eckart and Young: the error of rank k is the root of the sum of squares of the values that are left out.
 */
import { compute, concat, linalg, linspace, where } from '../../src/index.js';
import { check, numberOf, type Picture, type Settings } from './recipe.js';

const RANKS = [3, 8, 20];

export async function svdCompression({ size, device }: Settings): Promise<Picture> {
  const [y, x] = [linspace(-1, 1, size).expandDims(1), linspace(-1, 1, size)];
  // A face of discs on a slope with waves.
  const inDisc = (cx: number, cy: number, radius: number) => x.sub(cx).hypot(y.sub(cy)).less(radius);
  const smile = x.hypot(y).sub(0.5).abs().less(0.06).logicalAnd(y.greater(0.1));
  const dark = inDisc(-0.3, -0.25, 0.1)
    .logicalOr(inDisc(0.3, -0.25, 0.1))
    .logicalOr(smile);
  const slope = x.add(y).div(8).add(0.4).add(x.mul(y).mul(9).sin().div(12));
  const image = where(dark, 0.1, where(inDisc(0, 0, 0.85), 0.9, slope));
  const { u, s, vh } = linalg.svd(image, { fullMatrices: false });
  const parts = RANKS.map((rank) => {
    const kept = [0, rank] as const;
    const small = u.slice(null, kept).mul(s.slice(kept)).matmul(vh.slice(kept));
    return { small, error: image.sub(small).norm(), left: s.slice([rank, null]).norm() };
  });
  const picture = concat([image, ...parts.map(({ small }) => small)], 1);
  const found = await compute({ picture, parts }, { device });
  for (const [k, { error, left }] of found.parts.entries()) {
    const bytes = (8 * RANKS[k]! * (2 * size + 1)) / 1024;
    check(`error of rank ${RANKS[k]} (${bytes.toFixed(0)} KiB)`, error, numberOf(left), 1e-9 * size);
  }
  return found.picture.toPNG();
}
