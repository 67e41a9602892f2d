/** Gathers of maps: which maps are computed at the places that are taken, and which are stored before. */
import { concat, type Lazy, where } from '../../src/index.js';
import { describePrograms, type Program, x } from '../support/ordinary-programs.js';

const N = 2 ** 20;
const column = (values: Lazy): Lazy => values.slice(null, 'newaxis');

const PROGRAMS: Readonly<Record<string, Program>> = {
  'a few elements of a map of many': {
    inputs: [x([N]), x([4096], 'int64')],
    build: (values, ids) => values!.log1p().mul(3).take(ids!, 0),
    kernels: 1,
  },
  'elements of a map where a mask is true': {
    inputs: [x([N]), x([N], 'int64'), x([N], 'bool')],
    build: (values, ids, mask) => where(mask!, values!.exp().take(ids!, 0), 0),
    kernels: 1,
  },
  'rows of an image in floats, one beside the other': {
    inputs: [x([512, 512, 3], 'uint8'), x([300, 1, 1])],
    build: (image, share) => {
      const rows = image!.astype('float32');
      const first = share!.mul(510).floor().astype('int64').reshape(300);
      const [above, below] = [rows.take(first, 0), rows.take(first.add(1), 0)];
      return above.add(below.sub(above).mul(share!)).round().astype('uint8');
    },
    kernels: 1,
  },
  'two columns of a map': {
    inputs: [x([65536, 64]), x([2], 'int64')],
    build: (table, ids) => table!.abs().sqrt().take(ids!, 1),
    kernels: 1,
  },
  'one logarithm of each row': {
    inputs: [x([8192, 100]), x([8192], 'int64')],
    build: (shares, labels) => shares!.add(1e-9).log().takeAlongAxis(column(labels!), 1).neg().mean(),
    kernels: 1,
  },
  'smoothed labels, of logarithms of a softmax': {
    inputs: [x([8192, 1000]), x([8192], 'int64')],
    build: (scores, labels) => {
      const logarithms = scores!.logSoftmax(1);
      const chosen = logarithms.takeAlongAxis(column(labels!), 1).squeeze(1);
      return chosen.mul(-0.9).sub(logarithms.mean(1).mul(0.1)).mean();
    },
    kernels: 2,
  },
  'places of places': {
    inputs: [x([N]), x([N], 'int64'), x([4096], 'int64')],
    build: (values, ids, places) => values!.take(ids!, 0).take(places!, 0),
    kernels: 1,
  },
  'an image between its pixels, by rows and columns': {
    inputs: [x([1000, 1200]), x([800], 'int64'), x([1300], 'int64'), x([800, 1]), x([1300])],
    build: (image, rows, columns, down, right) => {
      const at = (y: number, z: number): Lazy => image!.take(rows!.add(y), 0).take(columns!.add(z), 1);
      const between = (a: Lazy, b: Lazy, share: Lazy): Lazy => a.add(b.sub(a).mul(share));
      return between(between(at(0, 0), at(0, 1), right!), between(at(1, 0), at(1, 1), right!), down!);
    },
    kernels: 1,
  },
  'pixels by columns, then rows, of each image of several': {
    inputs: [x([8, 400, 500, 3], 'uint8'), x([300], 'int64'), x([200], 'int64')],
    build: (images, columns, rows) => images!.take(columns!, 2).take(rows!, 1),
    kernels: 1,
  },
  'rows and columns of squared deviations, the mean of which is known after a first reading': {
    inputs: [x([1000, 1200]), x([500], 'int64'), x([600], 'int64')],
    build: (image, rows, columns) => image!.sub(image!.mean()).square().take(rows!, 0).take(columns!, 1),
    kernels: 2,
    moved: 1.3,
  },
  'a map that is a result as well, at other places': {
    inputs: [x([N]), x([N], 'int64')],
    build: (values, ids) => [values!.exp(), values!.exp().take(ids!, 0)],
    kernels: 2,
    moved: 1.3,
  },
  'a table of 256 values, which is computed once': {
    inputs: [x([2048, 1024], 'uint8'), x([256])],
    build: (image, table) => table!.square().take(image!, 0),
    kernels: 2,
  },
  'a map of two large arrays, which would each be read at random': {
    inputs: [x([N]), x([N]), x([2 * N], 'int64')],
    build: (a, b, ids) => a!.mul(b!).take(ids!, 0),
    kernels: 2,
    moved: 1.3,
  },
  'a join of maps, which has no place of its own': {
    inputs: [x([4096]), x([4096]), x([N], 'int64')],
    build: (a, b, ids) => concat([a!.exp(), b!.mul(2)]).take(ids!, 0),
    kernels: 2,
  },
};

describePrograms(PROGRAMS);
