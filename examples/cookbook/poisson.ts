/**
 * Poisson's equation by conjugate gradients: the potential of charges in a grounded box, with a sparse matrix of five points
 * a row, without and with a preconditioner of its triangles. Checked by the charges that the potential has as a stencil.
 */
import { compute, type Lazy, lazy, sparse } from '../../src/index.js';
import { check, numberOf, type Picture, type Settings } from './recipe.js';

/** Two plates with charges of either sign, and a point between them. */
function chargesOf(n: number): Float64Array {
  const charges = new Float64Array(n * n);
  const at = (share: number): number => Math.floor(share * n);
  for (let k = at(0.25); k < at(0.75); k++) {
    charges[k * n + at(0.3)] = 1;
    charges[k * n + at(0.7)] = -1;
  }
  charges[at(0.2) * n + at(0.5)] = 12;
  return charges;
}

/** What a potential has as Laplacian, by slices of it with zeros around. */
function laplacianOf(x: Lazy): Lazy {
  const p = x.pad(1);
  const vertical = p.slice([null, -2], [1, -1]).add(p.slice([2, null], [1, -1]));
  const horizontal = p.slice([1, -1], [null, -2]).add(p.slice([1, -1], [2, null]));
  return x.mul(4).sub(vertical).sub(horizontal);
}

export async function poisson({ size, device }: Settings): Promise<Picture> {
  const line = sparse.diags([-1, 2, -1], [-1, 0, 1], [size, size]);
  const identity = sparse.eye(size);
  const matrix = await sparse.kron(line, identity).add(sparse.kron(identity, line)).persist({ device });
  const charges = lazy(chargesOf(size));

  // Symmetric Gauss-Seidel: M = L D⁻¹ Lᵀ of the lower triangle L and the diagonal D.
  const [lower, upper, diagonal] = [matrix.tril(), matrix.triu(), matrix.diagonal()];
  const M = {
    shape: matrix.shape,
    matvec: (r: Lazy): Lazy =>
      sparse.solveTriangular(upper, sparse.solveTriangular(lower, r).mul(diagonal), { lower: false }),
  };
  const plain = sparse.cg(matrix, charges, { rtol: 1e-8 });
  const turned = sparse.cg(matrix, charges, { rtol: 1e-8, M });
  const potential = turned.x.reshape([size, size]);
  const found = await compute(
    {
      plain: plain.iterations,
      turned: turned.iterations,
      off: laplacianOf(potential)
        .sub(charges.reshape([size, size]))
        .abs()
        .max(),
      apart: plain.x.sub(turned.x).abs().max(),
      // The root spreads small potentials.
      picture: potential.sign().mul(potential.abs().sqrt()),
    },
    { device },
  );
  check('largest difference from the charges', found.off, 0, 1e-5);
  check('difference of both solutions', found.apart, 0, 1e-4);
  check('steps with triangles over steps without', numberOf(found.turned) / numberOf(found.plain), 0.4, 0.25);
  return found.picture.toPNG({ range: [-3, 3], colors: 'diverging' });
}
