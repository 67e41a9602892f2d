/** Decompositions of matrices on every backend: what factors multiply to, special matrices, and samples made by them. */
import { describe, expect, it, vi } from 'vitest';
import { exprOf } from '../../src/api/lazy.js';
import { qrByBlocks } from '../../src/graph/qr.js';
import { compute, Lazy, lazy, linalg, random } from '../../src/index.js';
import { run } from '../support/api.js';
import { isSimulated } from '../support/backends.js';
import { adjoint, dtypesOn, expectSmall, LINEAR_BACKENDS, matrices, orthonormal } from '../support/linear.js';

vi.setConfig({ testTimeout: 300_000 });

describe.each(LINEAR_BACKENDS)('decompositions on %s', (device) => {
  const shapes = isSimulated(device)
    ? [
        [2, 4, 7],
        [35, 35],
      ]
    : [
        [1, 1],
        [6, 4],
        [2, 4, 7],
        [3, 33, 20],
        [35, 35],
      ];

  it.each(dtypesOn(device))('qr has orthonormal columns and a triangle: %s', async (dtype) => {
    const differences = shapes.flatMap((shape, seed) => {
      const a = matrices(dtype, shape, seed);
      return (['reduced', 'complete'] as const).flatMap((mode) => {
        const { q, r } = linalg.qr(a, { mode });
        const same = linalg.qr(a, { mode: 'r' }).r;
        const kept = mode === 'reduced' ? r.sub(same) : r.tril(-1);
        return [q.matmul(r).sub(a), orthonormal(q), kept];
      });
    });
    await expectSmall(device, dtype, differences);
  });

  it.each(dtypesOn(device))('svd has orthonormal columns and ordered values: %s', async (dtype) => {
    const differences = shapes.flatMap((shape, seed) => {
      const a = matrices(dtype, shape, seed + 9);
      const { u, s, vh } = linalg.svd(a, { fullMatrices: false });
      const full = linalg.svd(a);
      const rising = s
        .slice('...', [1, null])
        .sub(s.slice('...', [0, -1]))
        .maximum(0);
      return [
        u.mul(s.expandDims(-2)).matmul(vh).sub(a),
        orthonormal(u),
        orthonormal(adjoint(vh)),
        orthonormal(full.u),
        orthonormal(adjoint(full.vh)),
        full.s.sub(linalg.svdvals(a)),
        ...(s.shape.at(-1) === 1 ? [] : [rising]),
      ];
    });
    await expectSmall(device, dtype, differences, 128);
  });

  it.each(dtypesOn(device))('eigh has orthonormal vectors and ascending values: %s', async (dtype) => {
    const sizes = isSimulated(device) ? [5, 41] : [1, 5, 20, 41];
    const differences = sizes.flatMap((n, seed) => {
      const shape = [seed + 1, n, n];
      const half = matrices(dtype, shape, seed + 5);
      const a = half.add(adjoint(half));
      return (['L', 'U'] as const).flatMap((uplo) => {
        const given = uplo === 'L' ? a.tril() : a.triu();
        const { eigenvalues, eigenvectors } = linalg.eigh(given, { uplo });
        const product = eigenvectors.mul(eigenvalues.expandDims(-2)).matmul(adjoint(eigenvectors));
        return [product.sub(a), orthonormal(eigenvectors), eigenvalues.sub(linalg.eigvalsh(given, { uplo }))];
      });
    });
    await expectSmall(device, dtype, differences, 256);
  });

  it.each(dtypesOn(device))('eig has vectors of length 1 that a matrix multiplies: %s', async (dtype) => {
    const sizes = isSimulated(device) ? [6, 17] : [1, 6, 17, 35];
    const differences = sizes.flatMap((n, seed) => {
      const a = matrices(dtype, [seed + 1, n, n], seed + 3);
      const { eigenvalues, eigenvectors } = linalg.eig(a);
      const lengths = eigenvectors.abs().square().sum(-2).sqrt();
      const trace = a.trace().astype(eigenvalues.dtype);
      return [
        a
          .astype(eigenvalues.dtype)
          .matmul(eigenvectors)
          .sub(eigenvectors.mul(eigenvalues.expandDims(-2))),
        lengths.sub(1),
        eigenvalues.sum(-1).sub(trace),
        linalg.eigvals(a).sum(-1).sub(trace),
      ];
    });
    // Sums of 35 eigenvalues of matrices with norms of 17: backward stable to a few times 35 · 17 ε.
    await expectSmall(device, dtype, differences, 2048);
  });

  it('eig has the eigenvalues of matrices that are triangular, scaled, defective or turn', async () => {
    const triangle = lazy([
      [1, 5, 7],
      [0, -2, 3],
      [0, 0, 4],
    ]);
    const scaled = lazy([
      [1, 1e3, 0],
      [1e-3, 1, 1e3],
      [0, 1e-3, 1],
    ]);
    const defective = lazy([
      [2, 1],
      [0, 2],
    ]);
    const cycle = lazy([
      [0, 0, 0, 1],
      [1, 0, 0, 0],
      [0, 1, 0, 0],
      [0, 0, 1, 0],
    ]);
    const given = [triangle, scaled, defective, cycle].map((a) => linalg.eigvals(a));
    const all = await run(device, [
      ...given.map((w) => w.real().sort()),
      ...given.map((w) => w.imag().sort()),
    ]);
    const root = Math.SQRT2;
    const wanted = [
      [-2, 1, 4],
      [1 - root, 1, 1 + root],
      [2, 2],
      [-1, 0, 0, 1],
    ];
    const sides = [
      [0, 0, 0],
      [0, 0, 0],
      [0, 0],
      [-1, 0, 0, 1],
    ];
    for (const [k, values] of [...wanted, ...sides].entries())
      expect(Math.max(...values.map((value, at) => Math.abs(Number(all[k]!.data[at]) - value)))).toBeLessThan(
        1e-7,
      );
  });

  it('take ill-conditioned, rank-deficient and zero matrices', async () => {
    const hilbert = lazy(
      Float64Array.from({ length: 144 }, (_, k) => 1 / ((k % 12) + Math.floor(k / 12) + 1)),
      {
        shape: [12, 12],
      },
    );
    const ones = lazy(new Float64Array(48).fill(2), { shape: [8, 6] });
    const none = lazy(new Float64Array(20), { shape: [5, 4] });
    const differences = [hilbert, ones, none].flatMap((a) => {
      const { u, s, vh } = linalg.svd(a, { fullMatrices: false });
      const { q, r } = linalg.qr(a);
      return [u.mul(s).matmul(vh).sub(a), orthonormal(u), orthonormal(vh.transpose()), q.matmul(r).sub(a)];
    });
    await expectSmall(device, 'float64', differences, 128);
    const ranks = await run(
      device,
      [hilbert, ones, none].map((a) => linalg.matrixRank(a)),
    );
    expect(ranks.map(({ data }) => Number(data[0]))).toEqual([11, 1, 0]);
    const scales = [1e-160, 1e160].map((scale) =>
      linalg.svdvals(hilbert.mul(scale)).div(scale).sub(linalg.svdvals(hilbert)),
    );
    await expectSmall(device, 'float64', scales, 128);
  });

  it('of long matrices are those of R, by blocks of rows too', async () => {
    const tall = matrices('float64', [400, 7], 1);
    const wide = matrices('float64', [2, 5, 150], 2);
    const differences = [tall, wide].flatMap((a) => {
      const { u, s, vh } = linalg.svd(a, { fullMatrices: false });
      const full = linalg.svd(wide);
      const product = u.mul(s.expandDims(-2)).matmul(vh);
      const values = linalg
        .svdvals(a)
        .square()
        .sum(-1)
        .sub(a.square().sum([-2, -1]));
      return [
        product.sub(a),
        orthonormal(u),
        orthonormal(vh.matrixTranspose()),
        orthonormal(full.vh),
        values.div(100),
      ];
    });
    const { q, r } = qrByBlocks('qr', exprOf('qr', tall), 64, 'reduced');
    const { r: alone } = qrByBlocks('qr', exprOf('qr', tall), 64, 'r');
    const blocks = new Lazy(q!);
    differences.push(
      blocks.matmul(new Lazy(r)).sub(tall),
      orthonormal(blocks),
      new Lazy(r).sub(new Lazy(alone)),
    );
    await expectSmall(device, 'float64', differences, 128);
    expect(String(linalg.svd(tall).s.plan({ device }))).toContain('qr');
  });

  it('find the largest singular values and principal components by random products', async () => {
    const factors = matrices('float64', [90, 5], 1).matmul(matrices('float64', [5, 40], 2));
    const { u, s, vh } = linalg.svds(factors, 4);
    const whole = linalg.svdvals(factors).slice([0, 4]);
    const shifted = factors.add(3);
    const { components, scores, mean, explainedVariance, explainedVarianceRatio } = linalg.pca(shifted, 5);
    const centred = shifted.sub(shifted.mean(0));
    const differences = [
      s.sub(whole),
      orthonormal(u),
      orthonormal(vh.transpose()),
      vh.matmul(factors.transpose()).transpose().sub(u.mul(s)),
      scores.matmul(components).add(mean).sub(shifted),
      explainedVarianceRatio.sum().sub(1),
      explainedVariance.sub(scores.var(0, { correction: 1 })),
      centred.matmul(components.transpose()).sub(scores),
    ];
    await expectSmall(device, 'float64', differences, 2048);
    const signs = await components.abs().max(1).sub(components.max(1)).compute({ device });
    expect(Array.from(signs.data as Float64Array)).toEqual([0, 0, 0, 0, 0]);
  });

  it('refuse NaN where NumPy does', async () => {
    const nan = lazy([
      [Number.NaN, 1],
      [1, 2],
    ]);
    for (const failing of [linalg.svdvals(nan), linalg.pinv(nan), linalg.svd(nan).u])
      await expect(failing.compute({ device })).rejects.toThrow(/svd|pinv/);
    await expect(linalg.eigvals(nan).compute({ device: 'cpu' })).rejects.toThrow(/eigvals.*finite/);
    const { eigenvalues, eigenvectors } = linalg.eigh(nan);
    const results = await compute([linalg.eigvalsh(nan), eigenvalues, eigenvectors.isnan().all()], {
      device,
    });
    expect(results.map((x) => x.toArray())).toEqual([
      [Number.NaN, Number.NaN],
      [Number.NaN, Number.NaN],
      true,
    ]);
  });

  it('have the results of NumPy for empty matrices', async () => {
    const none = lazy(new Float64Array(0), { shape: [0, 3] });
    const { q, r } = linalg.qr(none, { mode: 'complete' });
    const { u, s, vh } = linalg.svd(none);
    const { eigenvectors } = linalg.eigh(lazy(new Float64Array(0), { shape: [2, 0, 0] }));
    const lu = linalg.lu(lazy(new Float64Array(0), { shape: [2, 0, 3] }), { pIndices: true });
    const parts = [q, r, u, s, vh, eigenvectors, linalg.pinv(none), linalg.matrixRank(none)];
    const values = [...parts, lu.p, lu.l, lu.u];
    const results = await compute(values, { device });
    expect(results.map(({ shape }) => shape)).toEqual([
      [0, 0],
      [0, 3],
      [0, 0],
      [0],
      [3, 3],
      [2, 0, 0],
      [3, 0],
      [],
      [2, 0],
      [2, 0, 0],
      [2, 0, 3],
    ]);
  });
});

describe.each(LINEAR_BACKENDS)('normal vectors on %s', (device) => {
  it.each(['svd', 'eigh', 'cholesky'] as const)(
    'have the covariance that is asked for: %s',
    async (method) => {
      const covariance = [
        [4, 1, 0],
        [1, 2, -1],
        [0, -1, 1],
      ];
      const x = random.multivariateNormal(random.key(3), [4, 2500], [1, 2, 3], covariance, { method });
      expect(x.shape).toEqual([4, 2500, 3]);
      const centred = x.sub([1, 2, 3]).reshape([10_000, 3]);
      const found = centred.transpose().matmul(centred).div(10_000).sub(covariance).abs().max();
      expect(Number((await found.compute({ device })).item())).toBeLessThan(0.15);
    },
  );
});
